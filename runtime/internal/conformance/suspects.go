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
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// Crowd is a bus whose process was killed while handlers of several subscriptions ran,
// and a record of what ran afterwards.
type Crowd struct {
	*Fixture
	running atomic.Int32
	Most    atomic.Int32 // how many ran at once
	Ran     Journal[string]
}

// Crowded returns a bus that was killed while each subscription handled event 1.
func (env *Env) Crowded(t *testing.T, names ...string) *Crowd {
	f := env.Open(t)
	for _, name := range names {
		f.Handle(name, Hang)
	}
	f.MustStart()
	f.Publish(1)
	return &Crowd{Fixture: env.Reopen(t, f.Killed())}
}

// Work is a handler that takes a second.
func (c *Crowd) Work(name string) runtime.Handler[OrderPlaced] {
	return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		c.Most.Store(max(c.Most.Load(), c.running.Add(1)))
		defer c.running.Add(-1)
		c.Ran.Add(fmt.Sprintf("%s %d.%d", name, e.Payload.Number, e.Attempt))
		time.Sleep(time.Second)
		return nil
	}
}

// Saw checks which handlers have run, in any order, and that none ran beside another.
func (c *Crowd) Saw(want ...string) {
	c.T.Helper()
	got := c.Ran.All()
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		c.T.Errorf("ran %v, want %v", got, want)
	}
	if c.Most.Load() > 1 {
		c.T.Errorf("%d handlers ran at once", c.Most.Load())
	}
}

func (env *Env) TestSuspectsOfSeveralSubscriptionsRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"one", "two", "three", "four"}
		c := env.Crowded(t, names...)
		for _, name := range names {
			c.Handle(name, c.Work(name))
		}
		c.MustStart()
		c.Idle()
		c.Saw("one 1.2", "two 1.2", "three 1.2", "four 1.2")
		// Then all run beside each other again.
		c.Publish(2)
		c.Idle()
		if c.Most.Load() != 4 {
			t.Errorf("afterwards %d handlers run at once, want 4", c.Most.Load())
		}
	})
}

func (env *Env) TestASuspectOfAPausedSubscriptionBlocksNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "one", "two")
		Must(t, c.PauseSubscription(t.Context(), "one", ""))
		c.Handle("one", c.Work("one"))
		c.Handle("two", c.Work("two"))
		c.MustStart()
		c.Publish(2)
		time.Sleep(time.Minute)
		c.Saw("two 1.2", "two 2.1")
		Must(t, c.ResumeSubscription(t.Context(), "one"))
		c.Idle()
		c.Saw("two 1.2", "two 2.1", "one 1.2", "one 2.1")
	})
}

func (env *Env) TestASuspectOfAPausedTypeBlocksNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "one", "two")
		Must(t, c.PauseTypes(t.Context(), "order.placed", ""))
		c.Handle("one", c.Work("one"))
		c.Handle("two", c.Work("two"))
		var paid atomic.Int32
		_, err := runtime.Subscribe(c.Bus, PaidType, "paid", func(context.Context, runtime.Event[OrderPaid]) error { paid.Add(1); return nil })
		Must(t, err)
		c.MustStart()
		_, err = runtime.Publish(t.Context(), c.Bus, PaidType, OrderPaid{})
		Must(t, err)
		time.Sleep(time.Minute)
		c.Saw()
		if n := paid.Load(); n != 1 {
			t.Errorf("%d events of another type were handled, want 1", n)
		}
		Must(t, c.ResumeTypes(t.Context(), "order.placed"))
		c.Idle()
		c.Saw("one 1.2", "two 1.2")
	})
}

func (env *Env) TestASuspectBehindAnOpenBreakerBlocksNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subscribe := func(f *Fixture, name string, handler runtime.Handler[OrderPlaced]) {
			_, err := runtime.Subscribe(f.Bus, FragileType, name, handler, runtime.WithConcurrency(3), runtime.FromBeginning(),
				runtime.WithBreaker(breaker.MinSamples(1), breaker.OpenFor(time.Minute)))
			Must(t, err)
		}
		f := env.OpenFragile(t)
		subscribe(f, "fragile", Hang)
		subscribe(f, "two", Hang)
		f.MustStart()
		f.Fragile(1, 3)
		c := &Crowd{Fixture: env.ReopenWith(t, f.Killed(), fragile)}
		var broken atomic.Bool
		broken.Store(true)
		subscribe(c.Fixture, "fragile", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			c.Work("fragile")(ctx, e)
			if broken.Load() {
				return ErrBoom
			}
			return nil
		})
		subscribe(c.Fixture, "two", c.Work("two"))
		c.MustStart()
		time.Sleep(20 * time.Second) // the first failure has opened the breaker
		if got := c.Ran.All(); len(got) != 4 || !slices.Contains(got, "two 1.2") || !slices.Contains(got, "two 2.2") || !slices.Contains(got, "two 3.2") {
			t.Errorf("behind the breaker %v ran, want one fragile and all of the other subscription", got)
		}
		c.Saw(c.Ran.All()...)
		broken.Store(false)
		c.Idle()
		if got := c.Ran.All(); len(got) != 7 {
			t.Errorf("in the end %v ran", got)
		}
	})
}

func (env *Env) TestSuspectsWithoutAHandlerBlockNoOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "gone", "two", "three")
		c.Handle("two", c.Work("two"))
		c.Handle("three", c.Work("three"))
		c.MustStart()
		c.Idle()
		c.Saw("two 1.2", "three 1.2")
		c.Publish(2)
		c.Idle()
		if c.Most.Load() != 2 {
			t.Errorf("afterwards %d handlers run at once, want 2", c.Most.Load())
		}
	})
}

func (env *Env) TestASuspectInAGroupRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("first", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.InGroup("team"))
		f.Handle("second", Hang, runtime.InGroup("team"))
		f.Handle("other", Hang)
		f.MustStart()
		f.Publish(1)
		c := &Crowd{Fixture: env.Reopen(t, f.Killed())}
		c.Handle("first", c.Work("first"), runtime.InGroup("team"))
		c.Handle("second", c.Work("second"), runtime.InGroup("team"))
		c.Handle("other", c.Work("other"))
		c.MustStart()
		c.Idle()
		c.Saw("first 1.2", "second 1.2", "other 1.2")
	})
}

func (env *Env) TestSuspectsInStrictOrderKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("strict", Hang, runtime.WithStrictOrder(), runtime.WithConcurrency(4))
		f.Handle("other", Hang)
		f.MustStart()
		f.Publish(1, 2, 3)
		c := &Crowd{Fixture: env.Reopen(t, f.Killed())}
		c.Handle("strict", c.Work("strict"), runtime.WithStrictOrder(), runtime.WithConcurrency(4))
		c.Handle("other", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		c.MustStart()
		c.Idle()
		if got := strings.Join(c.Ran.All(), ", "); got != "strict 1.2, strict 2.1, strict 3.1" {
			t.Errorf("ran %s", got)
		}
	})
}

// A handler that was left behind cannot be stopped.
func (env *Env) TestASuspectDoesNotWaitForHandlersThatWereLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "one", "two")
		release := make(chan struct{})
		for _, name := range []string{"one", "two"} {
			c.Handle(name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				c.Ran.Add(fmt.Sprintf("%s %d.%d", name, e.Payload.Number, e.Attempt))
				if e.Attempt == 2 {
					<-release // whatever its context says
				}
				return nil
			}, runtime.WithTimeout(time.Second))
		}
		c.MustStart()
		c.Idle()
		c.Saw("one 1.2", "one 1.3", "two 1.2", "two 1.3")
		close(release)
		synctest.Wait()
	})
}

func (env *Env) TestAShutdownWhileASuspectWaitsEnds(t *testing.T) {
	for what, end := range map[string]func(c *Crowd, one, two *runtime.Subscription) error{
		"shutdown":    func(c *Crowd, _, _ *runtime.Subscription) error { return c.Shutdown(context.Background()) },
		"unsubscribe": func(c *Crowd, _, two *runtime.Subscription) error { return two.Unsubscribe(context.Background()) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := env.Crowded(t, "one", "two")
				one, two := c.Handle("one", c.Work("one")), c.Handle("two", c.Work("two"))
				third := c.Handle("three", c.Work("three"))
				_ = third
				c.MustStart()
				c.Publish(2)
				synctest.Wait() // one runs, another waits for it
				began := time.Now()
				Must(t, end(c, one, two))
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				if what == "unsubscribe" {
					time.Sleep(time.Minute)
					if got := c.Ran.All(); !slices.Contains(got, "one 1.2") || !slices.Contains(got, "one 2.1") || !slices.Contains(got, "three 2.1") {
						t.Errorf("ran %v: the others are stuck", got)
					}
					return
				}
				d := &Crowd{Fixture: env.Reopen(t, c.Path)}
				for _, name := range []string{"one", "two", "three"} {
					d.Handle(name, d.Work(name))
				}
				d.MustStart()
				d.Idle()
				if d.Most.Load() > 3 || len(d.Ran.All())+len(c.Ran.All()) != 5 {
					t.Errorf("ran %v and then %v", c.Ran.All(), d.Ran.All())
				}
			})
		})
	}
}

func (env *Env) TestADeadLetterThatHasEndedTheProcessRunsAloneWhenItIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		once := runtime.WithRetry(retry.MaxAttempts(1))
		f.Handle("one", Hang, once)
		f.MustStart()
		f.Publish(1)
		c := &Crowd{Fixture: env.Reopen(t, f.Killed())}
		work := func(name string) runtime.Handler[OrderPlaced] {
			return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				before := c.running.Load()
				c.Work(name)(ctx, e)
				if after := c.running.Load(); e.Payload.Number == 1 && before+after > 0 {
					t.Errorf("%d and %d others ran beside what has ended the process", before, after)
				}
				return nil
			}
		}
		c.Handle("one", work("one"), once)
		c.Handle("two", work("two"), runtime.WithConcurrency(4))
		c.MustStart()
		c.Idle()
		inspector, err := env.OpenFile(t.Context(), c.Path)
		Must(t, err)
		defer inspector.Close()
		counts, err := inspector.Retry(t.Context(), inspect.Selection{})
		if counts.Moved != 1 || err != nil {
			t.Fatalf("retried %+v, %v", counts, err)
		}
		c.Publish(2)
		c.Idle()
		if got := c.Ran.All(); !slices.Contains(got, "one 1.2") || len(got) != 3 {
			t.Errorf("ran %v", got)
		}
	})
}

// A handler that hangs over clean restarts ends in the dead letters.
func (env *Env) TestAHandlerThatHangsOverRestartsReachesItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Open(t).Path
		release := make(chan struct{})
		for life := range 4 {
			f := env.Reopen(t, path)
			f.Handle("stuck", func(context.Context, runtime.Event[OrderPlaced]) error {
				<-release
				return nil
			}, runtime.WithRetry(retry.MaxAttempts(3), retry.WithBackoff(retry.None)), runtime.WithTimeout(24*time.Hour))
			f.MustStart()
			if life == 0 {
				f.Publish(1)
			}
			time.Sleep(time.Minute)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			f.Shutdown(ctx)
			cancel()
		}
		close(release)
		synctest.Wait()
		l := env.Letter(t, path)
		if l.Reason != "max_attempts" || len(l.Attempts) != 3 {
			t.Errorf("it is dead with %s after %d attempts, want max_attempts after 3", l.Reason, len(l.Attempts))
		}
		for _, a := range l.Attempts {
			if a.Kind != "interrupted" {
				t.Errorf("an attempt is on record as %s, want interrupted", a.Kind)
			}
		}
	})
}

func (env *Env) TestSuspectsThatWaitLetOthersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "one", "two")
		handler := func(name string) runtime.Handler[OrderPlaced] {
			return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if err := c.Work(name)(ctx, e); err != nil || e.Payload.Number != 1 {
					return err
				}
				if err := c.askChild(ctx, 10); err != nil {
					return err
				}
				return c.Work(name+" again")(ctx, e)
			}
		}
		c.Handle("one", handler("one"))
		c.Handle("two", handler("two"))
		c.MustStart()
		c.Publish(2)
		c.Idle()
		got := c.Ran.All()
		slices.Sort(got)
		if want := "[one 1.2 one 10.1 one 10.1 one 2.1 one again 1.2 two 1.2 two 10.1 two 10.1 two 2.1 two again 1.2]"; fmt.Sprint(got) != want {
			t.Errorf("ran\n%v\nwant\n%v", got, want)
		}
	})
}

// Its turn to run alone has gone to others by then.
func (env *Env) TestASuspectThatComesBackByForceLeavesTheBusToTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := env.Crowded(t, "one", "two", "three")
		c.Handle("one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				defer cancel()
				if _, err := c.child(ctx, 10).Wait(short); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the wait ends with %v", err)
				}
				time.Sleep(5 * time.Second) // longer than two
			}
			return c.Work("one")(ctx, e)
		})
		c.Handle("two", c.Work("two"))
		c.Handle("three", c.Work("three"))
		c.MustStart()
		time.Sleep(time.Minute)
		got := c.Ran.All()
		slices.Sort(got)
		if want := "[one 1.2 one 10.1 three 1.2 three 10.1 two 1.2 two 10.1]"; fmt.Sprint(got) != want {
			t.Errorf("ran\n%v\nwant\n%v", got, want)
		}
	})
}
