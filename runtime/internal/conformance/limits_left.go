package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// What becomes of a place in a limit whose attempt is over while something still runs in it.

// inTime calls f in a limit, and gives up after a second.
func inTime(l *runtime.Limiter, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return l.Do(ctx, f)
}

// The handler of the attempt was left behind, or has returned and left a goroutine behind.
func (env *Env) TestALimiterKeepsItsPlaceUntilItsFunctionEnds(t *testing.T) {
	hangs := func(context.Context) error { time.Sleep(time.Hour); return nil }
	for name, test := range map[string]struct {
		opts   []runtime.SubscribeOption
		handle func(ctx context.Context, mail *runtime.Limiter) error
	}{
		"left behind": {nil, func(ctx context.Context, mail *runtime.Limiter) error { return mail.Do(ctx, hangs) }},
		"left behind, in the place of its delivery": {
			[]runtime.SubscribeOption{limitedBy("mail")},
			func(ctx context.Context, mail *runtime.Limiter) error { return mail.Do(ctx, hangs) },
		},
		"beside its handler": {nil, func(ctx context.Context, mail *runtime.Limiter) error {
			go mail.Do(ctx, hangs)
			time.Sleep(time.Second)
			return nil
		}},
		"beside its handler, in the place of its delivery": {
			[]runtime.SubscribeOption{limitedBy("mail")},
			func(ctx context.Context, mail *runtime.Limiter) error {
				go mail.Do(ctx, hangs)
				time.Sleep(time.Second)
				return nil
			},
		},
		"in another call that has ended": {nil, func(ctx context.Context, mail *runtime.Limiter) error {
			return mail.Do(ctx, func(ctx context.Context) error {
				go mail.Do(ctx, func(ctx context.Context) error {
					time.Sleep(time.Second)
					return mail.Do(ctx, hangs) // which does not wait for its own place
				})
				time.Sleep(time.Millisecond)
				return nil
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
				mail, err := f.Limiter("mail")
				Must(t, err)
				f.handleUsers("one", func(ctx context.Context, _ runtime.Event[UserCreated]) error { return test.handle(ctx, mail) },
					append(test.opts, runtime.WithTimeout(time.Minute), runtime.WithRetry(retry.MaxAttempts(1)))...)
				f.users("a")
				f.MustStart()
				time.Sleep(10 * time.Minute)
				if err := inTime(mail, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("while the function runs, another one has begun (%v)", err)
				}
				said := slices.ContainsFunc(f.Log.Level(t, "WARN"), func(line map[string]any) bool {
					return strings.HasPrefix(line["msg"].(string), "a handler that is left behind is in a call of Limiter.Do") &&
						fmt.Sprint(line["limits"]) == "[mail]"
				})
				if left := strings.HasPrefix(name, "left behind"); said != left {
					t.Errorf("the log says that a handler left behind has the limit: %v, want %v", said, left)
				}
				time.Sleep(time.Hour)
				Must(t, inTime(mail, func(context.Context) error { return nil }))
			})
		})
	}
}

func (env *Env) TestAContextHoldsNoLimitAfterItsFunctionHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		var old context.Context
		Must(t, mail.Do(t.Context(), func(ctx context.Context) error { old = ctx; return nil }))
		Must(t, mail.Do(t.Context(), func(context.Context) error {
			limited, cancel := context.WithTimeout(old, time.Second)
			defer cancel()
			if err := mail.Do(limited, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the context of a function that has returned still holds the limit (%v)", err)
			}
			return nil
		}))
		Must(t, inTime(mail, func(context.Context) error { return nil }))
	})
}

// An attempt is over when its handler is left behind: then its limits are free.
func (env *Env) TestAHandlerThatIgnoresItsEndDoesNotKeepItsLimits(t *testing.T) {
	for name, end := range map[string]func(ctx context.Context, f *Fixture, s *runtime.Subscription) error{
		"unsubscribed": func(ctx context.Context, _ *Fixture, s *runtime.Subscription) error { return s.Unsubscribe(ctx) },
		"removed":      func(ctx context.Context, f *Fixture, s *runtime.Subscription) error { return f.Remove(ctx, s.Name()) },
		"timed out":    func(context.Context, *Fixture, *runtime.Subscription) error { time.Sleep(3 * time.Minute); return nil },
	} {
		for _, batch := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", a batch"}[batch], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
					mail, err := f.Limiter("mail")
					Must(t, err)
					var atWork atomic.Int32
					handle := func() error {
						atWork.Add(1)
						time.Sleep(time.Hour)
						atWork.Add(-1)
						return nil
					}
					opts := []runtime.SubscribeOption{limitedBy("mail"), runtime.WithTimeout(2 * time.Minute), runtime.WithRetry(retry.MaxAttempts(1))}
					var s *runtime.Subscription
					if batch {
						s, err = runtime.SubscribeBatch(f.Bus, UserType, "one", func(context.Context, []runtime.Event[UserCreated]) error { return handle() }, opts...)
						Must(t, err)
					} else {
						s = f.handleUsers("one", func(context.Context, runtime.Event[UserCreated]) error { return handle() }, opts...)
					}
					f.users("a")
					f.MustStart()
					time.Sleep(time.Minute)
					if err := inTime(mail, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("while the attempt goes on: %v", err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					if err := end(ctx, f, s); err != nil && !errors.Is(err, context.DeadlineExceeded) {
						t.Fatal(err)
					}
					if err := inTime(mail, func(context.Context) error { return nil }); err != nil {
						t.Errorf("the limit is not free while %d handlers are left behind: %v", atWork.Load(), err)
					}
					if atWork.Load() == 0 {
						t.Error("no handler is left behind")
					}
					time.Sleep(2 * time.Hour)
					// The handler has returned: nothing is free twice.
					Must(t, inTime(mail, func(context.Context) error {
						if err := inTime(mail, func(context.Context) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
							t.Errorf("the limit has room for two: %v", err)
						}
						return nil
					}))
				})
			})
		}
	}
}

// The retry is due while the handler that has outlived its deadline is not yet left behind.
func (env *Env) TestARetryDoesNotBeginInTheLimitThatItsHandlerIsStillAtWorkIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1}))
		var g gauge
		var began Journal[time.Duration]
		start := time.Now()
		f.handleUsers("sub", func(_ context.Context, e runtime.Event[UserCreated]) error {
			began.Add(time.Since(start))
			if e.Attempt < 3 {
				g.work() // a second: it ignores its context for most of it
			}
			return nil
		}, runtime.WithConcurrency(4), runtime.WithTimeout(500*time.Millisecond), limitedBy("one"),
			runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(time.Millisecond), retry.Jitter(0)))
		f.users("a")
		f.MustStart()
		f.Idle()
		if g.most.Load() != 1 {
			t.Errorf("%d were at work in the limit at once, want 1", g.most.Load())
		}
		if all := began.All(); len(all) != 3 || all[2] < 2*time.Second || all[2] > 3*time.Second {
			t.Errorf("attempts have begun at %v, want one each second", all)
		}
	})
}

// The attempt is over, and its handler is not.
func (env *Env) TestAPauseDoesNotFreeALimitThatAHandlerIsStillAtWorkIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1}))
		one, err := f.Limiter("one")
		Must(t, err)
		var g gauge
		f.handleUsers("sub", func(context.Context, runtime.Event[UserCreated]) error { g.work(); return nil },
			runtime.WithConcurrency(4), runtime.WithTimeout(500*time.Millisecond), limitedBy("one"))
		f.users("a")
		f.MustStart()
		time.Sleep(600 * time.Millisecond)
		Must(t, f.PauseSubscription(t.Context(), "sub", ""))
		Must(t, one.Do(t.Context(), func(context.Context) error { g.work(); return nil }))
		if g.most.Load() != 1 {
			t.Errorf("%d were at work in the limit at once, want 1", g.most.Load())
		}
	})
}
