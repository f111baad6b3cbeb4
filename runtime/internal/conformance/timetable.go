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
	"github.com/busgen/busgen/runtime/declare"
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

func reportType(schedules ...declare.Schedule) *runtime.EventType[ReportRequested] {
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
func (env *Env) openTimetable(t *testing.T, path string, schedules []declare.Schedule, opts ...runtime.Option) timetableFixture {
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

func nightly(missed declare.Missed) []declare.Schedule {
	return []declare.Schedule{{Name: "nightly", Cron: "0 3 * * *", TimeZone: "Europe/Berlin", Missed: missed}}
}

func (env *Env) TestEachTimeOfAScheduleIsPublishedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), []declare.Schedule{
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

func (env *Env) TestAStandbyPublishesNoTimeOfAScheduleAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		minutely := []declare.Schedule{{Name: "minutely", Cron: "* * * * *", Missed: declare.MissedAll}}
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
		every := []declare.Schedule{{Name: "often", Every: 10 * time.Minute}}
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
		f := env.openTimetable(t, path, []declare.Schedule{{Name: "x", Cron: "10 * * * *"}})
		f.MustStart()
		sleepUntil("2000-01-01 00:20:00")
		f.want("x 01-01 00:10:00")
		f.Stop()
		f = env.openTimetable(t, path, []declare.Schedule{{Name: "x", Cron: "5,15,25 * * * *"}})
		f.MustStart()
		sleepUntil("2000-01-01 00:26:00")
		f.want("x 01-01 00:15:00", "late by 5m0s", "x 01-01 00:25:00")
		f.Stop()
		f = env.openTimetable(t, path, []declare.Schedule{{Name: "x", Every: 6 * time.Minute}}) // since midnight
		f.MustStart()
		sleepUntil("2000-01-01 00:37:00")
		f.want("x 01-01 00:30:00", "x 01-01 00:36:00")
	})
}

func (env *Env) TestAScheduleThatWasRemovedBeginsAnewWhenItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		often := func(missed declare.Missed) []declare.Schedule {
			return []declare.Schedule{{Name: "often", Cron: "*/5 * * * *", Missed: missed}}
		}
		for _, test := range []struct {
			schedules []declare.Schedule
			opts      []runtime.Option
			want      []string
		}{
			{often(declare.MissedAll), nil, []string{"often 01-01 00:05:00", "often 01-01 00:10:00"}},
			{nil, nil, nil},
			{often(declare.MissedAll), nil, []string{"often 01-01 00:25:00", "often 01-01 00:30:00"}},
			// A bus without schedules does not remove any.
			{nil, []runtime.Option{runtime.WithoutSchedules()}, nil},
			{often(declare.MissedAll), []runtime.Option{runtime.WithoutSchedules()}, nil},
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

// Nothing is published or handled when the process dies, and the time is not over.
func (env *Env) TestALogThatWasNotClosedHasEachTimeOfAScheduleOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openTimetable(t, env.Target(t), []declare.Schedule{{Name: "x", Cron: "* * * * *", Missed: declare.MissedAll}})
		f.MustStart()
		time.Sleep(3*time.Minute + time.Second)
		f.want("x 01-01 00:01:00", "x 01-01 00:02:00", "x 01-01 00:03:00")
		path := f.Killed()
		time.Sleep(2 * time.Minute)
		again := env.openTimetable(t, path, []declare.Schedule{{Name: "x", Cron: "* * * * *", Missed: declare.MissedAll}})
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
		f := env.openTimetable(t, env.Target(t), []declare.Schedule{{Name: "x", Cron: "* * * * *"}}, runtime.WithMaxPending(1, runtime.Refuse))
		f.MustStart()
		Must(t, f.PauseTypes(t.Context(), "report.*", ""))
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
		reports := reportType(declare.Schedule{Name: "x", Cron: "* * * * *"})
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
			letter.Add(runtime.Event[runtime.Raw]{Head: e.Head})
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
