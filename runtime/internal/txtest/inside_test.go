package txtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/transact"
)

// publish publishes one event.
func (f *fixture) publish() error {
	_, err := runtime.Publish(context.Background(), f.Bus, bookedType, booking{1, 1})
	return err
}

// transact runs a function in a transaction.
func (f *fixture) transact(run func() error) error {
	return runtime.Transact(context.Background(), f.Bus, func(runtime.Tx) error { return run() })
}

// deep calls a function with so many calls on the stack.
func deep(calls int, f func() error) error {
	if calls == 0 {
		return f()
	}
	return deep(calls-1, f)
}

// Others that wait for the function meanwhile are not taken for it.
func TestACallThatWouldWaitForItsOwnTransactionFailsWithinTheLimit(t *testing.T) {
	ctx := context.Background()
	for what, call := range map[string]func(f *fixture) error{
		"Publish":              (*fixture).publish,
		"far down":             func(f *fixture) error { return deep(500, f.publish) },
		"with a context":       func(f *fixture) error { return f.withContext() },
		"PublishBatch":         func(f *fixture) error { return f.batch() },
		"Transact":             func(f *fixture) error { return f.transact(func() error { return nil }) },
		"Subscribe":            func(f *fixture) error { return f.subscribe("another") },
		"PauseSubscription":    func(f *fixture) error { return f.pause() },
		"a statement of DB":    func(f *fixture) error { _, err := runtime.DB(f.Bus).Exec("UPDATE account SET balance = 0"); return err },
		"a transaction of DB":  func(f *fixture) error { _, err := runtime.DB(f.Bus).BeginTx(ctx, nil); return err },
		"two calls, the first": func(f *fixture) error { defer f.publish(); return f.publish() },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := open(t, 1)
				f.must(f.subscribe("known"))
				var others sync.WaitGroup
				began := time.Now()
				err := f.transact(func() error {
					for range 3 {
						others.Go(func() { f.must(f.publish()) })
						others.Go(func() { f.must(f.transact(func() error { return nil })) })
					}
					synctest.Wait()
					return call(f)
				})
				if took := time.Since(began); !errors.Is(err, transact.ErrInTx) || took > 50*time.Millisecond {
					t.Errorf("after %v it fails with %v", took, err)
				}
				others.Wait()
				f.wantNumber(3, "SELECT count(*) FROM events")
				f.wantNumber(100, "SELECT balance FROM account")
			})
		})
	}
}

func (f *fixture) withContext() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	_, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 1})
	return err
}

func (f *fixture) batch() error {
	_, err := runtime.PublishBatch(context.Background(), f.Bus, bookedType, []booking{{1, 1}, {1, 1}})
	return err
}

func (f *fixture) subscribe(name string) error {
	_, err := runtime.Subscribe(f.Bus, bookedType, name, func(context.Context, runtime.Event[booking]) error { return nil })
	return err
}

func (f *fixture) pause() error {
	return f.Bus.PauseSubscription(context.Background(), "known", "")
}

// A call that waits comes at any time of the function, also in the last piece of its limit.
func TestACallThatComesLateInAFunctionFailsAndIsNotStored(t *testing.T) {
	for late := time.Duration(0); late < 130*time.Millisecond; late += 7 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			f := open(t, 1)
			var inner error
			outer := f.transact(func() error {
				time.Sleep(late)
				inner = f.publish()
				return inner
			})
			switch over := (*event.TxTimeoutError)(nil); {
			case late < 100*time.Millisecond && inner != transact.ErrInTx:
				t.Errorf("after %v publishing gives %v", late, inner)
			case late < 90*time.Millisecond && outer != transact.ErrInTx, late > 90*time.Millisecond && !errors.As(outer, &over):
				t.Errorf("after %v the transaction gives %v", late, outer)
			case late > 100*time.Millisecond && inner != nil:
				t.Errorf("after %v, when others may write, publishing gives %v", late, inner)
			}
			if inner == nil {
				f.wantNumber(1, "SELECT count(*) FROM events")
			} else {
				f.wantNumber(0, "SELECT count(*) FROM events")
			}
		})
	}
}

// Whichever of the functions was there first: one of another bus, of the same bus and long over, or neither.
func TestAFunctionMayWaitForATransactionThatIsNotItsOwn(t *testing.T) {
	sleep := func(d time.Duration) func() error {
		return func() error { time.Sleep(d); return nil }
	}
	for first := range 2 {
		t.Run(fmt.Sprint("of another bus ", first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := open(t, 1), open(t, 1)
				var both sync.WaitGroup
				both.Go(func() {
					time.Sleep(time.Duration(first) * time.Millisecond)
					a.must(a.transact(b.publish))
				})
				both.Go(func() {
					time.Sleep(time.Duration(1-first) * time.Millisecond)
					b.must(b.transact(sleep(60 * time.Millisecond)))
				})
				both.Wait()
				b.wantNumber(1, "SELECT count(*) FROM events")
			})
		})
	}
	t.Run("in the function of another bus in its own", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, b := open(t, 1), open(t, 1)
			inner := func() error {
				if err := a.publish(); err != transact.ErrInTx {
					t.Errorf("publishing to the first gives %v", err)
				}
				if err := b.publish(); err != transact.ErrInTx {
					t.Errorf("publishing to the second gives %v", err)
				}
				return nil
			}
			a.must(a.transact(func() error { return b.transact(inner) }))
		})
	})
	t.Run("when its own time is up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := open(t, 1)
			var late sync.WaitGroup
			hung := make(chan struct{})
			for range 2 { // the first is alone, and the second is not
				late.Go(func() {
					var over *event.TxTimeoutError
					if err := f.transact(func() error {
						<-hung
						return f.publish()
					}); !errors.As(err, &over) {
						t.Errorf("a function that has hung gives %v", err)
					}
				})
				time.Sleep(time.Second)
			}
			f.must(f.transact(func() error {
				close(hung)
				time.Sleep(60 * time.Millisecond)
				return nil
			}))
			late.Wait()
			f.wantNumber(2, "SELECT count(*) FROM events")
		})
	})
	t.Run("beside one that hangs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := open(t, 1)
			hung := make(chan struct{})
			var late sync.WaitGroup
			late.Go(func() { f.transact(func() error { <-hung; return nil }) })
			time.Sleep(time.Second)
			if err := f.transact(f.publish); err != transact.ErrInTx {
				t.Errorf("publishing in a function gives %v", err)
			}
			close(hung)
			late.Wait()
		})
	})
}
