package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/errs"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// plainScheduler returns a scheduler of a subscription without groups, batches, limits and keys.
func plainScheduler(from engine.Consumer, concurrency int, reuse bool, count dispatch.Counter, handle func(a *dispatch.Attempt) error) *dispatch.Scheduler {
	settings := &dispatch.Settings{Retry: retry.Default(), Timeout: 30 * time.Second, SlowAfter: 10 * time.Second}
	closed := breaker.New(breaker.Default())
	handlers := []*dispatch.Handler{{
		Name: "plain", Breaker: closed, Count: count, Handle: handle, Settings: func(string) *dispatch.Settings { return settings },
	}}
	logger := slog.New(slog.DiscardHandler)
	return dispatch.New(from, dispatch.Config{
		Name: "plain", Concurrency: concurrency, Handlers: func(string) []*dispatch.Handler { return handlers },
		Settings: func(string) *dispatch.Settings { return settings }, Breaker: closed, BreakerChanged: func(string, breaker.Status, breaker.Status) {},
		Key: func(*engine.Delivery) (string, error) { return "", nil }, LateKeys: concurrency == 1,
		Alone: &dispatch.Alone{Logger: logger}, Waits: &dispatch.Waits{}, Interrupts: new(atomic.Bool), Logger: logger, Reuse: reuse,
	})
}

// runAll lets a handler have so many deliveries.
func runAll(t *testing.T, deliveries, concurrency int, beside func(s *dispatch.Scheduler), handle func(a *dispatch.Attempt) error) {
	t.Helper()
	var left sync.WaitGroup
	left.Add(deliveries)
	s := plainScheduler(&fresh{left: deliveries}, concurrency, true, uncounted{}, func(a *dispatch.Attempt) error {
		defer left.Done()
		return handle(a)
	})
	s.Start()
	if beside != nil {
		beside(s)
	}
	left.Wait()
	if err := s.Stop(context.Background(), time.Second); err != nil {
		t.Error(err)
	}
}

// fresh has so many deliveries, each with memory of its own.
type fresh struct {
	endless
	mu       sync.Mutex
	left, at int
}

func (c *fresh) Parked() bool                   { return false }
func (c *fresh) Express() (critical, high bool) { return false, false }

func (c *fresh) Prepare(*engine.Delivery) {}

func (c *fresh) Poll(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, more bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ; limit > 0 && c.left > 0; limit-- {
		c.at++
		c.left--
		dst = append(dst, &engine.Delivery{Record: &engine.Record{Seq: int64(c.at), Type: "order.placed", CreatedAt: time.Now()}, Since: time.Now()})
	}
	return dst, c.left > 0, nil
}

func TestTheMemoryOfAnAttemptServesTheNextUnlessItsHandlerHasAskedItsContext(t *testing.T) {
	const deliveries = 100
	for name, test := range map[string]struct {
		asks func(ctx *dispatch.Handed)
		want int // how many attempts there are at most, of each delivery one at least if it is as many
	}{
		"nobody asks":      {func(*dispatch.Handed) {}, 1},
		"for the end":      {func(ctx *dispatch.Handed) { ctx.Done() }, deliveries},
		"for the deadline": {func(ctx *dispatch.Handed) { ctx.Deadline() }, deliveries},
		"for the attempt":  {func(ctx *dispatch.Handed) { dispatch.FromContext(ctx) }, deliveries},
		"for the logger":   {func(ctx *dispatch.Handed) { ctx.Attempt().Logger() }, deliveries},
	} {
		t.Run(name, func(t *testing.T) {
			places := map[string]bool{}
			runAll(t, deliveries, 1, nil, func(a *dispatch.Attempt) error {
				places[fmt.Sprintf("%p", a)] = true
				test.asks(a.Handed())
				return nil
			})
			if len(places) != test.want {
				t.Errorf("%d deliveries had %d attempts in memory, want %d", deliveries, len(places), test.want)
			}
		})
	}
}

// Whatever a handler keeps says the same about its own attempt, whoever asks it first, and when.
func TestWhatAHandlerKeepsIsOfItsOwnAttempt(t *testing.T) {
	const deliveries = 2000
	type kept struct {
		ctx *dispatch.Handed
		seq int64
	}
	check := func(one kept) error {
		a := dispatch.FromContext(one.ctx)
		switch {
		case a == nil || a.Seq != one.seq:
			return fmt.Errorf("the context of event %d leads to another attempt: %+v", one.seq, a)
		case a.Number != 1 || a.Max() != retry.Default().MaxAttempts:
			return fmt.Errorf("it is attempt %d of %d", a.Number, a.Max())
		}
		return nil
	}
	over := func(one kept) error {
		a := one.ctx.Attempt()
		deadline, ok := one.ctx.Deadline()
		switch err := a.Stage(one.ctx, []engine.Record{{Type: "late"}}); {
		case !errors.Is(err, errs.ErrOver):
			return fmt.Errorf("something is staged after the attempt of event %d: %v", one.seq, err)
		case one.ctx.Err() != context.Canceled:
			return fmt.Errorf("its context says %v", one.ctx.Err())
		case !ok || time.Until(deadline) > 30*time.Second || time.Until(deadline) < 0:
			return fmt.Errorf("its deadline is %v, %v", deadline, ok)
		}
		select {
		case <-one.ctx.Done():
		default:
			return errors.New("its context has not ended")
		}
		return check(one)
	}
	for name, concurrency := range map[string]int{"one worker": 1, "eight workers": 8} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var all []kept
			var strays sync.WaitGroup
			runAll(t, deliveries, concurrency, nil, func(a *dispatch.Attempt) error {
				one := kept{a.Handed(), a.Seq}
				mu.Lock()
				all = append(all, one)
				mu.Unlock()
				if one.seq%3 == 1 {
					strays.Go(func() { // beside the end of the attempt
						if err := check(one); err != nil {
							t.Error(err)
						}
					})
				}
				if one.seq%3 == 2 {
					return check(one)
				}
				return nil
			})
			strays.Wait()
			for _, one := range all {
				if err := over(one); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// Who looks at the handlers that run, or interrupts them, finds what is true, while the memory of attempts changes hands.
func TestTheMemoryOfAnAttemptIsNotUsedAgainWhileSomebodyLooksAtIt(t *testing.T) {
	stop := make(chan struct{})
	var looking sync.WaitGroup
	lost := errors.New("not needed")
	runAll(t, 20_000, 4, func(s *dispatch.Scheduler) {
		for _, look := range []func(){
			func() {
				for _, one := range s.Running(nil, time.Now(), 0) {
					if one.Type != "order.placed" || one.Attempt != 1 || one.Started.IsZero() {
						t.Errorf("a handler runs that nobody has called: %+v", one)
					}
				}
			},
			func() { s.Interrupt(17, lost) },
		} {
			looking.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						look()
					}
				}
			})
		}
	}, func(a *dispatch.Attempt) error { return nil })
	close(stop)
	looking.Wait()
}

// slowCount takes its time to count a success.
type slowCount struct {
	dispatch.Counter
	took time.Duration
}

func (slowCount) Succeeded(*dispatch.Attempt, time.Time)       {}
func (c slowCount) Handled(*dispatch.Attempt, []engine.Record) { time.Sleep(c.took) }

// With several workers, one can read an event that another one handles, whose last attempt has ended before there was
// that event.
func TestAnAttemptBeginsNotBeforeThereIsItsEventWithSeveralWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := &source{events: []int64{1}, settled: map[int64]engine.DispositionKind{}}
		var mu sync.Mutex
		early, handled := time.Duration(0), 0
		s := plainScheduler(from, 2, false, slowCount{took: time.Second}, func(a *dispatch.Attempt) error {
			mu.Lock()
			defer mu.Unlock()
			early, handled = max(early, a.Since.Sub(a.Started())), handled+1
			return nil
		})
		s.Start()
		time.Sleep(time.Second / 2) // the first worker has ended its attempt, and is at work yet
		from.mu.Lock()
		from.events = []int64{2, 3}
		wake := from.wake
		from.mu.Unlock()
		wake()
		time.Sleep(10 * time.Second)
		if err := s.Stop(context.Background(), time.Second); err != nil {
			t.Error(err)
		}
		if early > 0 || handled != 3 {
			t.Errorf("of %d attempts one began %v before there was its event", handled, early)
		}
	})
}
