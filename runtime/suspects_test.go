package runtime_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

// crowd is a bus whose process has died while the handlers of several subscriptions
// ran, and what runs afterwards.
type crowd struct {
	*fixture
	running atomic.Int32
	most    atomic.Int32 // how many ran at once
	ran     journal[string]
}

// crowded returns a bus that was killed while each subscription handled event 1.
func crowded(t *testing.T, names ...string) *crowd {
	f := open(t)
	for _, name := range names {
		f.handle(name, hang)
	}
	f.start()
	f.publish(1)
	return &crowd{fixture: reopen(t, f.killed())}
}

// work is a handler that takes a second.
func (c *crowd) work(name string) runtime.Handler[orderPlaced] {
	return func(ctx context.Context, e runtime.Event[orderPlaced]) error {
		c.most.Store(max(c.most.Load(), c.running.Add(1)))
		defer c.running.Add(-1)
		c.ran.add(fmt.Sprintf("%s %d.%d", name, e.Payload.Number, e.Attempt))
		time.Sleep(time.Second)
		return nil
	}
}

// saw checks what has run, in any order, and that nothing ran beside anything.
func (c *crowd) saw(want ...string) {
	c.t.Helper()
	got := c.ran.all()
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		c.t.Errorf("ran %v, want %v", got, want)
	}
	if c.most.Load() > 1 {
		c.t.Errorf("%d handlers ran at once", c.most.Load())
	}
}

func TestSuspectsOfSeveralSubscriptionsRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"one", "two", "three", "four"}
		c := crowded(t, names...)
		for _, name := range names {
			c.handle(name, c.work(name))
		}
		c.start()
		c.idle()
		c.saw("one 1.2", "two 1.2", "three 1.2", "four 1.2")
		// Then all run beside each other again.
		c.publish(2)
		c.idle()
		if c.most.Load() != 4 {
			t.Errorf("afterwards %d handlers run at once, want 4", c.most.Load())
		}
	})
}

func TestASuspectOfAPausedSubscriptionHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(t, "one", "two")
		must(t, c.PauseSubscription(t.Context(), "one"))
		c.handle("one", c.work("one"))
		c.handle("two", c.work("two"))
		c.start()
		c.publish(2)
		time.Sleep(time.Minute)
		c.saw("two 1.2", "two 2.1")
		must(t, c.ResumeSubscription(t.Context(), "one"))
		c.idle()
		c.saw("two 1.2", "two 2.1", "one 1.2", "one 2.1")
	})
}

func TestASuspectOfAPausedTypeHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(t, "one", "two")
		must(t, c.PauseTypes(t.Context(), "order.placed"))
		c.handle("one", c.work("one"))
		c.handle("two", c.work("two"))
		var paid atomic.Int32
		_, err := runtime.Subscribe(c.Bus, paidType, "paid", func(context.Context, runtime.Event[orderPaid]) error { paid.Add(1); return nil })
		must(t, err)
		c.start()
		_, err = runtime.Publish(t.Context(), c.Bus, paidType, orderPaid{})
		must(t, err)
		time.Sleep(time.Minute)
		c.saw()
		if n := paid.Load(); n != 1 {
			t.Errorf("%d events of another type were handled, want 1", n)
		}
		must(t, c.ResumeTypes(t.Context(), "order.placed"))
		c.idle()
		c.saw("one 1.2", "two 1.2")
	})
}

func TestASuspectBehindAnOpenBreakerHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subscribe := func(f *fixture, name string, handler runtime.Handler[orderPlaced]) {
			_, err := runtime.Subscribe(f.Bus, fragileType, name, handler, runtime.WithConcurrency(3), runtime.FromBeginning(),
				runtime.WithBreaker(breaker.MinSamples(1), breaker.OpenFor(time.Minute)))
			must(t, err)
		}
		f := openFragile(t)
		subscribe(f, "fragile", hang)
		subscribe(f, "two", hang)
		f.start()
		f.fragile(1, 3)
		c := &crowd{fixture: reopenWith(t, f.killed(), fragile)}
		broken := true
		subscribe(c.fixture, "fragile", func(ctx context.Context, e runtime.Event[orderPlaced]) error {
			c.work("fragile")(ctx, e)
			if broken {
				return errBoom
			}
			return nil
		})
		subscribe(c.fixture, "two", c.work("two"))
		c.start()
		time.Sleep(20 * time.Second) // the first failure has opened the breaker
		if got := c.ran.all(); len(got) != 4 || !slices.Contains(got, "two 1.2") || !slices.Contains(got, "two 2.2") || !slices.Contains(got, "two 3.2") {
			t.Errorf("behind the breaker %v ran, want one fragile and all of the other subscription", got)
		}
		c.saw(c.ran.all()...)
		broken = false
		c.idle()
		if got := c.ran.all(); len(got) != 7 {
			t.Errorf("in the end %v ran", got)
		}
	})
}

func TestSuspectsThatNobodyHandlesHoldNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(t, "gone", "two", "three")
		c.handle("two", c.work("two"))
		c.handle("three", c.work("three"))
		c.start()
		c.idle()
		c.saw("two 1.2", "three 1.2")
		c.publish(2)
		c.idle()
		if c.most.Load() != 2 {
			t.Errorf("afterwards %d handlers run at once, want 2", c.most.Load())
		}
	})
}

func TestASuspectThatIsDueLaterHoldsNobodyUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(t, "one", "two")
		c.start() // which finds out what ran
		c.stop()
		must(t, execFile(c.path, "UPDATE deliveries SET due_at = due_at + 3600000000, wait = 3600000000"))

		d := &crowd{fixture: reopen(t, c.path)}
		d.handle("one", d.work("one"))
		d.handle("two", d.work("two"))
		d.start()
		d.publish(2)
		time.Sleep(time.Minute)
		if got := d.ran.all(); len(got) != 2 || d.most.Load() != 2 {
			t.Errorf("before they are due %v ran, %d at once; want event 2 in both", got, d.most.Load())
		}
	})
}

func TestASuspectInAGroupRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("first", func(context.Context, runtime.Event[orderPlaced]) error { return nil }, runtime.InGroup("team"))
		f.handle("second", hang, runtime.InGroup("team"))
		f.handle("other", hang)
		f.start()
		f.publish(1)
		c := &crowd{fixture: reopen(t, f.killed())}
		c.handle("first", c.work("first"), runtime.InGroup("team"))
		c.handle("second", c.work("second"), runtime.InGroup("team"))
		c.handle("other", c.work("other"))
		c.start()
		c.idle()
		c.saw("first 1.2", "second 1.2", "other 1.2")
	})
}

func TestSuspectsInStrictOrderKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("strict", hang, runtime.WithStrictOrder(), runtime.WithConcurrency(4))
		f.handle("other", hang)
		f.start()
		f.publish(1, 2, 3)
		c := &crowd{fixture: reopen(t, f.killed())}
		c.handle("strict", c.work("strict"), runtime.WithStrictOrder(), runtime.WithConcurrency(4))
		c.handle("other", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		c.start()
		c.idle()
		if got := strings.Join(c.ran.all(), ", "); got != "strict 1.2, strict 2.1, strict 3.1" {
			t.Errorf("ran %s", got)
		}
	})
}

// Nobody can stop a handler that was left behind.
func TestASuspectDoesNotWaitForHandlersThatWereLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := crowded(t, "one", "two")
		release := make(chan struct{})
		for _, name := range []string{"one", "two"} {
			c.handle(name, func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				c.ran.add(fmt.Sprintf("%s %d.%d", name, e.Payload.Number, e.Attempt))
				if e.Attempt == 2 {
					<-release // whatever its context says
				}
				return nil
			}, runtime.WithTimeout(time.Second))
		}
		c.start()
		c.idle()
		c.saw("one 1.2", "one 1.3", "two 1.2", "two 1.3")
		close(release)
		synctest.Wait()
	})
}

func TestAShutdownWhileASuspectWaitsEnds(t *testing.T) {
	for what, end := range map[string]func(c *crowd, one, two *runtime.Subscription) error{
		"shutdown":    func(c *crowd, _, _ *runtime.Subscription) error { return c.Shutdown(context.Background()) },
		"unsubscribe": func(c *crowd, _, two *runtime.Subscription) error { return two.Unsubscribe(context.Background()) },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := crowded(t, "one", "two")
				one, two := c.handle("one", c.work("one")), c.handle("two", c.work("two"))
				third := c.handle("three", c.work("three"))
				_ = third
				c.start()
				c.publish(2)
				synctest.Wait() // one runs, another waits for it
				began := time.Now()
				must(t, end(c, one, two))
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("it took %v", took)
				}
				if what == "unsubscribe" {
					time.Sleep(time.Minute)
					if got := c.ran.all(); !slices.Contains(got, "one 1.2") || !slices.Contains(got, "one 2.1") || !slices.Contains(got, "three 2.1") {
						t.Errorf("ran %v: the others are stuck", got)
					}
					return
				}
				d := &crowd{fixture: reopen(t, c.path)}
				for _, name := range []string{"one", "two", "three"} {
					d.handle(name, d.work(name))
				}
				d.start()
				d.idle()
				if d.most.Load() > 3 || len(d.ran.all())+len(c.ran.all()) != 5 {
					t.Errorf("ran %v and then %v", c.ran.all(), d.ran.all())
				}
			})
		})
	}
}

func TestADeadLetterThatHasEndedTheProcessRunsAloneWhenItIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		once := runtime.WithRetry(retry.MaxAttempts(1))
		f.handle("one", hang, once)
		f.start()
		f.publish(1)
		c := &crowd{fixture: reopen(t, f.killed())}
		work := func(name string) runtime.Handler[orderPlaced] {
			return func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				before := c.running.Load()
				c.work(name)(ctx, e)
				if after := c.running.Load(); e.Payload.Number == 1 && before+after > 0 {
					t.Errorf("%d and %d others ran beside what has ended the process", before, after)
				}
				return nil
			}
		}
		c.handle("one", work("one"), once)
		c.handle("two", work("two"), runtime.WithConcurrency(4))
		c.start()
		c.idle()
		inspector, err := dlq.Open(c.path)
		must(t, err)
		defer inspector.Close()
		counts, err := inspector.Retry(t.Context(), dlq.Selection{})
		if counts.Moved != 1 || err != nil {
			t.Fatalf("retried %+v, %v", counts, err)
		}
		c.publish(2)
		c.idle()
		if got := c.ran.all(); !slices.Contains(got, "one 1.2") || len(got) != 3 {
			t.Errorf("ran %v", got)
		}
	})
}

// Without claims, as after a power cut, nobody is counted.
func TestWithoutClaimsACrashCountsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("one", hang, runtime.WithRetry(retry.MaxAttempts(1)))
		f.start()
		f.publish(1)
		time.Sleep(time.Second) // the row says that it runs
		path := f.killed()
		must(t, os.Remove(path+"-claims"))
		c := &crowd{fixture: reopen(t, path)}
		c.handle("one", c.work("one"), runtime.WithRetry(retry.MaxAttempts(1)))
		c.start()
		c.idle()
		c.saw("one 1.2")
	})
}

// Deliveries that no handler has begun leave a shutdown without a row.
func TestAShutdownWritesRowsOfWhatHasBegunOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("one", hang)
		f.start()
		f.publish(numbers(1, 100)...)
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.Shutdown(ctx)
		if got := queryFile(t, f.path, "SELECT count(*) || ' ' || max(uncounted) || ' ' || max(failures) FROM deliveries"); got != "1 1 0" {
			t.Errorf("rows, executions and failures are %s, want one row that was begun once", got)
		}
		again := reopen(t, f.path)
		var attempts journal[int]
		again.handle("one", func(_ context.Context, e runtime.Event[orderPlaced]) error {
			attempts.add(e.Attempt*1000 + e.Payload.Number)
			return nil
		})
		again.start()
		again.idle()
		if got := attempts.all(); len(got) != 100 || got[0] != 2001 || got[1] != 1002 || got[99] != 1100 {
			t.Errorf("afterwards the attempts are %v", got)
		}
	})
}

// A handler that hangs over clean restarts ends in the dead letters.
func TestAHandlerThatHangsOverRestartsReachesItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := open(t).path
		release := make(chan struct{})
		for life := range 4 {
			f := reopen(t, path)
			f.handle("stuck", func(context.Context, runtime.Event[orderPlaced]) error {
				<-release
				return nil
			}, runtime.WithRetry(retry.MaxAttempts(3), retry.WithBackoff(retry.None)), runtime.WithTimeout(24*time.Hour))
			f.start()
			if life == 0 {
				f.publish(1)
			}
			time.Sleep(time.Minute)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			f.Shutdown(ctx)
			cancel()
		}
		close(release)
		synctest.Wait()
		l := letter(t, path)
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
