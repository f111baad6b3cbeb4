package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// These tests let a clock be wrong by decades, and an interval be as precise as the file can
// store times.

func (env *Env) TestAClockThatWasWrongByDecadesPublishesNoMillionsOfMissedTimes(t *testing.T) {
	const day = 24 * time.Hour
	for name, test := range map[string]struct {
		schedule declare.Schedule
		first    time.Duration // how wrong the clock is when the schedule is first started with
		then     time.Duration // how wrong it is after that
		want     string
		leftOut  int
	}{
		"a cron expression, and the clock began in 1970": {
			declare.Schedule{Name: "x", Cron: "* * * * *", TimeZone: "Europe/Berlin", Missed: declare.MissedAll},
			-10957 * day, 0, "x 01-01 00:01:00", 10957 * 24 * 60,
		},
		"an interval, and the clock began in 1970": {
			declare.Schedule{Name: "x", Every: time.Minute, Missed: declare.MissedAll}, -10957 * day, 0, "x 01-01 00:01:00", 10957 * 24 * 60,
		},
		"the clock is in the future": {
			declare.Schedule{Name: "x", Every: time.Minute, Missed: declare.MissedAll}, 0, 36525 * day, "x 01-01 00:01:00", 36525 * 24 * 60,
		},
		"as many as are published": {
			declare.Schedule{Name: "x", Every: time.Hour, Missed: declare.MissedAll}, -10_000 * time.Hour, 0, "", 0,
		},
		"one more": {
			declare.Schedule{Name: "x", Every: time.Hour, Missed: declare.MissedAll}, -10_001 * time.Hour, 0, "x 01-01 00:00:00", 10_000,
		},
		"only the newest is wanted": {
			declare.Schedule{Name: "x", Cron: "* 0-22 1 * *"}, -10957 * day, 0, "x 01-01 00:01:00", 0,
		},
		"none is wanted": {
			declare.Schedule{Name: "x", Cron: "* 0-22 1 12 *", Missed: declare.MissedSkip}, -10957 * day, 0, "", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock wallClock
				path := env.Target(t)
				schedules := []declare.Schedule{test.schedule}
				clock.set(test.first)
				f := env.openTimetable(t, path, schedules, clock.option())
				f.MustStart()
				f.Stop()
				clock.set(test.then - test.first)
				time.Sleep(time.Minute + 30*time.Second)
				if strings.HasPrefix(name, "as many") || name == "one more" {
					clock.set(-90 * time.Second)
				}
				reports := reportType(schedules...)
				again := timetableFixture{env.ReopenWith(t, path, runtime.NewCatalogue(reports), clock.option()), nil}
				var seen Journal[string]
				_, err := runtime.Subscribe(again.Bus, reports, "reports", func(_ context.Context, e runtime.Event[ReportRequested]) error {
					seen.Add(fmt.Sprintf("%s %s", e.Schedule, e.ScheduledFor.Format("01-02 15:04:05")))
					return nil
				}, runtime.FromBeginning())
				Must(t, err)
				again.MustStart()
				synctest.Wait()
				again.Idle()
				got := seen.All()
				switch {
				case test.want != "" && (len(got) != 1 || got[0] != test.want):
					t.Errorf("%d events: %.5q, want %s", len(got), got, test.want)
				case strings.HasPrefix(name, "as many") && len(got) != 10_000:
					t.Errorf("%d events", len(got))
				}
				lines := again.Log.Level(t, "ERROR")
				if (test.leftOut > 0) != (len(lines) == 1) || test.leftOut > 0 && fmt.Sprint(lines[0]["left_out"]) != fmt.Sprint(float64(test.leftOut)) {
					t.Errorf("the log has the errors %v, want left_out=%d", lines, test.leftOut)
				}
				before := len(got)
				time.Sleep(time.Hour)
				synctest.Wait()
				if after := seen.All(); test.schedule.Every == time.Minute && len(after) != before+60 {
					t.Errorf("in the hour after that there are %d events", len(after)-before)
				}
			})
		})
	}
}

func (env *Env) TestAnIntervalOfMicrosecondsIsNotPublishedAgainAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		odd := []declare.Schedule{{Name: "odd", Every: 10*time.Minute + time.Microsecond, Missed: declare.MissedAll}}
		time.Sleep(1234567 * time.Nanosecond) // the clock is more precise than the file
		f := env.openTimetable(t, path, odd)
		f.MustStart()
		time.Sleep(11 * time.Minute)
		f.want("odd 01-01 00:10:00")
		for range 3 {
			f.Stop()
			f = env.openTimetable(t, path, odd)
			f.MustStart()
			time.Sleep(time.Minute)
			f.want()
		}
	})
}
