package runtime_test

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// wrapped is SQLite with logs that fail, or are slow, when a test says so.
type wrapped struct {
	sqlite.Engine
	open func(engine.Log) engine.Log
}

func (w wrapped) Open(ctx context.Context, target string, options engine.Options) (engine.Log, error) {
	log, err := w.Engine.Open(ctx, target, options)
	if err != nil {
		return nil, err
	}
	return w.open(log), nil
}

func withLog(open func(engine.Log) engine.Log) runtime.Option {
	return runtime.WithEngine(wrapped{open: open})
}

// fullTimetable is a log whose disk is too full for schedules.
type fullTimetable struct {
	engine.Log
	full *atomic.Bool
}

func (l fullTimetable) DeclareSchedules(ctx context.Context, specs []engine.ScheduleSpec, now time.Time) ([]event.Schedule, error) {
	if l.full.Load() {
		return nil, &event.StorageError{Op: "store schedules in", Fault: event.DiskFull, Err: errors.New("the disk is full")}
	}
	return l.Log.DeclareSchedules(ctx, specs, now)
}

func TestAStartThatFailsLateReportsTheCrashesAndCanBeMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := conformance.SQLite.Open(t)
		f.Handle("hangs", conformance.Hang)
		f.MustStart()
		f.Publish(1)
		var full atomic.Bool
		full.Store(true)
		var failed conformance.Journal[observe.FailedInfo]
		again := conformance.SQLite.Reopen(t, f.Killed(), runtime.WithObserver(observe.Observer{Failed: failed.Add}),
			withLog(func(l engine.Log) engine.Log { return fullTimetable{l, &full} }))
		again.Handle("hangs", func(context.Context, runtime.Event[conformance.OrderPlaced]) error { return nil })
		if err := again.Start(t.Context()); !errors.As(err, new(*event.StorageError)) {
			t.Errorf("the start returns %v", err)
		}
		full.Store(false)
		again.MustStart()
		again.Idle()
		if got := failed.All(); len(got) != 1 || got[0].Kind != "crash" {
			t.Errorf("the observer was told %+v, want the crash, once", got)
		}
		if s := again.Stats(); s.Recovery.Interrupted != 1 || s.Subscriptions[0].Handled != 1 {
			t.Errorf("recovered %+v, counted %+v", s.Recovery, s.Subscriptions[0].Counts)
		}
	})
}

// countedWatches is a log that counts its watches that are open.
type countedWatches struct {
	engine.Log
	open    *atomic.Int32
	closing func()
}

func (l countedWatches) Watch(ctx context.Context, spec engine.WatchSpec) (engine.Watch, error) {
	w, err := l.Log.Watch(ctx, spec)
	if err == nil {
		l.open.Add(1)
		w = &countedWatch{w, l}
	}
	return w, err
}

type countedWatch struct {
	engine.Watch
	log countedWatches
}

func (w *countedWatch) Close() {
	w.log.closing()
	w.log.open.Add(-1)
	w.Watch.Close()
}

func TestARestoreLeavesNoWatchOfAnEphemeralSubscriptionThatIsUnsubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var open atomic.Int32
		var closing atomic.Bool
		var f *conformance.Fixture
		renewed := make(chan error, 1)
		restore := func() { // in the moment in which the watch is closed
			if closing.Swap(true) {
				return
			}
			go func() { renewed <- runtime.SubscribeAnew(f.Bus) }()
			for range 100_000 {
				goruntime.Gosched()
			}
		}
		f = conformance.SQLite.Open(t, withLog(func(l engine.Log) engine.Log { return countedWatches{l, &open, restore} }))
		live := f.Handle("live", conformance.Hang, runtime.Ephemeral())
		conformance.Must(t, live.Unsubscribe(t.Context()))
		conformance.Must(t, <-renewed)
		if n := open.Load(); n != 0 {
			t.Errorf("%d watches are open", n)
		}
	})
}

// slowAppend is a log whose disk takes its time for the children of handlers.
type slowAppend struct {
	engine.Log
	append func(ctx context.Context, store func() error) error
}

func (l slowAppend) Append(ctx context.Context, records []engine.Record) error {
	if records[0].Type != conformance.PaidType.Name() {
		return l.Log.Append(ctx, records)
	}
	return l.append(ctx, func() error { return l.Log.Append(context.WithoutCancel(ctx), records) })
}

func TestChildrenOfAnEphemeralHandlerAreStoredOnceIfItsTimeEndsMeanwhile(t *testing.T) {
	for name, test := range map[string]struct {
		append   func(ctx context.Context, store func() error) error
		attempts []int
	}{
		"they are stored late": {func(ctx context.Context, store func() error) error {
			time.Sleep(5 * time.Second)
			return store()
		}, []int{1}},
		"they are withdrawn": {func() func(ctx context.Context, store func() error) error {
			var second atomic.Bool
			return func(ctx context.Context, store func() error) error {
				if !second.Swap(true) {
					<-ctx.Done()
					return ctx.Err()
				}
				return store()
			}
		}(), []int{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := conformance.SQLite.Open(t, withLog(func(l engine.Log) engine.Log { return slowAppend{l, test.append} }))
				var attempts conformance.Journal[int]
				live := f.Handle("live", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
					attempts.Add(e.Attempt)
					_, err := runtime.Publish(ctx, f.Bus, conformance.PaidType, conformance.OrderPaid{})
					return err
				}, runtime.Ephemeral(), runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(5)))
				var paid atomic.Int32
				_, err := runtime.Subscribe(f.Bus, conformance.PaidType, "paid", func(context.Context, runtime.Event[conformance.OrderPaid]) error {
					paid.Add(1)
					return nil
				})
				conformance.Must(t, err)
				f.MustStart()
				f.Publish(1)
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := attempts.All(); !slices.Equal(got, test.attempts) || paid.Load() != 1 {
					t.Errorf("the attempts are %v, want %v; %d children", got, test.attempts, paid.Load())
				}
				for _, s := range f.Stats().Subscriptions {
					if s.Name == live.Name() && (s.Handled != 1 || s.Timeouts != uint64(len(test.attempts)-1) || s.Abandoned != 0) {
						t.Errorf("the counts are %+v", s.Counts)
					}
				}
			})
		})
	}
}
