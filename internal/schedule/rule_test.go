package schedule

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

func mustTimes(t *testing.T, r Rule, since time.Time) *Times {
	t.Helper()
	times, err := r.Times(since)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func TestAnIntervalIsCountedFromTheFirstDeclaration(t *testing.T) {
	since := time.Date(2026, 1, 1, 10, 7, 3, 0, time.UTC)
	times := mustTimes(t, Rule{Every: 15 * time.Minute}, since)
	for after, want := range map[time.Duration]time.Duration{
		-time.Hour: 15 * time.Minute, 0: 15 * time.Minute, 1: 15 * time.Minute, 15*time.Minute - 1: 15 * time.Minute,
		15 * time.Minute: 30 * time.Minute, 100*time.Hour + 1: 100*time.Hour + 15*time.Minute,
	} {
		if got := times.Next(since.Add(after)).Sub(since); got != want {
			t.Errorf("after %v comes %v, want %v", after, got, want)
		}
	}
}

func TestTheLastTimeIsTheOneBeforeTheNext(t *testing.T) {
	since := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, r := range []Rule{
		{Cron: "0 3 * * *", Zone: "Europe/Berlin"}, {Cron: "* * * * *"}, {Cron: "0 0 29 2 *"}, {Cron: "0 0 1 1,7 *"}, {Every: 45 * time.Minute},
		{Cron: "*/20 2 * * *", Zone: "Europe/Berlin"},
	} {
		times := mustTimes(t, r, since)
		until := since
		for _, step := range []time.Duration{0, time.Second, 47 * time.Minute, 13 * time.Hour, 88 * 24 * time.Hour, 210 * 24 * time.Hour, 800 * 24 * time.Hour} {
			until = until.Add(step)
			var want time.Time
			if len(r.Cron) == 0 || r.Cron[0] != '*' || until.Sub(since) < 24*time.Hour {
				for next := times.Next(since); !next.IsZero() && !next.After(until); next = times.Next(next) {
					want = next
				}
			} else {
				want = until.Truncate(time.Minute)
				if r.Cron != "* * * * *" {
					continue
				}
			}
			if got := times.Last(since, until); !got.Equal(want) {
				t.Errorf("%+v: the last time until %v is %v, want %v", r, until, got, want)
			}
			if last := times.Last(until, until); !last.IsZero() {
				t.Errorf("%+v: a time %v in no time", r, last)
			}
		}
	}
}

func TestARuleIsReadBackAsItWasWritten(t *testing.T) {
	for _, test := range []struct {
		rule Rule
		text string
		back Rule
	}{
		{Rule{Cron: "0 3 * * *"}, `{"cron":"0 3 * * *","time_zone":"UTC","missed":"once"}`, Rule{Cron: "0 3 * * *", Zone: "UTC", Missed: Once}},
		{Rule{Every: 90 * time.Minute, Missed: All}, `{"every":"1h30m0s","missed":"all"}`, Rule{Every: 90 * time.Minute, Missed: All}},
	} {
		text, err := json.Marshal(test.rule)
		if err != nil || string(text) != test.text {
			t.Errorf("%s, %v; want %s", text, err, test.text)
		}
		var back Rule
		if err := json.Unmarshal(text, &back); err != nil || back != test.back {
			t.Errorf("%+v, %v", back, err)
		}
	}
}

func TestARuleThatMeansNothingIsRefused(t *testing.T) {
	for _, r := range []Rule{{}, {Cron: "@daily", Every: time.Hour}, {Every: time.Millisecond}, {Every: -time.Hour}, {Every: time.Second + 1}, {Every: time.Hour - 100}} {
		if _, err := r.Times(time.Now()); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
	for _, zone := range []string{"Europe/Berlim", "Local", "../etc"} {
		_, err := Rule{Cron: "@daily", Zone: zone}.Times(time.Now())
		if e, ok := errors.AsType[*ZoneError](err); !ok || e.Zone != zone {
			t.Errorf("%s: %v", zone, err)
		}
	}
}
