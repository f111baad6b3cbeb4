package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/retry"
)

// wallClock is a wall clock that can be set. Virtual time goes on.
type wallClock struct{ ahead atomic.Int64 }

func (c *wallClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *wallClock) set(by time.Duration) { c.ahead.Add(int64(by)) }

func (c *wallClock) option() runtime.Option { return testhook.WithWallClock(c.now).(runtime.Option) }

// The wall clock is set while deliveries wait. The times of the attempts show whether
// the waits have followed it.
func (env *Env) TestNoStepOfTheClockMakesAnythingWaitLonger(t *testing.T) {
	retryIn := func(delay time.Duration) error { return runtime.RetryAfter(delay, ErrBoom) }
	for name, test := range map[string]struct {
		fail    error
		first   time.Duration // a step before the handler fails
		step    time.Duration // a step half a second later
		restart bool          // right after that
		want    time.Duration // between the attempts, by the monotonic clock
	}{
		"a retry, and an hour back":                        {ErrBoom, 0, -time.Hour, false, 2 * time.Second},
		"a retry, and a day back":                          {ErrBoom, 0, -24 * time.Hour, false, 2 * time.Second},
		"a retry, and an hour back while it is restarted":  {ErrBoom, 0, -time.Hour, true, 2500 * time.Millisecond},
		"a retry as asked for, and an hour back":           {retryIn(3 * time.Second), 0, -time.Hour, false, 3 * time.Second},
		"a snooze, and an hour back":                       {runtime.Snooze(3 * time.Second), 0, -time.Hour, false, 3 * time.Second},
		"a snooze, and an hour back while it is restarted": {runtime.Snooze(3 * time.Second), 0, -time.Hour, true, 3500 * time.Millisecond},
		"a clock that was wrong is set right":              {ErrBoom, time.Hour, -time.Hour, false, 2 * time.Second},
		"an hour forward makes it due":                     {ErrBoom, 0, time.Hour, false, 600 * time.Millisecond},
		"a hair's breadth":                                 {ErrBoom, 0, -50 * time.Millisecond, false, 2050 * time.Millisecond},
		"nothing, but a restart":                           {ErrBoom, 0, 0, true, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock wallClock
				var ran Journal[time.Time]
				handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					ran.Add(time.Now())
					if len(ran.All()) == 1 {
						return test.fail
					}
					return nil
				}
				policy := runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(2*time.Second), retry.MaxDelay(5*time.Second), retry.Jitter(0))
				f := env.Open(t, clock.option())
				f.Handle("reader", handler, policy)
				f.MustStart()
				clock.set(test.first)
				time.Sleep(time.Second)
				f.Publish(1)
				time.Sleep(500 * time.Millisecond)
				if test.restart {
					f.Stop()
				}
				clock.set(test.step)
				if test.restart {
					f = env.Reopen(t, f.Path, clock.option())
					f.Handle("reader", handler, policy)
					f.MustStart()
				}
				f.Idle()
				got := ran.All()
				if len(got) != 2 {
					t.Fatalf("%d attempts, want 2", len(got))
				}
				if waited := got[1].Sub(got[0]); waited < test.want-20*time.Millisecond || waited > test.want+20*time.Millisecond {
					t.Errorf("it waited for %v, want %v", waited, test.want)
				}
				said := false
				for _, line := range f.Log.Level(t, "WARN") {
					said = said || strings.Contains(fmt.Sprint(line["msg"]), "the wall clock was set back")
				}
				if want := test.step <= -time.Hour; said != want {
					t.Errorf("the log says that the clock was set back: %v, want %v", said, want)
				}
			})
		})
	}
}

func (env *Env) TestADelayedEventFollowsTheWallClock(t *testing.T) {
	for step, want := range map[time.Duration]time.Duration{
		-time.Hour:       time.Hour + 10*time.Second,
		5 * time.Second:  5 * time.Second,
		30 * time.Second: time.Second,
	} {
		t.Run(step.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var clock wallClock
				f := env.Open(t, clock.option())
				var ran Journal[time.Duration]
				began := time.Now()
				f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
					ran.Add(time.Since(began).Round(time.Second))
					return nil
				})
				f.MustStart()
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithPublishAt(began.Add(10*time.Second)))
				Must(t, err)
				time.Sleep(time.Second)
				clock.set(step)
				f.Idle()
				if got := ran.All(); len(got) != 1 || got[0] != want {
					t.Errorf("it was delivered after %v, want %v", got, want)
				}
			})
		})
	}
}

// Only the process that dispatches moves the due times.
func (env *Env) TestAStepOfTheClockIsFollowedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		f := env.Open(t, clock.option())
		var ran Journal[time.Duration]
		began := time.Now()
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(time.Since(began).Round(time.Second))
			if e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.BaseDelay(20*time.Second)))
		f.MustStart()
		f.Publish(1)
		publisher := env.Reopen(t, f.Path, clock.option())
		r, err := runtime.Publish(t.Context(), publisher.Bus, UserType, UserCreated{Name: "Ada"})
		Must(t, err)
		_, err = r.Wait(t.Context()) // so that it watches the file
		Must(t, err)
		time.Sleep(time.Second)
		for range 3 { // each of them for itself
			clock.set(-5 * time.Second)
			time.Sleep(time.Second)
		}
		f.Idle()
		if got := ran.All(); len(got) != 2 || got[1] != 20*time.Second {
			t.Errorf("the attempts were after %v, want 0 s and 20 s", got)
		}
	})
}

func (env *Env) TestAnImmediateEventDoesNotWaitForTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock wallClock
		f := env.Open(t, clock.option())
		began := time.Now()
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				return f.askChild(ctx, 10)
			}
			return nil
		})
		f.MustStart()
		clock.set(-time.Hour)
		f.Publish(1)
		f.Idle()
		if took := time.Since(began); took > time.Second {
			t.Errorf("the child was handled after %v", took)
		}
	})
}
