package conformance

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
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
		for _, hold := range []runtime.LimitHold{runtime.HoldAttempt, runtime.HoldEvent} {
			t.Run(name+", held for an "+hold.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "mail", AtOnce: 1, Hold: hold}))
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
					time.Sleep(time.Hour)
					Must(t, inTime(mail, func(context.Context) error { return nil }))
				})
			})
		}
	}
}

func (env *Env) TestAContextHoldsNoLimitAfterItsFunctionHasReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "mail", AtOnce: 1}))
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
		for _, hold := range []runtime.LimitHold{runtime.HoldAttempt, runtime.HoldEvent} {
			for _, batch := range []bool{false, true} {
				if batch && hold == runtime.HoldEvent { // which is refused
					continue
				}
				kind := map[bool]string{true: ", a batch, ", false: ", "}[batch]
				t.Run(name+kind+"held for an "+hold.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "mail", AtOnce: 1, Hold: hold}))
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
}

// Its handler has waited for an event as long as it could. The guest was in line for another delivery.
func (env *Env) TestAGuestThatLeavesKeepsNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		taken, freed := make(chan struct{}), make(chan struct{})
		go mail.DoFor(context.Background(), "x", func(context.Context) error { close(taken); <-freed; return nil })
		<-taken
		f.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.OrderID == "x" {
				return nil
			}
			receipt, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "a"}, runtime.Immediately())
			if err != nil {
				return err
			}
			limited, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			receipt.Wait(limited)
			time.Sleep(time.Hour)
			return nil
		}, limitedBy("mail by order_id"), runtime.WithTimeout(24*time.Hour))
		_, err = runtime.Subscribe(f.Bus, PaidType, "slow", func(context.Context, runtime.Event[OrderPaid]) error { time.Sleep(2 * time.Hour); return nil },
			runtime.WithTimeout(24*time.Hour))
		Must(t, err)
		var began Journal[time.Time]
		f.handleUsers("three", func(context.Context, runtime.Event[UserCreated]) error { began.Add(time.Now()); return nil }, limitedBy("mail by name"))
		f.MustStart()
		for _, id := range []string{"x", "a"} {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: id, Number: 1})
			Must(t, err)
		}
		time.Sleep(time.Minute)
		f.users("x")
		time.Sleep(time.Minute)
		close(freed)
		room := time.Now()
		f.Idle()
		if at := began.All(); len(at) != 1 || at[0].Sub(room) > time.Second {
			t.Errorf("there was room at %v, the other subscription began at %v", room, at)
		}
	})
}

// It cannot be dead-lettered before there is a worker. Until then nothing is to be done.
func (env *Env) TestADeliveryExpiresInALineWhoseSubscriptionIsBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "mail", AtOnce: 1}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		taken := make(chan struct{})
		go mail.DoFor(context.Background(), "x", func(context.Context) error { close(taken); time.Sleep(10 * time.Hour); return nil })
		<-taken
		var handled Journal[string]
		f.handleUsers("one", func(_ context.Context, e runtime.Event[UserCreated]) error {
			time.Sleep(3 * time.Hour)
			handled.Add(e.Payload.Name)
			return nil
		}, limitedBy("mail by name"), runtime.WithTimeout(5*time.Hour), runtime.WithExpiresAfter(4*time.Hour))
		f.MustStart()
		f.users("x") // expires while b is at work
		time.Sleep(3 * time.Hour)
		f.users("b")
		f.Idle()
		if got := handled.All(); !slices.Equal(got, []string{"b"}) {
			t.Errorf("handled are %v, want b", got)
		}
		if l := env.Letter(t, f.Path); l.Reason != "expired" {
			t.Errorf("the dead letter is %+v", l)
		}
		time.Sleep(10 * time.Hour)
	})
}

func (env *Env) TestAPauseDoesNotCountForTheWaitOfALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(runtime.Limit{Name: "mail", AtOnce: 1, Wait: time.Minute}))
		mail, err := f.Limiter("mail")
		Must(t, err)
		freed, taken := make(chan struct{}), make(chan struct{})
		go mail.Do(context.Background(), func(context.Context) error { close(taken); <-freed; return nil })
		<-taken
		s := f.handleUsers("one", func(_ context.Context, e runtime.Event[UserCreated]) error {
			if e.Attempt != 1 {
				t.Error("the pause has failed an attempt")
			}
			return nil
		}, limitedBy("mail"))
		f.MustStart()
		f.users("a")
		time.Sleep(30 * time.Second)
		Must(t, f.PauseSubscription(t.Context(), s.Name()))
		time.Sleep(time.Hour)
		Must(t, f.ResumeSubscription(t.Context(), s.Name()))
		time.Sleep(20 * time.Second)
		close(freed)
		f.Idle()
		if s := f.Stats().Subscriptions[0]; s.Handled != 1 || s.Failed != 0 {
			t.Errorf("the counts are %+v", s.Counts)
		}
	})
}
