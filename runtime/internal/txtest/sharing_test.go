package txtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/transact"
)

// together runs functions in one transaction, in this order, and returns their errors.
func (f *fixture) together(functions ...func(tx runtime.Tx) error) []error {
	errs := make([]error, len(functions))
	f.must(runtime.Transact(f.Context(), f.Bus, func(runtime.Tx) error {
		for i, function := range functions {
			go func() { errs[i] = runtime.Transact(context.Background(), f.Bus, function) }()
			synctest.Wait() // until it is queued
		}
		return nil
	}))
	synctest.Wait()
	return errs
}

func TestAFunctionThatFailsBesideOthersIsTakenBackAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3)
		ctx := t.Context()
		wrong := errors.New("no")
		runs := 0
		errs := f.together(
			func(tx runtime.Tx) error { runs++; return f.book(ctx, tx, 1, 1) },
			func(tx runtime.Tx) error { return errors.Join(f.book(ctx, tx, 2, 1), wrong) },
			func(tx runtime.Tx) error { return f.book(ctx, tx, 3, 1) },
		)
		if errs[0] != nil || !errors.Is(errs[1], wrong) || errs[2] != nil || runs != 1 {
			t.Errorf("the errors are %v, and the first function ran %d times", errs, runs)
		}
		f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
		f.wantNumber(100, "SELECT balance FROM account WHERE id = 2")
		f.wantNumber(2, "SELECT count(*) FROM entry")
	})
}

func TestAFunctionRunsAgainWhenAnotherRollsBackAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 2)
		ctx := t.Context()
		runs := 0
		var first, second *runtime.Receipt
		errs := f.together(
			func(tx runtime.Tx) (err error) {
				runs++
				receipt, err := runtime.Publish(ctx, tx, bookedType, booking{1, 1})
				if runs == 1 {
					first = receipt
				} else {
					second = receipt
				}
				return err
			},
			func(tx runtime.Tx) error {
				_, err := tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO account (id, balance) VALUES (1, 1)")
				return err
			},
			func(tx runtime.Tx) error { return f.book(ctx, tx, 2, 1) },
		)
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Errorf("the errors are %v", errs)
		}
		if runs != 2 {
			t.Errorf("the function ran %d times, want 2", runs)
		}
		if second == nil {
			t.Fatal("there is no second run")
		}
		if _, err := first.Wait(ctx); err != transact.ErrTxUndone {
			t.Errorf("the event of its first run: %v", err)
		}
		if _, err := second.Wait(ctx); err != nil {
			t.Errorf("the event of its second run: %v", err)
		}
		f.wantNumber(2, "SELECT count(*) FROM events WHERE type = 'money.booked'")
		for _, s := range f.Stats().Types {
			if s.Published != 2 {
				t.Errorf("%d events are counted as published, want 2", s.Published)
			}
		}
	})
}

func TestATransactionThatHasTakenLongLeavesTheRestToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3)
		ctx := t.Context()
		var returned atomic.Int32
		slow := func(account int, before int32) func(tx runtime.Tx) error {
			return func(tx runtime.Tx) error {
				time.Sleep(40 * time.Millisecond)
				if got := returned.Load(); got != before {
					t.Errorf("account %d: %d transactions are stored, want %d", account, got, before)
				}
				return f.book(ctx, tx, account, 1)
			}
		}
		var wg sync.WaitGroup
		f.must(runtime.Transact(ctx, f.Bus, func(runtime.Tx) error {
			for i, before := range []int32{0, 0, 2} {
				wg.Add(1)
				go func() {
					defer wg.Done()
					if err := runtime.Transact(ctx, f.Bus, slow(i+1, before)); err != nil {
						t.Errorf("account %d: %v", i+1, err)
					}
					returned.Add(1)
				}()
				synctest.Wait()
			}
			return nil
		}))
		wg.Wait()
		f.wantNumber(303, "SELECT sum(balance) FROM account")
		f.wantNumber(3, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}

func TestATransactionInAHandlerIsOneOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		var children conformance.Journal[int]
		failed := errors.New("no")
		_, err := runtime.Subscribe(f.Bus, bookedType, "book", func(ctx context.Context, e runtime.Event[booking]) error {
			if e.Payload.Amount != 1 {
				children.Add(e.Hops)
				return nil
			}
			if err := runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 5) }); err != nil {
				return err
			}
			return runtime.Permanent(failed)
		})
		f.must(err)
		f.must(f.Start(t.Context()))
		receipt, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{1, 1})
		f.must(err)
		outcome, err := receipt.Wait(t.Context())
		f.must(err)
		if outcome.Err() == nil {
			t.Error("the handler has not failed")
		}
		f.must(f.WaitIdle(t.Context()))
		f.wantNumber(105, "SELECT balance FROM account")
		if got := children.All(); len(got) != 1 || got[0] != 1 {
			t.Errorf("the hops of the children are %v, want one child with 1", got)
		}
	})
}

func TestATransactionIsNotBegunAfterItsContextHasEndedOrTheBusHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		never := func(runtime.Tx) error {
			t.Error("the function runs")
			return nil
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := runtime.Transact(ended, f.Bus, never); err != context.Canceled {
			t.Errorf("with a context that has ended: %v", err)
		}
		waiting, cancel := context.WithCancel(t.Context())
		var err error
		f.must(runtime.Transact(t.Context(), f.Bus, func(runtime.Tx) error {
			go func() { err = runtime.Transact(waiting, f.Bus, never) }()
			synctest.Wait()
			cancel()
			synctest.Wait()
			return nil
		}))
		if err != context.Canceled {
			t.Errorf("with a context that ends in the queue: %v", err)
		}
		if err := runtime.Transact(t.Context(), f.Bus, nil); err == nil {
			t.Error("without a function there is no error")
		}
		f.must(f.Shutdown(t.Context()))
		if err := runtime.Transact(t.Context(), f.Bus, never); err != runtime.ErrShutdown {
			t.Errorf("after Shutdown: %v", err)
		}
	})
}

func TestPublishingInATransactionDoesNotWaitForRoom(t *testing.T) {
	f := open(t, 1, runtime.WithMaxPending(1, runtime.Block))
	_, err := runtime.Subscribe(f.Bus, bookedType, "never", func(context.Context, runtime.Event[booking]) error { return nil })
	f.must(err)
	_, err = runtime.Publish(t.Context(), f.Bus, bookedType, booking{})
	f.must(err)
	err = runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error { return f.book(t.Context(), tx, 1, 5) })
	var pending *runtime.PendingError
	if !errors.As(err, &pending) {
		t.Errorf("the error is %v", err)
	}
	f.wantNumber(100, "SELECT balance FROM account")
}

func TestADedupeKeyInATransactionIsLookedUpInTheTransaction(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
		first, err := runtime.Publish(ctx, tx, bookedType, booking{1, 1}, runtime.WithDedupeKey("k"))
		f.must(err)
		second, err := runtime.Publish(ctx, tx, bookedType, booking{1, 1}, runtime.WithDedupeKey("k"))
		if err != nil || !second.Duplicate || second.ID != first.ID {
			t.Errorf("the second is %+v, %v", second, err)
		}
		var conflict *event.ConflictError
		if _, err := runtime.Publish(ctx, tx, bookedType, booking{1, 2}, runtime.WithDedupeKey("k")); !errors.As(err, &conflict) {
			t.Errorf("another payload gives %v", err)
		}
		return nil // a conflict does not end the transaction
	}))
	f.wantNumber(1, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}
