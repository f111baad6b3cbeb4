package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// The clock of Berlin is changed at 01:00 UTC, on 2000-03-26 and 2000-10-29, that of New
// York at 07:00 UTC on 2000-04-02 and 06:00 UTC on 2000-10-29. A bus that runs costs the
// tests half a second an hour; package schedule looks at longer times.
func (env *Env) TestASchedulePublishesATimeOnceWhenTheClockIsChanged(t *testing.T) {
	berlin, newYork := "Europe/Berlin", "America/New_York"
	for name, test := range map[string]struct {
		cron, zone, from, to string
		want                 []string
	}{
		"a time that Berlin skips":         {"30 2 * * *", berlin, "2000-03-26 00:25:00", "2000-03-26 01:45:00", []string{"x 03-26 01:00:00"}},
		"a time that Berlin shows twice":   {"30 2 * * *", berlin, "2000-10-29 00:25:00", "2000-10-29 01:45:00", []string{"x 10-29 00:30:00"}},
		"a time that New York skips":       {"0 2 * * *", newYork, "2000-04-02 06:55:00", "2000-04-02 08:10:00", []string{"x 04-02 07:00:00"}},
		"a time that New York shows twice": {"0 1 * * *", newYork, "2000-10-29 04:55:00", "2000-10-29 06:10:00", []string{"x 10-29 05:00:00"}},
		"an interval of cron goes on in the hour that Berlin shows twice": {
			"*/30 * * * *", berlin, "2000-10-28 23:45:00", "2000-10-29 02:15:00",
			[]string{"x 10-29 00:00:00", "x 10-29 00:30:00", "x 10-29 01:00:00", "x 10-29 01:30:00", "x 10-29 02:00:00"},
		},
		"an interval of cron goes on in the hour that Berlin skips": {
			"*/30 * * * *", berlin, "2000-03-26 00:15:00", "2000-03-26 01:45:00",
			[]string{"x 03-26 00:30:00", "x 03-26 01:00:00", "x 03-26 01:30:00"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sleepUntil(test.from)
				f := env.openTimetable(t, env.Target(t), []declare.Schedule{{Name: "x", Cron: test.cron, TimeZone: test.zone}})
				f.MustStart()
				sleepUntil(test.to)
				f.want(test.want...)
			})
		})
	}
}

// A bus is down from noon on a Monday to noon a week later.
func (env *Env) TestTimesThatWereMissedArePublishedAsTheScheduleSays(t *testing.T) {
	for missed, want := range map[declare.Missed][]string{
		"":                 {"nightly 01-10 02:00:00", "late by 10h0m0s"},
		declare.MissedOnce: {"nightly 01-10 02:00:00", "late by 10h0m0s"},
		declare.MissedSkip: nil,
		declare.MissedAll: {
			"nightly 01-04 02:00:00", "late by 154h0m0s", "nightly 01-05 02:00:00", "late by 130h0m0s", "nightly 01-06 02:00:00", "late by 106h0m0s",
			"nightly 01-07 02:00:00", "late by 82h0m0s", "nightly 01-08 02:00:00", "late by 58h0m0s", "nightly 01-09 02:00:00", "late by 34h0m0s",
			"nightly 01-10 02:00:00", "late by 10h0m0s",
		},
	} {
		t.Run(string(missed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := env.Target(t)
				f := env.openTimetable(t, path, nightly(missed))
				sleepUntil("2000-01-03 01:59:00")
				f.MustStart()
				sleepUntil("2000-01-03 02:01:00")
				f.want("nightly 01-03 02:00:00")
				f.Stop()
				sleepUntil("2000-01-10 12:00:00")
				again := env.openTimetable(t, path, nightly(missed))
				again.MustStart()
				time.Sleep(time.Second)
				again.want(want...)
				again.handled = &Journal[string]{}
				again.Stop()
				sleepUntil("2000-01-11 01:59:00")
				third := env.openTimetable(t, path, nightly(missed)) // and not once more
				third.MustStart()
				sleepUntil("2000-01-11 02:01:00")
				third.want("nightly 01-11 02:00:00")
			})
		})
	}
}

func (env *Env) TestMissedTimesAreCaughtUpInOrderBeyondOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		schedules := []declare.Schedule{{Name: "minutely", Cron: "* * * * *", Missed: declare.MissedAll}, {Name: "hourly", Cron: "@hourly"}}
		f := env.openTimetable(t, path, schedules)
		f.MustStart()
		f.Stop()
		time.Sleep(1234*time.Minute + time.Second)
		reports := reportType(schedules...)
		again := timetableFixture{env.ReopenWith(t, path, runtime.NewCatalogue(reports)), nil}
		var seen Journal[time.Time]
		_, err := runtime.Subscribe(again.Bus, reports, "minutes", func(_ context.Context, e runtime.Event[ReportRequested]) error {
			if e.Schedule == "minutely" {
				seen.Add(e.ScheduledFor)
			}
			return nil
		}, runtime.FromBeginning())
		Must(t, err)
		again.MustStart()
		time.Sleep(time.Second)
		again.Idle()
		got := seen.All()
		if len(got) != 1234 {
			t.Fatalf("%d events, want 1234", len(got))
		}
		for i := 1; i < len(got); i++ {
			if got[i].Sub(got[i-1]) != time.Minute {
				t.Errorf("%v follows %v", got[i], got[i-1])
			}
		}
	})
}

func (env *Env) TestAClockThatIsSetPublishesNoTimeOfAScheduleTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		path := env.Target(t)
		often := []declare.Schedule{{Name: "often", Cron: "*/10 * * * *"}}
		f := env.openTimetable(t, path, often, clock.option())
		f.MustStart()
		time.Sleep(25 * time.Minute)
		f.want("often 01-01 00:10:00", "often 01-01 00:20:00")
		clock.set(-20 * time.Minute) // 00:05, and the times come again
		time.Sleep(20 * time.Minute)
		f.want("often 01-01 00:10:00", "often 01-01 00:20:00")
		if lines := f.Log.Level(t, "WARN"); !strings.Contains(fmt.Sprint(lines), "a schedule has published its times up to one that is in the future") {
			t.Errorf("the log warns of %v", lines)
		}
		time.Sleep(10 * time.Minute)
		f.want("often 01-01 00:10:00", "often 01-01 00:20:00", "often 01-01 00:30:00", "late by 20m0s") // by the clock of the test
		f.Stop()
		f = env.openTimetable(t, path, often, clock.option()) // 00:35
		f.MustStart()
		synctest.Wait()
		clock.set(5*time.Hour + 5*time.Minute + 10*time.Second) // 05:40:10, which is noticed within a minute
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := f.handled.All(); len(got) != 1 || got[0] != "often 01-01 05:40:00" {
			t.Errorf("handled %v, want one at 05:40", got)
		}
	})
}

func (env *Env) TestAScheduleWhoseClockIsSetForwardSkipsWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		f := env.openTimetable(t, env.Target(t), []declare.Schedule{{Name: "x", Cron: "0 * * * *", Missed: declare.MissedSkip}}, clock.option())
		f.MustStart()
		time.Sleep(time.Minute)
		clock.set(90 * time.Minute)
		time.Sleep(5 * time.Minute)
		f.want()
		clock.set(23*time.Minute + 50*time.Second) // 01:59:50, which is noticed at 02:00:50 at the latest: not too late
		time.Sleep(61 * time.Second)
		if got := f.handled.All(); len(got) != 1 || got[0] != "x 01-01 02:00:00" {
			t.Errorf("handled %v, want one at 02:00", got)
		}
	})
}

// twoProcesses runs two buses on one log: the second stands by, and takes over at a time. Both note
// in the journal what they handle.
func (env *Env) twoProcesses(t *testing.T, path string, schedules []declare.Schedule, handled *Journal[string], from, over, until string) {
	t.Helper()
	sleepUntil(from)
	open := func(opts ...runtime.Option) timetableFixture {
		reports := reportType(slices.Clone(schedules)...)
		f := timetableFixture{env.ReopenWith(t, path, runtime.NewCatalogue(reports), opts...), handled}
		f.handle(reports)
		return f
	}
	first, second := open(), open(runtime.WithStandby())
	first.MustStart()
	started := make(chan error)
	go func() { started <- second.Start(t.Context()) }()
	sleepUntil(over)
	first.Stop()
	Must(t, <-started)
	sleepUntil(until)
	second.Stop()
}

// The clock of Berlin is changed while the second process takes over, or while nobody is there for a week.
func (env *Env) TestTwoProcessesPublishEachTimeOnceOverChangesOfTheClockAndAWeekOfDowntime(t *testing.T) {
	for name, test := range map[string]struct {
		from, over, until string
		first             string   // the time that comes meanwhile
		again             string   // a week later, at noon
		missed            []string // until then
		next              string
	}{
		"spring, and both are there": {
			"2000-03-26 00:58:00", "2000-03-26 00:59:00", "2000-03-26 01:01:00", "2000-03-26 01:00:00", "2000-04-02",
			[]string{"2000-03-27 00:30:00", "2000-03-28 00:30:00", "2000-03-29 00:30:00", "2000-03-30 00:30:00", "2000-03-31 00:30:00", "2000-04-01 00:30:00", "2000-04-02 00:30:00"},
			"2000-04-03 00:30:00",
		},
		"autumn, and both are there": {
			"2000-10-29 00:29:00", "2000-10-29 00:59:00", "2000-10-29 01:31:00", "2000-10-29 00:30:00", "2000-11-05",
			[]string{"2000-10-30 01:30:00", "2000-10-31 01:30:00", "2000-11-01 01:30:00", "2000-11-02 01:30:00", "2000-11-03 01:30:00", "2000-11-04 01:30:00", "2000-11-05 01:30:00"},
			"2000-11-06 01:30:00",
		},
		"spring, and nobody is there": {
			"2000-03-22 01:28:00", "2000-03-22 01:29:00", "2000-03-22 01:31:00", "2000-03-22 01:30:00", "2000-03-29",
			[]string{"2000-03-23 01:30:00", "2000-03-24 01:30:00", "2000-03-25 01:30:00", "2000-03-26 01:00:00", "2000-03-27 00:30:00", "2000-03-28 00:30:00", "2000-03-29 00:30:00"},
			"2000-03-30 00:30:00",
		},
		"autumn, and nobody is there": {
			"2000-10-25 00:28:00", "2000-10-25 00:29:00", "2000-10-25 00:31:00", "2000-10-25 00:30:00", "2000-11-01",
			[]string{"2000-10-26 00:30:00", "2000-10-27 00:30:00", "2000-10-28 00:30:00", "2000-10-29 00:30:00", "2000-10-30 01:30:00", "2000-10-31 01:30:00", "2000-11-01 01:30:00"},
			"2000-11-02 01:30:00",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path, handled := env.Target(t), &Journal[string]{}
				var schedules []declare.Schedule
				for _, missed := range []declare.Missed{declare.MissedOnce, declare.MissedSkip, declare.MissedAll} {
					schedules = append(schedules, declare.Schedule{Name: string(missed), Cron: "30 2 * * *", TimeZone: "Europe/Berlin", Missed: missed})
				}
				at := func(text string) time.Time {
					moment, err := time.Parse(time.DateTime, text)
					Must(t, err)
					return moment
				}
				var want []string
				come := func(schedule, text string) { want = append(want, schedule+" "+text[5:]) }
				late := func(schedule, text string) {
					come(schedule, text)
					want = append(want, "late by "+at(test.again+" 12:00:00").Sub(at(text)).String())
				}
				env.twoProcesses(t, path, schedules, handled, test.from, test.over, test.until)
				env.twoProcesses(t, path, schedules, handled, test.again+" 12:00:00", test.again+" 12:01:00", test.again+" 12:02:00")
				night := func(minutes int) string {
					return at(test.next).Add(time.Duration(minutes) * time.Minute).Format(time.DateTime)
				}
				env.twoProcesses(t, path, schedules, handled, night(-2), night(-1), night(1))
				for _, schedule := range schedules {
					come(schedule.Name, test.first)
				}
				late("once", test.missed[len(test.missed)-1])
				for _, text := range test.missed {
					late("all", text)
				}
				for _, schedule := range schedules {
					come(schedule.Name, test.next)
				}
				if diff := cmp.Diff(want, handled.All()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
