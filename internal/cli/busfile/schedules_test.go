package busfile

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine

	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

const catalogueWithSchedules = `version: 1
package: events
events:
  report.requested: { payload: { kind: string } }
schedules:
  # Asks for the report of the day.
  nightly-report: { event: report.requested, cron: "30 2 * * *", time_zone: Europe/Berlin, payload: { kind: nightly } }
  often: { event: report.requested, every: 90m, missed: skip, payload: { kind: often } }
`

func TestTheSchedulesOfACatalogueAreListedWithTheirNextTimes(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, os.WriteFile("events.yaml", []byte(catalogueWithSchedules), 0o600))
	want := `nightly-report
  Asks for the report of the day.
  publishes  report.requested {"kind":"nightly"}
  at         30 2 * * * (Europe/Berlin)
  missed     once
  next       Sun 2026-10-25 02:30:00 +02:00
             Mon 2026-10-26 02:30:00 +01:00

often
  publishes  report.requested {"kind":"often"}
  at         every 1h30m
  missed     skip
  next       Sat 2026-10-24 11:30:00 +00:00
             Sat 2026-10-24 13:00:00 +00:00
`
	if got := does(t, "busgen schedules list --from 2026-10-24T10:00:00Z -n 2"); got != want {
		t.Errorf("got\n%s", got)
	}
	if got := does(t, "busgen schedules list events.yaml --from 2026-10-25 -n 1 --utc"); !strings.Contains(got, "Sun 2026-10-25 00:30:00 +00:00") {
		t.Errorf("in UTC\n%s", got)
	}
	wantJSON := `{"name":"nightly-report","doc":"Asks for the report of the day.","event":"report.requested","cron":"30 2 * * *","time_zone":"Europe/Berlin",` +
		`"missed":"once","payload":{"kind":"nightly"},"next":["2026-10-26T01:30:00Z"]}
{"name":"often","event":"report.requested","every":"1h30m","missed":"skip","payload":{"kind":"often"},"next":["2026-10-25T11:30:00Z"]}
`
	if got := does(t, "busgen schedules list --json --from 2026-10-25T10:00:00Z -n 1"); got != wantJSON {
		t.Errorf("got\n%s", got)
	}
	if got := strings.Count(does(t, "busgen schedules list"), "+0"); got != 10 {
		t.Errorf("%d times without a number", got)
	}
	for line, says := range map[string]string{
		"busgen schedules list --from soon":  `--from "soon" is not a time`,
		"busgen schedules list -n 1001":      "-n is 1001: it must be between 0 and 1000",
		"busgen schedules list a.db b.db":    "takes one catalogue or file",
		"busgen schedules list nothing.db":   "nothing.db",
		"busgen schedules list nothing.yaml": "there is no catalogue at nothing.yaml",
	} {
		if got := typed(t, line, ""); got.Status != 2 || !strings.Contains(got.Stderr, says) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	must(t, os.WriteFile("events.yaml", []byte(strings.Replace(catalogueWithSchedules, "30 2", "30 25", 1)), 0o600))
	if got := typed(t, "busgen schedules list", ""); got.Status != 1 || !strings.Contains(got.Stderr, `"25" is no hour`) {
		t.Errorf("a catalogue with findings: %+v", got)
	}
	must(t, os.WriteFile("events.yaml", []byte("version: 1\npackage: events\nevents: { order.placed: {} }\n"), 0o600))
	if got := does(t, "busgen schedules list"); got != "There are no schedules.\n" {
		t.Errorf("without schedules: %s", got)
	}
}

func TestTheSchedulesOfAFileAreListedWithWhatIsOver(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		schedules := []declare.Schedule{
			{Name: "hourly", Cron: "@hourly", TimeZone: "Europe/Berlin", Payload: `{"number":1,"email":"a@example.org"}`},
			{Name: "often", Every: 7 * time.Minute, Missed: declare.MissedAll, Payload: `{"number":1,"email":"a@example.org"}`},
		}
		scheduled := runtime.Define(runtime.Spec[clitest.OrderPlaced]{Name: "order.placed", Settings: declare.DefaultSettings(), Schedules: schedules})
		bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(scheduled))
		must(t, err)
		must(t, bus.Start(t.Context()))
		time.Sleep(50 * time.Minute)
		synctest.Wait()
		got := does(t, "busgen schedules list shop.db -n 1")
		if !strings.Contains(got, "hourly\n  publishes  order.placed\n  at         @hourly (Europe/Berlin)\n  missed     once\n  next       Sat 2000-01-01 02:00:00 +01:00\n") ||
			!strings.Contains(got, "  last       Sat 2000-01-01 00:49:00 +00:00, event ") || strings.Contains(got, "overdue") {
			t.Errorf("while it runs\n%s", got)
		}
		must(t, bus.Shutdown(context.Background()))
		time.Sleep(20 * time.Minute)
		got = does(t, "busgen schedules list shop.db -n 1")
		if !strings.Contains(got, "  overdue    since Sat 2000-01-01 02:00:00 +01:00\n  next       Sat 2000-01-01 03:00:00 +01:00\n") ||
			!strings.Contains(got, "  overdue    since Sat 2000-01-01 00:56:00 +00:00\n  next       Sat 2000-01-01 01:17:00 +00:00\n") {
			t.Errorf("afterwards\n%s", got)
		}
		if got := does(t, "busgen schedules list shop.db --json -n 1"); !strings.Contains(got, `"passed":"2000-01-01T00:49:00Z","missed_since":"2000-01-01T00:56:00Z","last_event":"`) ||
			!strings.Contains(got, `"every":"7m","missed":"all","next":["2000-01-01T01:17:00Z"],"since":"2000-01-01T00:00:00Z"`) {
			t.Errorf("as JSON\n%s", got)
		}
	})
}
