package runtime_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

// These tests are about rules that meet: a suspect and an Unsubscribe, a discard and
// a last attempt, a restored file and a new subscription.

// ending is a context whose end is seen by who asks for its error, and not yet by who
// waits for it: that is so for a moment when something else ends at the same time.
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

func TestWaitIdleReturnsTheErrorOfItsOwnContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("slow", hang)
		other := f.handle("other", hang)
		f.start()
		f.publish(1)
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

// A handler that ignores its context is not waited for, and neither does a suspect wait
// for it, once its subscription is gone.
func TestASuspectDoesNotWaitForWhatUnsubscribeLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(t, "one")
		must(t, c.PauseSubscription(t.Context(), "one"))
		c.handle("one", c.work("one"))
		release := make(chan struct{})
		stuck := c.handle("stuck", func(context.Context, runtime.Event[orderPlaced]) error {
			<-release
			return nil
		}, runtime.WithTimeout(time.Hour))
		c.start()
		c.publish(2)
		synctest.Wait()
		must(t, c.ResumeSubscription(t.Context(), "one"))
		time.Sleep(time.Minute)
		c.saw() // the suspect waits
		now, cancel := context.WithCancel(t.Context())
		cancel()
		stuck.Unsubscribe(now)
		time.Sleep(5 * time.Second)
		c.saw("one 1.2", "one 2.1")
		close(release)
		synctest.Wait()
	})
}

// What an operator has discarded while its last attempt ran is no dead letter.
func TestADiscardedDeliveryIsNotAnnouncedAsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		hold := make(chan error)
		f.handle("running", func(context.Context, runtime.Event[orderPlaced]) error { return <-hold },
			runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithTimeout(time.Hour))
		announced := 0
		_, err := runtime.SubscribeDead(f.Bus, placedType, "announcer",
			func(context.Context, runtime.Event[runtime.DeadLetter[orderPlaced]]) error { announced++; return nil })
		must(t, err)
		f.start()
		receipt := f.publish(1)[0]
		file, err := admin.Open(f.path)
		must(t, err)
		defer file.Close()
		_, err = file.Discard(t.Context(), receipt.ID, "", "a test order")
		must(t, err)
		time.Sleep(time.Second)
		hold <- errBoom
		f.idle()
		outcome, err := receipt.Wait(t.Context())
		must(t, err)
		if d := outcome.Deliveries[0]; !d.Discarded || d.Dead || d.Failures != 1 {
			t.Errorf("the outcome is %+v, want discarded after one failed attempt", d)
		}
		if s := f.Stats().Subscriptions[0]; announced != 0 || s.Dead != 0 || s.Failed != 1 {
			t.Errorf("%d dead letters are announced and %d counted, want none", announced, s.Dead)
		}
		for _, line := range f.log.level(t, "ERROR") {
			t.Errorf("the log says %v", line)
		}
	})
}

// The key of what an operator has discarded is not asked for: that may be what ends the
// process.
func TestTheKeyOfADiscardedDeliveryIsNotComputed(t *testing.T) {
	for name, opt := range map[string]runtime.SubscribeOption{"four workers": runtime.WithConcurrency(4), "strict order": runtime.WithStrictOrder()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var keys journal[int]
				keyed := runtime.NewCatalogue(runtime.Define(runtime.Spec[orderPlaced]{
					Name: "order.placed", Settings: within(time.Minute, exact()),
					PartitionBy: func(p orderPlaced) string { keys.add(p.Number); return p.OrderID },
				}))
				path := open(t).path
				f := reopenWith(t, path, keyed)
				var ran journal[int]
				handle := func(_ context.Context, e runtime.Event[runtime.Raw]) error {
					ran.add(len(e.Payload))
					return runtime.RetryAfter(time.Hour, errBoom)
				}
				subscribe := func() {
					_, err := runtime.SubscribePattern(f.Bus, "order.*", "reader", handle, opt)
					must(t, err)
				}
				subscribe()
				f.start()
				first := f.publish(1)[0]
				synctest.Wait()
				f.stop()

				f = reopenWith(t, path, keyed)
				second := f.publish(2)[0]
				file, err := admin.Open(path)
				must(t, err)
				defer file.Close()
				for _, r := range []*runtime.Receipt{first, second} {
					_, err = file.Discard(t.Context(), r.ID, "", "a test order")
					must(t, err)
				}
				before := len(keys.all())
				subscribe()
				f.start()
				f.idle()
				if got := keys.all()[before:]; len(got) > 0 || len(ran.all()) != 1 {
					t.Errorf("the keys of %v were computed, and %d handlers ran; want none, and the first", got, len(ran.all()))
				}
			})
		})
	}
}

// A clock that is set back while nobody dispatches puts no suspect off, nor a dead
// letter that was sent again.
func TestAClockThatIsSetBackPutsOffNothingThatIsDue(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T) string{
		"a suspect": func(t *testing.T) string {
			c := crowded(t, "one")
			c.start() // which finds out what ran
			c.stop()
			return c.path
		},
		"suspects": func(t *testing.T) string {
			c := crowded(t, "one", "two")
			c.start()
			c.stop()
			return c.path
		},
		"a dead letter that is retried": func(t *testing.T) string {
			f := open(t)
			f.handle("one", func(context.Context, runtime.Event[orderPlaced]) error { return runtime.Permanent(errBoom) })
			f.start()
			f.publish(1)
			f.idle()
			f.stop()
			inspector, err := dlq.Open(f.path)
			must(t, err)
			defer inspector.Close()
			_, err = inspector.Retry(t.Context(), dlq.Selection{})
			must(t, err)
			return f.path
		},
		"a type that was paused": func(t *testing.T) string {
			f := open(t)
			f.handle("one", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
			must(t, err)
			f.start()
			must(t, f.PauseTypes(t.Context(), "order.placed"))
			f.publish(1)
			time.Sleep(time.Second)
			f.stop()
			f = reopen(t, f.path)
			must(t, f.ResumeTypes(t.Context(), "order.placed"))
			f.stop()
			return f.path
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := prepare(t)
				var clock wallClock
				clock.set(-time.Hour)
				f := reopen(t, path, clock.option())
				handled := 0
				f.handle("one", func(context.Context, runtime.Event[orderPlaced]) error { handled++; return nil })
				_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { handled += 10; return nil })
				must(t, err)
				f.start()
				began := time.Now()
				f.idle()
				if waited := time.Since(began); waited > time.Second || handled%10 != 1 {
					t.Errorf("after %v it was handled %d times", waited, handled)
				}
				f.stop()
			})
		})
	}
}

// A subscription that is made while the bus looks at a restored file is started once.
func TestASubscriptionMadeWhileAFileIsRestoredIsStartedOnce(t *testing.T) {
	f := open(t)
	entered, release := make(chan struct{}, 9), make(chan struct{})
	defer close(release)
	f.handle("stuck", func(context.Context, runtime.Event[orderPlaced]) error {
		entered <- struct{}{}
		<-release
		return nil
	})
	f.publish(1)
	backup := backUp(t, f)
	f.start()
	<-entered
	restoreInto(t, f.path, backup)
	f.publish(2) // which notices it; the handler that is stuck is waited for
	goesOn := make(chan struct{})
	var ran journal[int]
	f.handle("late", func(_ context.Context, e runtime.Event[orderPlaced]) error {
		ran.add(e.Payload.Number)
		<-goesOn
		return nil
	}, runtime.FromBeginning())
	eventually(t, "the bus goes on", func() bool {
		return slices.ContainsFunc(f.log.level(t, "INFO"), func(line map[string]any) bool {
			return strings.HasPrefix(line["msg"].(string), "event bus goes on")
		})
	})
	eventually(t, "the new subscription runs", func() bool { return len(ran.all()) > 0 })
	close(goesOn)
	f.publish(3)
	eventually(t, "all are handled", func() bool { return slices.Contains(ran.all(), 3) })
	if got := ran.all(); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("it has handled %v, want each once", got)
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	f.Shutdown(now)
}

// Whoever starts finds out that the file was restored since it was opened.
func TestABusStartsOnAFileThatWasRestoredSinceItWasOpened(t *testing.T) {
	f := open(t)
	var ran journal[int]
	f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
		ran.add(e.Payload.Number)
		return nil
	})
	f.publish(1)
	backup := backUp(t, f)
	f.publish(2)
	restoreInto(t, f.path, backup)
	f.start()
	f.publish(3)
	eventually(t, "the events of the restored log are handled", func() bool { return len(ran.all()) >= 2 })
	f.idle()
	if got := ran.all(); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("it has handled %v, want 1 and 3", got)
	}
	f.stop()
}

// slowLog takes its time for the lines about failed attempts.
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

// Who publishes waits for no log line of an attempt that has run for long. (If he did,
// this test would not end.)
func TestNobodyPublishesSlowlyBecauseALogIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slowLog{slog.DiscardHandler, make(chan struct{}), make(chan struct{})}
		f := open(t, runtime.WithLogger(slog.New(log)))
		f.handle("reader", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			if e.Payload.Number == 1 {
				time.Sleep(5 * time.Second)
				return runtime.Permanent(errBoom)
			}
			return nil
		})
		f.start()
		f.publish(1)
		<-log.entered
		time.Sleep(5 * time.Second) // in which the bus shows what runs
		f.publish(2)
		f.Stats()
		close(log.release)
		f.idle()
	})
}
