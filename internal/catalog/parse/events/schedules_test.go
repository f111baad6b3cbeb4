package events_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/schedule"
)

func TestASchedulesPayloadHasTheDefaultsOfRequiredFields(t *testing.T) {
	c, findings, err := parse.Load("../testdata/cases/schedules/events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	type row struct {
		Name, Doc, Event, Payload string
		Rule                      schedule.Rule
	}
	var got []row
	for _, s := range c.Schedules {
		got = append(got, row{s.Name.V, s.Doc, s.Event.Name.V, string(s.Payload), s.Rule()})
	}
	want := []row{
		{
			"nightly-report", "Asks for the report of the day.", "report.requested",
			"{\"kind\":\"nightly\",\"pages\":10,\"title\":\"`All` of it\",\"since\":\"2024-02-29\"}",
			schedule.Rule{Cron: "0 3 * * *", Zone: "Europe/Berlin", Missed: schedule.Once},
		},
		{
			"weekly-report", "", "report.requested", "{\"kind\":\"weekly\",\"pages\":100,\"title\":\"`All` of it\",\"since\":\"2024-02-29\"}",
			schedule.Rule{Cron: "@weekly", Missed: schedule.All},
		},
		{"expire-cache", "Keeps the cache fresh.", "cache.expired", "{}", schedule.Rule{Every: 15 * time.Minute, Missed: schedule.Skip}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := len(c.Events[0].Schedules); n != 2 || c.Events[0].Schedules[1] != c.Schedules[1] {
		t.Errorf("the event has %d schedules", n)
	}
}
