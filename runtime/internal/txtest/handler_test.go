package txtest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/transact"
)

// handled tells how many deliveries are counted as handled.
func (f *fixture) handled() (n uint64) {
	for _, s := range f.Stats().Types {
		n += s.Handled
	}
	return n
}

// settled publishes one booking, and waits until it is handled.
func (f *fixture) settled(amount int) runtime.Outcome {
	f.Helper()
	receipt, err := runtime.Publish(f.Context(), f.Bus, bookedType, booking{1, amount})
	f.must(err)
	outcome, err := receipt.Wait(f.Context())
	f.must(err)
	return outcome
}

// Both kinds of handlers whose rows are stored with their success.
var kinds = map[string]func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error{
	"SubscribeTx": func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error {
		_, err := runtime.SubscribeTx(f.Bus, bookedType, name, handler, opts...)
		return err
	},
	"Atomically": func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error {
		_, err := runtime.Subscribe(f.Bus, bookedType, name, func(ctx context.Context, e runtime.Event[booking]) error {
			return runtime.Atomically(ctx, func(tx runtime.Tx) error { return handler(ctx, tx, e) })
		}, opts...)
		return err
	},
}

func forBoth(t *testing.T, test func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error)) {
	for name, subscribe := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, subscribe) })
		})
	}
}

var fast = runtime.WithRetry(retry.MaxAttempts(5), retry.BaseDelay(time.Second))

func TestTheLogNamesTheFunctionOfAHandlerThatHoldsUpTheWriters(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1, runtime.WithTxLimit(time.Second))
		f.must(subscribe(f, "slow", func(_ context.Context, _ runtime.Tx, e runtime.Event[booking]) error {
			if e.Attempt == 1 {
				time.Sleep(2 * time.Second)
			}
			return nil
		}, fast))
		f.must(f.Start(t.Context()))
		f.settled(1)
		named := 0
		for _, line := range f.log.Level(t, "WARN") {
			if caller, ok := line["caller"].(string); ok {
				if named++; !strings.Contains(caller, "handler_test.go:") {
					t.Errorf("the log names %s", caller)
				}
			}
		}
		if named != 1 {
			t.Errorf("the log names %d functions, want one", named)
		}
	})
}

func TestRowsOfAHandlerAreStoredWithItsSuccess(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1)
		attempts := 0
		f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			attempts++
			if e.Payload.Amount == 0 { // a child
				return nil
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", e.Payload.Amount); err != nil {
				return err
			}
			if _, err := runtime.Publish(ctx, tx, bookedType, booking{1, 0}); err != nil {
				return err
			}
			if e.Attempt < 3 {
				return errors.New("not yet")
			}
			return nil
		}, fast))
		f.must(f.Start(t.Context()))
		f.must(f.settled(7).Err())
		f.must(f.WaitIdle(t.Context()))
		f.wantNumber(1, "SELECT count(*) FROM entry")
		f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
		if got := f.handled(); attempts != 4 || got != 2 {
			t.Errorf("%d attempts and %d handled events are counted, want 4 and 2", attempts, got)
		}
	})
}

func TestAHandlerThatPanicsOrTakesTooLongStoresNothing(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1)
		f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			if err := f.book(ctx, tx, 1, 0); err != nil {
				return err
			}
			switch e.Payload.Amount {
			case 1:
				panic("no")
			case 2:
				time.Sleep(time.Second)
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(1))))
		f.must(f.Start(t.Context()))
		for amount := range 2 {
			if outcome := f.settled(amount + 1); outcome.Err() == nil {
				t.Errorf("amount %d: it is handled", amount+1)
			}
		}
		f.wantNumber(0, "SELECT count(*) FROM entry")
		f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}

func TestAHandlerRunsAgainWithinItsAttemptWhenAnotherRollsBackAll(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1)
		var attempts, calls, refused atomic.Int32
		f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			attempts.Add(1)
			if e.Attempt != 1 {
				t.Errorf("it is attempt %d", e.Attempt)
			}
			if e.Payload.Amount == 0 {
				return nil
			}
			calls.Add(1)
			_, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 0}) // staged
			if errors.Is(err, runtime.ErrAttemptOver) {                      // which it is for what runs after the handler
				refused.Add(1)
			} else if err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", e.Payload.Amount)
			return err
		}, fast))
		f.must(f.Start(t.Context()))
		receipt, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{1, 5})
		f.must(err)
		spoilt := make(chan error, 1)
		f.must(runtime.Transact(t.Context(), f.Bus, func(runtime.Tx) error {
			synctest.Wait() // until the handler is queued
			go func() {
				spoilt <- runtime.Transact(context.Background(), f.Bus, func(tx runtime.Tx) error {
					_, err := tx.ExecContext(context.Background(), "INSERT OR ROLLBACK INTO account (id, balance) VALUES (1, 1)")
					return err
				})
			}()
			synctest.Wait()
			return nil
		}))
		outcome, err := receipt.Wait(t.Context())
		f.must(err)
		f.must(outcome.Err())
		f.must(f.WaitIdle(t.Context()))
		if <-spoilt == nil {
			t.Error("nothing was rolled back")
		}
		f.wantNumber(1, "SELECT count(*) FROM entry")
		events := 2
		if n := refused.Load(); n > 0 {
			events = 1
			if n != calls.Load() {
				t.Errorf("it could not publish in %d of %d calls", n, calls.Load())
			}
		}
		f.wantNumber(events, "SELECT count(*) FROM busgen_log")
		if len(outcome.Deliveries) != 1 || outcome.Deliveries[0].Failures != 0 {
			t.Errorf("the outcome is %+v", outcome)
		}
	})
}

func TestHandlersWithoutATransactionAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		never := func(runtime.Tx) error {
			t.Error("the function runs")
			return nil
		}
		atomically := make(chan error, 10)
		plain := func(ctx context.Context, _ runtime.Event[booking]) error {
			atomically <- runtime.Atomically(ctx, never)
			return nil
		}
		_, err := runtime.SubscribeBatch(f.Bus, bookedType, "batch", func(ctx context.Context, _ []runtime.Event[booking]) error {
			atomically <- runtime.Atomically(ctx, never)
			return nil
		})
		f.must(err)
		_, err = runtime.Subscribe(f.Bus, bookedType, "member", plain, runtime.InGroup("group"))
		f.must(err)
		_, err = runtime.Subscribe(f.Bus, bookedType, "fleeting", plain, runtime.Ephemeral())
		f.must(err)
		_, err = runtime.SubscribeAnswer(f.Bus, bookedType, "answer", func(ctx context.Context, _ runtime.Event[booking]) (int, error) {
			atomically <- runtime.Atomically(ctx, never)
			return 1, nil
		})
		f.must(err)
		f.must(f.Start(t.Context()))
		f.must(f.settled(1).Err())
		synctest.Wait()
		for range 4 {
			if err := <-atomically; err != transact.ErrNotAtomic {
				t.Errorf("Atomically gives %v", err)
			}
		}
		if err := runtime.Atomically(t.Context(), never); err != transact.ErrNotInHandler {
			t.Errorf("Atomically outside gives %v", err)
		}
		within := func(context.Context, runtime.Tx, runtime.Event[booking]) error { return nil }
		for _, opt := range []runtime.SubscribeOption{runtime.InGroup("other"), runtime.Ephemeral()} {
			_, err := runtime.SubscribeTx(f.Bus, bookedType, "within", within, opt)
			var refused *runtime.SubscribeError
			if !errors.As(err, &refused) || !strings.Contains(refused.Problem, "transaction") {
				t.Errorf("SubscribeTx gives %v", err)
			}
		}
		if _, err := runtime.SubscribeTx(f.Bus, bookedType, "within", runtime.TxHandler[booking](nil)); err == nil {
			t.Error("SubscribeTx takes nil")
		}
	})
}

// While the transaction of a handler waits for its turn, the time of the handler stands still.
func TestATimeoutDoesNotCountWhatATransactionWaits(t *testing.T) {
	for name, hold := range map[string]func(f *fixture, d time.Duration){
		"another function": func(f *fixture, d time.Duration) {
			f.must(runtime.Transact(f.Context(), f.Bus, func(runtime.Tx) error {
				time.Sleep(d)
				return nil
			}))
		},
		"another process": func(f *fixture, d time.Duration) {
			other := f.connect()
			f.must(other.Exec("BEGIN IMMEDIATE"))
			time.Sleep(d)
			f.must(other.Exec("ROLLBACK"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
				f := open(t, 1, runtime.WithTxLimit(10*time.Second))
				calls := 0
				f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
					calls++
					if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) != time.Second {
						t.Errorf("the handler has %v", time.Until(deadline))
					}
					if e.Payload.Amount == 2 {
						<-ctx.Done()
						return context.Cause(ctx)
					}
					time.Sleep(900 * time.Millisecond)
					_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", e.Payload.Amount)
					return err
				}, runtime.WithTimeout(time.Second), runtime.WithSlowAfter(950*time.Millisecond), runtime.WithRetry(retry.MaxAttempts(1))))
				f.must(f.Start(t.Context()))
				for amount := 1; amount <= 2; amount++ {
					receipt, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{1, amount}, runtime.WithDelay(time.Second))
					f.must(err)
					time.Sleep(500 * time.Millisecond)
					hold(f, 3500*time.Millisecond)
					outcome, err := receipt.Wait(t.Context())
					f.must(err)
					if ok := outcome.Err() == nil; ok != (amount == 1) {
						t.Errorf("event %d: %v", amount, outcome.Err())
					}
				}
				f.wantNumber(1, "SELECT count(*) FROM entry")
				if calls != 2 {
					t.Errorf("there are %d calls, want 2", calls)
				}
				slow := 0
				for _, line := range f.log.Level(t, "WARN") {
					if line["msg"] == "a handler is slow" {
						slow++
					}
				}
				if slow != 1 {
					t.Errorf("%d handlers are slow, want 1", slow)
				}
			})
		})
	}
}
