package conformance

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// These tests are about rules that meet: a suspect and an Unsubscribe, a discard and
// a last attempt, a restored file and a new subscription.

// ending is a context whose Err reports the end before its Done channel is closed. A
// real context is in this state for a moment when something else ends at the same time.
type ending struct {
	context.Context
	over atomic.Bool
}

func (e *ending) Err() error {
	if e.over.Load() {
		return context.DeadlineExceeded
	}
	return e.Context.Err()
}

func (env *Env) TestWaitIdleReturnsTheErrorOfItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("slow", Hang)
		other := f.Handle("other", Hang)
		f.MustStart()
		f.Publish(1)
		ctx := &ending{Context: t.Context()}
		idle := make(chan error, 1)
		go func() { idle <- f.WaitIdle(ctx) }()
		synctest.Wait()
		ctx.over.Store(true)
		now, cancel := context.WithCancel(t.Context())
		cancel()
		other.Unsubscribe(now)
		if err := <-idle; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitIdle returned %v, want the error of its context", err)
		}
		f.Shutdown(now)
	})
}

// Neither the bus nor a suspect waits for a handler that ignores its context, once its
// subscription is gone.
func (env *Env) TestASuspectDoesNotWaitForHandlersThatUnsubscribeLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "one")
		Must(t, c.PauseSubscription(t.Context(), "one", ""))
		c.Handle("one", c.Work("one"))
		release := make(chan struct{})
		stuck := c.Handle("stuck", func(context.Context, runtime.Event[OrderPlaced]) error {
			<-release
			return nil
		}, runtime.WithTimeout(time.Hour))
		c.MustStart()
		c.Publish(2)
		synctest.Wait()
		Must(t, c.ResumeSubscription(t.Context(), "one"))
		time.Sleep(time.Minute)
		c.Saw() // the suspect waits
		now, cancel := context.WithCancel(t.Context())
		cancel()
		stuck.Unsubscribe(now)
		time.Sleep(5 * time.Second)
		c.Saw("one 1.2", "one 2.1")
		close(release)
		synctest.Wait()
	})
}

// An operator discards a delivery while its last attempt runs: its failure makes no dead
// letter.
func (env *Env) TestADiscardedDeliveryIsNotAnnouncedAsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		hold := make(chan error)
		f.Handle("running", func(context.Context, runtime.Event[OrderPlaced]) error { return <-hold },
			runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithTimeout(time.Hour))
		announced := 0
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "announcer",
			func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error { announced++; return nil })
		Must(t, err)
		f.MustStart()
		receipt := f.Publish(1)[0]
		synctest.Wait() // its handler runs
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		_, err = file.DiscardEvent(t.Context(), receipt.ID, "", "a test order")
		Must(t, err)
		time.Sleep(time.Second)
		hold <- ErrBoom
		f.Idle()
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Discarded || d.Dead || d.Failures != 1 {
			t.Errorf("the outcome is %+v, want discarded after one failed attempt", d)
		}
		if s := f.Stats().Subscriptions[0]; announced != 0 || s.Dead != 0 || s.Failed != 1 {
			t.Errorf("%d dead letters are announced and %d counted, want none", announced, s.Dead)
		}
		for _, line := range f.Log.Level(t, "ERROR") {
			t.Errorf("the log says %v", line)
		}
	})
}

// The bus does not compute the partition key of a discarded delivery, because that may
// end the process.
func (env *Env) TestTheKeyOfADiscardedDeliveryIsNotComputed(t *testing.T) {
	for name, opt := range map[string]runtime.SubscribeOption{"four workers": runtime.WithConcurrency(4), "strict order": runtime.WithStrictOrder()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var keys Journal[int]
				keyed := runtime.NewCatalogue(runtime.Define(runtime.Spec[OrderPlaced]{
					Name: "order.placed", Settings: Within(time.Minute, Exact()),
					PartitionBy: func(p OrderPlaced) string { keys.Add(p.Number); return p.OrderID },
				}))
				path := env.Open(t).Path
				f := env.ReopenWith(t, path, keyed)
				var ran Journal[int]
				handle := func(_ context.Context, e runtime.Event[runtime.Raw]) error {
					ran.Add(len(e.Payload))
					return runtime.RetryAfter(time.Hour, ErrBoom)
				}
				subscribe := func() {
					_, err := runtime.SubscribePattern(f.Bus, "order.*", "reader", handle, opt)
					Must(t, err)
				}
				subscribe()
				f.MustStart()
				first := f.Publish(1)[0]
				synctest.Wait()
				f.Stop()

				f = env.ReopenWith(t, path, keyed)
				second := f.Publish(2)[0]
				file, err := env.OpenFile(t.Context(), path)
				Must(t, err)
				defer file.Close()
				for _, r := range []*runtime.Receipt{first, second} {
					_, err = file.DiscardEvent(t.Context(), r.ID, "", "a test order")
					Must(t, err)
				}
				before := len(keys.All())
				subscribe()
				f.MustStart()
				f.Idle()
				if got := keys.All()[before:]; len(got) > 0 || len(ran.All()) != 1 {
					t.Errorf("the keys of %v were computed, and %d handlers ran; want none, and the first", got, len(ran.All()))
				}
			})
		})
	}
}

// A clock that is set back while no process dispatches delays no suspect and no dead
// letter that was redriven.
func (env *Env) TestAClockThatIsSetBackPutsOffNothingThatIsDue(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T) string{
		"a suspect": func(t *testing.T) string {
			c := env.Crowded(t, "one")
			c.MustStart() // which finds out what ran
			c.Stop()
			return c.Path
		},
		"suspects": func(t *testing.T) string {
			c := env.Crowded(t, "one", "two")
			c.MustStart()
			c.Stop()
			return c.Path
		},
		"a dead letter that is retried": func(t *testing.T) string {
			f := env.Open(t)
			f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
			f.MustStart()
			f.Publish(1)
			f.Idle()
			f.Stop()
			inspector, err := env.OpenFile(t.Context(), f.Path)
			Must(t, err)
			defer inspector.Close()
			_, err = inspector.Retry(t.Context(), inspect.Selection{})
			Must(t, err)
			return f.Path
		},
		"a type that was paused": func(t *testing.T) string {
			f := env.Open(t)
			f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
			Must(t, err)
			f.MustStart()
			Must(t, f.PauseTypes(t.Context(), "order.placed", ""))
			f.Publish(1)
			time.Sleep(time.Second)
			f.Stop()
			f = env.Reopen(t, f.Path)
			Must(t, f.ResumeTypes(t.Context(), "order.placed"))
			f.Stop()
			return f.Path
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := prepare(t)
				var clock wallClock
				clock.set(-time.Hour)
				f := env.Reopen(t, path, clock.option())
				handled := 0
				f.Handle("one", func(context.Context, runtime.Event[OrderPlaced]) error { handled++; return nil })
				_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { handled += 10; return nil })
				Must(t, err)
				f.MustStart()
				began := time.Now()
				f.Idle()
				if waited := time.Since(began); waited > time.Second || handled%10 != 1 {
					t.Errorf("after %v it was handled %d times", waited, handled)
				}
				f.Stop()
			})
		})
	}
}

// slowLog is slow for the lines about failed attempts.
type slowLog struct {
	slog.Handler
	entered, release chan struct{}
}

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "event handler failed" {
		close(l.entered)
		<-l.release
	}
	return nil
}

// Publish does not wait for a slow log that writes the line about a slow attempt. If it
// did, this test would not end.
func (env *Env) TestASlowLogDoesNotSlowPublishersDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slowLog{slog.DiscardHandler, make(chan struct{}), make(chan struct{})}
		f := env.Open(t, runtime.WithLogger(slog.New(log)))
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				time.Sleep(5 * time.Second)
				return runtime.Permanent(ErrBoom)
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		<-log.entered
		time.Sleep(5 * time.Second) // in which the bus shows what runs
		f.Publish(2)
		f.Stats()
		close(log.release)
		f.Idle()
	})
}
