package schedule

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
)

// Last and Count are held against steps through all times, mostly around changes of a clock.
func TestLastAndCountAreWhatStepsThroughAllTimesFind(t *testing.T) {
	short.Visit(t, "it tries many times")
	draw := rand.New(rand.NewPCG(1, 2))
	expressions := []string{
		"* * * * *", "*/7 * * * *", "0 * 25 10 *", "59 * * * 0", "0 3 * * *", "30 2 * * *", "*/20 0-3 * * *", "0 0 * * *", "30 23 * * *",
		"0 0 1 * *", "5,50 0,1,23 * * 1-5", "* 0-22 31 * *", "0 12 29 2 *", "0 0 29 2 */7", "*/30 * 1 1,7 *",
	}
	for _, zoneName := range []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Africa/Casablanca", "America/Scoresbysund"} {
		for _, text := range expressions {
			times := mustTimes(t, Rule{Cron: text, Zone: zoneName}, time.Time{})
			for range 25 {
				from := time.Date(2009+draw.IntN(18), 1, 1, 0, 0, draw.IntN(366*24*3600), draw.IntN(2), time.UTC)
				if _, change := from.In(times.zone).ZoneBounds(); draw.IntN(3) > 0 && !change.IsZero() {
					from = change.Add(time.Duration(draw.IntN(3*24*60)-2*24*60) * time.Minute)
				}
				until := from.Add(time.Duration(draw.IntN(4*24*60*60)) * time.Second)
				if draw.IntN(10) == 0 {
					until = from.Add(time.Duration(draw.IntN(40*24)) * time.Hour)
				}
				var last time.Time
				n := 0
				for next := times.Next(from); !next.IsZero() && !next.After(until); next = times.Next(next) {
					last = next
					n++
				}
				if got := times.Last(from, until); !got.Equal(last) {
					t.Errorf("%s in %s: the last time from %v until %v is %v, want %v", text, zoneName, from.In(times.zone), until.In(times.zone), got, last)
				}
				if got := times.Count(from, until); got != n {
					t.Errorf("%s in %s: from %v until %v there are %d times, want %d", text, zoneName, from.In(times.zone), until.In(times.zone), got, n)
				}
			}
		}
	}
}

// A clock that was wrong can be set by centuries. If these steps were taken one by one the
// test would take hours.
func TestCenturiesOfTimesAreNotSteppedThrough(t *testing.T) {
	since := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	until := time.Date(2370, 1, 1, 12, 0, 30, 0, time.UTC)
	days := int(until.Sub(since.AddDate(200, 0, 0))/(24*time.Hour)) + int(since.AddDate(200, 0, 0).Sub(since)/(24*time.Hour))
	for _, test := range []struct {
		rule  Rule
		last  time.Time
		count int
	}{
		{Rule{Every: time.Second}, until, (days*24+12)*3600 + 30},
		{Rule{Every: 7 * time.Hour}, time.Date(2370, 1, 1, 12, 0, 0, 0, time.UTC).Add(-time.Duration((days*24+12)%7) * time.Hour), (days*24 + 12) / 7},
		{Rule{Cron: "* * * * *"}, until.Truncate(time.Minute), (days*24 + 12) * 60},
		{Rule{Cron: "* 0-22 * 12 *"}, time.Date(2369, 12, 31, 22, 59, 0, 0, time.UTC), 400 * 31 * 23 * 60},
		{Rule{Cron: "0 0 29 2 *"}, time.Date(2368, 2, 29, 0, 0, 0, 0, time.UTC), 97},
	} {
		times := mustTimes(t, test.rule, since)
		if got := times.Last(since, until); !got.Equal(test.last) {
			t.Errorf("%+v: the last time is %v, want %v", test.rule, got, test.last)
		}
		if got := times.Count(since, until); got != test.count {
			t.Errorf("%+v: there are %d times, want %d", test.rule, got, test.count)
		}
		if next := times.Next(until); !next.After(until) || next.Sub(until) > 5*366*24*time.Hour {
			t.Errorf("%+v: after %v comes %v", test.rule, until, next)
		}
	}
}
