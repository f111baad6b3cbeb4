package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	_ "time/tzdata" // the tests do not depend on the machine

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// ReportRequested is the payload of report.requested.
type ReportRequested struct {
	Kind string `json:"kind"`
}

func (p ReportRequested) Validate() error {
	switch p.Kind {
	case "panic":
		panic("no report")
	case "":
		return errors.New("kind is empty")
	}
	return nil
}

func reportType(schedules ...runtime.Schedule) *runtime.EventType[ReportRequested] {
	for i := range schedules {
		if schedules[i].Payload == "" {
			schedules[i].Payload = `{"kind":"` + schedules[i].Name + `"}`
		}
	}
	return runtime.Define(runtime.Spec[ReportRequested]{
		Name: "report.requested", Settings: Within(30*time.Second, Exact()), Schedules: schedules,
		PartitionBy: func(p ReportRequested) string { return p.Kind },
	})
}

// timetableFixture is a bus with schedules whose events it handles.
type timetableFixture struct {
	*Fixture
	handled *Journal[string] // schedule, its time, and how late it is
}

// openTimetable opens a bus with these schedules on a log that may exist, and handles
// their events.
func (env *Env) openTimetable(t *testing.T, path string, schedules []runtime.Schedule, opts ...runtime.Option) timetableFixture {
	t.Helper()
	reports := reportType(schedules...)
	f := timetableFixture{env.ReopenWith(t, path, runtime.NewCatalogue(reports), opts...), &Journal[string]{}}
	f.handle(reports)
	return f
}

func (f timetableFixture) handle(reports *runtime.EventType[ReportRequested]) {
	f.T.Helper()
	_, err := runtime.Subscribe(f.Bus, reports, "reports", func(_ context.Context, e runtime.Event[ReportRequested]) error {
		f.handled.Add(fmt.Sprintf("%s %s", e.Schedule, e.ScheduledFor.Format("01-02 15:04:05")))
		if e.Payload.Kind != e.Schedule || len(e.Metadata) > 0 || e.ParentID.String() != "00000000-0000-0000-0000-000000000000" || e.Hops != 0 {
			f.handled.Add(fmt.Sprintf("%+v", e))
		}
		if late := e.PublishedAt.Sub(e.ScheduledFor).Round(time.Second); late > 0 {
			f.handled.Add("late by " + late.String())
		}
		return nil
	})
	Must(f.T, err)
}

// sleepUntil sleeps until a time of the bubble, whose clock begins in 2000.
func sleepUntil(text string) {
	at, err := time.Parse("2006-01-02 15:04:05", text)
	if err != nil {
		panic(err)
	}
	time.Sleep(time.Until(at))
	synctest.Wait()
	time.Sleep(50 * time.Millisecond)
	synctest.Wait()
}

func (f timetableFixture) want(entries ...string) {
	f.T.Helper()
	synctest.Wait()
	if got := f.handled.All(); !slices.Equal(got, entries) {
		f.T.Errorf("handled:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(entries, "\n"))
	}
}

func nightly(missed runtime.Missed) []runtime.Schedule {
	return []runtime.Schedule{{Name: "nightly", Cron: "0 3 * * *", TimeZone: "Europe/Berlin", Missed: missed}}
}

func (env *Env) TestEachTimeOfAScheduleIsPublishedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), []runtime.Schedule{
			{Name: "nightly", Cron: "0,20 3 * * *", TimeZone: "Europe/Berlin"}, // 02:00 UTC
			{Name: "often", Every: 11 * time.Minute},
		})
		sleepUntil("2000-01-02 02:00:00") // the times begin when the bus is started
		f.MustStart()
		sleepUntil("2000-01-02 02:35:00")
		f.want("often 01-02 02:11:00", "nightly 01-02 02:20:00", "often 01-02 02:22:00", "often 01-02 02:33:00")
		if got := f.Stats().Types[0].Published; got != 4 {
			t.Errorf("%d are counted as published", got)
		}
	})
}

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
				f := env.openTimetable(t, env.Target(t), []runtime.Schedule{{Name: "x", Cron: test.cron, TimeZone: test.zone}})
				f.MustStart()
				sleepUntil(test.to)
				f.want(test.want...)
			})
		})
	}
}

// A bus is down from noon on a Monday to noon a week later.
func (env *Env) TestTimesThatWereMissedArePublishedAsTheScheduleSays(t *testing.T) {
	for missed, want := range map[runtime.Missed][]string{
		"":                 {"nightly 01-10 02:00:00", "late by 10h0m0s"},
		runtime.MissedOnce: {"nightly 01-10 02:00:00", "late by 10h0m0s"},
		runtime.MissedSkip: nil,
		runtime.MissedAll: {
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
		schedules := []runtime.Schedule{{Name: "minutely", Cron: "* * * * *", Missed: runtime.MissedAll}, {Name: "hourly", Cron: "@hourly"}}
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

func (env *Env) TestAStandbyPublishesNoTimeOfAScheduleAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		minutely := []runtime.Schedule{{Name: "minutely", Cron: "* * * * *", Missed: runtime.MissedAll}}
		first := env.openTimetable(t, path, minutely)
		first.MustStart()
		second := env.openTimetable(t, path, minutely, runtime.WithStandby())
		started := make(chan error)
		go func() { started <- second.Start(t.Context()) }()
		time.Sleep(5*time.Minute + time.Second)
		second.want() // one that is not the owner publishes nothing
		first.Stop()
		Must(t, <-started)
		time.Sleep(3 * time.Minute)
		var all []string
		for i := range 8 {
			all = append(all, fmt.Sprintf("minutely 01-01 00:%02d:00", i+1))
		}
		first.want(all[:5]...)
		second.want(all[5:]...)
	})
}

func (env *Env) TestABusThatOnlyPublishesLeavesSchedulesAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		f := env.openTimetable(t, path, nightly(""))
		sleepUntil("2000-01-05 01:59:00")
		f.want()
		f.Stop()
		f = env.openTimetable(t, path, nightly("")) // first declared now, by its start
		f.MustStart()
		sleepUntil("2000-01-05 02:01:00")
		f.want("nightly 01-05 02:00:00")
	})
}

func (env *Env) TestAnIntervalIsNotMovedByARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		every := []runtime.Schedule{{Name: "often", Every: 10 * time.Minute}}
		f := env.openTimetable(t, path, every)
		time.Sleep(7 * time.Second)
		f.MustStart()
		time.Sleep(13 * time.Minute)
		f.want("often 01-01 00:10:07")
		f.Stop()
		again := env.openTimetable(t, path, every)
		again.MustStart()
		time.Sleep(8 * time.Minute)
		again.want("often 01-01 00:20:07")
	})
}

func (env *Env) TestAChangedRuleGoesOnFromWhatHasPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		f := env.openTimetable(t, path, []runtime.Schedule{{Name: "x", Cron: "10 * * * *"}})
		f.MustStart()
		sleepUntil("2000-01-01 00:20:00")
		f.want("x 01-01 00:10:00")
		f.Stop()
		f = env.openTimetable(t, path, []runtime.Schedule{{Name: "x", Cron: "5,15,25 * * * *"}})
		f.MustStart()
		sleepUntil("2000-01-01 00:26:00")
		f.want("x 01-01 00:15:00", "late by 5m0s", "x 01-01 00:25:00")
		f.Stop()
		f = env.openTimetable(t, path, []runtime.Schedule{{Name: "x", Every: 6 * time.Minute}}) // since midnight
		f.MustStart()
		sleepUntil("2000-01-01 00:37:00")
		f.want("x 01-01 00:30:00", "x 01-01 00:36:00")
	})
}

func (env *Env) TestAScheduleThatWasRemovedBeginsAnewWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		often := func(missed runtime.Missed) []runtime.Schedule {
			return []runtime.Schedule{{Name: "often", Cron: "*/5 * * * *", Missed: missed}}
		}
		for _, test := range []struct {
			schedules []runtime.Schedule
			opts      []runtime.Option
			want      []string
		}{
			{often(runtime.MissedAll), nil, []string{"often 01-01 00:05:00", "often 01-01 00:10:00"}},
			{nil, nil, nil},
			{often(runtime.MissedAll), nil, []string{"often 01-01 00:25:00", "often 01-01 00:30:00"}},
			// A bus without schedules does not remove any.
			{nil, []runtime.Option{runtime.WithoutSchedules()}, nil},
			{often(runtime.MissedAll), []runtime.Option{runtime.WithoutSchedules()}, nil},
			{often(""), nil, []string{"often 01-01 00:50:00", "late by 2m0s", "often 01-01 00:55:00", "often 01-01 01:00:00"}},
		} {
			f := env.openTimetable(t, path, test.schedules, test.opts...)
			f.MustStart()
			time.Sleep(10*time.Minute + 24*time.Second)
			f.want(test.want...)
			f.Stop()
		}
	})
}

func (env *Env) TestAClockThatIsSetPublishesNoTimeOfAScheduleTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		path := env.Target(t)
		often := []runtime.Schedule{{Name: "often", Cron: "*/10 * * * *"}}
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
		f := env.openTimetable(t, env.Target(t), []runtime.Schedule{{Name: "x", Cron: "0 * * * *", Missed: runtime.MissedSkip}}, clock.option())
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

// Nothing is published or handled when the process dies, and the time is not over.
func (env *Env) TestALogThatWasNotClosedHasEachTimeOfAScheduleOnce(t *testing.T) {
	if env.Copy == nil {
		t.Skip("nothing is left of a log of this engine when its process is killed")
	}
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), []runtime.Schedule{{Name: "x", Cron: "* * * * *", Missed: runtime.MissedAll}})
		f.MustStart()
		time.Sleep(3*time.Minute + time.Second)
		f.want("x 01-01 00:01:00", "x 01-01 00:02:00", "x 01-01 00:03:00")
		path := f.Killed()
		time.Sleep(2 * time.Minute)
		again := env.openTimetable(t, path, []runtime.Schedule{{Name: "x", Cron: "* * * * *", Missed: runtime.MissedAll}})
		again.MustStart()
		time.Sleep(time.Minute)
		got := again.handled.All()
		want := []string{"x 01-01 00:04:00", "late by 1m1s", "x 01-01 00:05:00", "late by 1s", "x 01-01 00:06:00"}
		// What was handled a moment before the kill may be handled again, but is published once.
		if i := slices.Index(got, want[0]); i < 0 || !slices.Equal(got[i:], want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

func (env *Env) TestAPausedTypeHoldsTheEventsOfItsSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), []runtime.Schedule{{Name: "x", Cron: "* * * * *"}}, runtime.WithMaxPending(1, runtime.Refuse))
		f.MustStart()
		Must(t, f.PauseTypes(t.Context(), "report.*"))
		time.Sleep(3*time.Minute + time.Second)
		f.want()
		Must(t, f.ResumeTypes(t.Context(), "report.*"))
		time.Sleep(time.Second)
		// The limit of what is pending has not held them back either.
		f.want("x 01-01 00:01:00", "x 01-01 00:02:00", "x 01-01 00:03:00")
	})
}

func (env *Env) TestWhatASchedulePublishesHasItsNameAndTimeAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := reportType(runtime.Schedule{Name: "x", Cron: "* * * * *"})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(reports, UserType))
		var child, letter Journal[runtime.Event[runtime.Raw]]
		_, err := runtime.Subscribe(f.Bus, reports, "reports", func(ctx context.Context, e runtime.Event[ReportRequested]) error {
			_, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "Ada"}, runtime.WithMetadata(e.Metadata))
			return err
		})
		Must(t, err)
		_, err = runtime.Subscribe(f.Bus, reports, "failing", func(context.Context, runtime.Event[ReportRequested]) error { return runtime.Permanent(ErrBoom) })
		Must(t, err)
		_, err = runtime.SubscribePattern(f.Bus, "user.created", "users", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			child.Add(e)
			return nil
		})
		Must(t, err)
		_, err = runtime.SubscribeDead(f.Bus, reports, "letters", func(_ context.Context, e runtime.Event[runtime.DeadLetter[ReportRequested]]) error {
			letter.Add(runtime.Event[runtime.Raw]{Schedule: e.Schedule, ParentID: e.ParentID, Metadata: e.Metadata})
			return nil
		})
		Must(t, err)
		f.MustStart()
		time.Sleep(61 * time.Second)
		f.Idle()
		for what, all := range map[string][]runtime.Event[runtime.Raw]{"child": child.All(), "notice": letter.All()} {
			if len(all) != 1 || all[0].Schedule != "" || !all[0].ScheduledFor.IsZero() || all[0].ParentID.String() == "" || len(all[0].Metadata["busgen.schedule"]) > 0 {
				t.Errorf("%s: %+v", what, all)
			}
		}
		for _, key := range []string{"busgen.schedule", "busgen.scheduled_for"} {
			_, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{}, runtime.WithMetadata(map[string]string{key: "x"}))
			if e, ok := errors.AsType[*runtime.OptionError](err); !ok || !strings.Contains(e.Error(), key) {
				t.Errorf("metadata with %s: %v", key, err)
			}
		}
	})
}

func (env *Env) TestABusWithABadScheduleIsNotOpened(t *testing.T) {
	for name, test := range map[string]struct {
		schedule runtime.Schedule
		opts     []runtime.Option
		want     string
	}{
		"a zone that this machine does not know": {
			runtime.Schedule{Name: "x", Cron: "@daily", TimeZone: "Europe/Atlantis"}, nil,
			"schedule x: this machine does not know the time zone Europe/Atlantis (unknown time zone Europe/Atlantis): " +
				"install its database of time zones, or import _ \"time/tzdata\" in the program",
		},
		"an unknown field":            {runtime.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":"a","sort":1}`}, nil, "schedule x: the payload is not a valid report.requested: sort"},
		"a payload that is invalid":   {runtime.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":""}`}, nil, "kind is empty"},
		"a payload whose code panics": {runtime.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":"panic"}`}, nil, "no report"},
		"a payload that is too large": {
			runtime.Schedule{Name: "x", Cron: "@daily", Payload: `{"kind":"much"}`}, []runtime.Option{runtime.WithPayloadLimit(10)}, "schedule x: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			catalogue := runtime.NewCatalogue(reportType(test.schedule))
			path := env.Target(t)
			_, err := env.OpenBus(t.Context(), path, catalogue, test.opts...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
			if _, isZone := errors.AsType[*runtime.TimeZoneError](err); isZone != strings.Contains(test.want, "zone") {
				t.Errorf("the error is a %T", err)
			}
			bus, err := env.OpenBus(t.Context(), path, catalogue, append(test.opts, runtime.WithoutSchedules())...)
			Must(t, err)
			Must(t, bus.Shutdown(context.Background()))
		})
	}
}

func (env *Env) TestAScheduleThatBusgenCannotHaveMadeIsRefused(t *testing.T) {
	for want, define := range map[string]func(){
		`runtime.Define(report.requested): schedule "x": a schedule has either an expression or an interval`: func() { reportType(runtime.Schedule{Name: "x"}) },
		`runtime.Define(report.requested): schedule "x": Missed is "never": use once, skip or all`: func() {
			reportType(runtime.Schedule{Name: "x", Every: time.Hour, Missed: "never"})
		},
		`runtime.Define(report.requested): schedule "x": the interval 1.000000001s is no multiple of a microsecond`: func() {
			reportType(runtime.Schedule{Name: "x", Every: time.Second + 1}) // its times would not be those that the file has
		},
		`runtime.Define(report.requested): schedule "": its name is empty, too long, or has spaces around it or bytes that cannot be printed`: func() {
			reportType(runtime.Schedule{Every: time.Hour})
		},
		`runtime.NewCatalogue: report.requested and report.requested both have a schedule "x"`: func() {
			runtime.NewCatalogue(reportType(runtime.Schedule{Name: "x", Every: time.Hour}, runtime.Schedule{Name: "x", Every: time.Hour}))
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("the panic is %s, want %s", got, want)
				}
			}()
			define()
		}()
	}
}

func (env *Env) TestAScheduleIsFiredByATest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), nightly(""), runtime.WithoutSchedules())
		f.MustStart()
		_, err := testhook.Fire(t.Context(), f.Bus, "nightly")
		Must(t, err)
		f.Idle()
		f.want("nightly 01-01 00:00:00")
		if _, err := testhook.Fire(t.Context(), f.Bus, "nightli"); err == nil || !strings.Contains(err.Error(), "nightly") {
			t.Errorf("an unknown name: %v", err)
		}
	})
}
