package txtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// What happens between the function of a transaction and its commit.

// The handler is done in time, and somebody else's function in the same transaction is slow.
func TestADeadlineThatPassesDuringTheCommitEndsNoAttempt(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1)
		ctx := t.Context()
		var calls atomic.Int32
		f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			calls.Add(1)
			_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, 1)")
			return err
		}, fast, runtime.WithTimeout(50*time.Millisecond)))
		f.must(f.Start(ctx))
		receipt, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 1}, runtime.WithDelay(time.Second))
		f.must(err)
		time.Sleep(950 * time.Millisecond)
		slow := make(chan error, 1)
		f.must(runtime.Transact(ctx, f.Bus, func(runtime.Tx) error {
			time.Sleep(80 * time.Millisecond)
			synctest.Wait() // until the handler is queued
			go func() {
				slow <- runtime.Transact(context.Background(), f.Bus, func(runtime.Tx) error {
					time.Sleep(90 * time.Millisecond)
					return nil
				})
			}()
			synctest.Wait()
			return nil
		}))
		began := time.Now()
		outcome, err := receipt.Wait(ctx)
		f.must(err)
		f.must(outcome.Err())
		if took := time.Since(began); took < 50*time.Millisecond {
			t.Errorf("the transaction took only %v", took)
		}
		f.must(<-slow)
		time.Sleep(time.Minute)
		if calls.Load() != 1 || outcome.Deliveries[0].Failures != 0 {
			t.Errorf("it was called %d times, and the outcome is %+v", calls.Load(), outcome)
		}
		f.wantNumber(1, "SELECT count(*) FROM entry")
		for _, s := range f.Stats().Types {
			if s.Handled != 1 || s.Failed != 0 {
				t.Errorf("%d attempts are counted as handled, and %d as failed, want 1 and 0", s.Handled, s.Failed)
			}
		}
	})
}

// A batch is published as a whole or not at all, and the function can go on.
func TestABatchOfATransactionThatIsRefusedLeavesNothing(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	batch := func(tx runtime.Tx, second booking, opts ...runtime.PublishOption) error {
		_, err := runtime.PublishBatch(ctx, tx, bookedType, []booking{{1, 1}, second, {1, 3}}, opts...)
		return err
	}
	key := runtime.WithDedupeKey("b")
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
		_, err := runtime.Publish(ctx, tx, bookedType, booking{1, 7}, runtime.WithDedupeKey("b#1"))
		f.must(err)
		var conflict *event.ConflictError
		if err := batch(tx, booking{1, 2}, key); !errors.As(err, &conflict) {
			t.Errorf("a batch of which the second is in conflict gives %v", err)
		}
		if err := batch(tx, booking{-1, 2}); !errors.Is(err, errNoAccount) {
			t.Errorf("a batch of which the second is invalid gives %v", err)
		}
		// The keys of the first and the third are free.
		for _, k := range []string{"b#0", "b#2"} {
			receipt, err := runtime.Publish(ctx, tx, bookedType, booking{1, 9}, runtime.WithDedupeKey(k))
			if err != nil || receipt.Duplicate {
				t.Errorf("the key %s: %+v, %v", k, receipt, err)
			}
		}
		return nil
	}))
	f.wantNumber(3, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	f.wantNumber(25, "SELECT sum(payload->>'amount') FROM events WHERE type = 'money.booked'")
	for _, s := range f.Stats().Types {
		if s.Published != 3 {
			t.Errorf("%d events are counted as published, want 3", s.Published)
		}
	}
}

// move gives the file of the bus another name, and leaves nothing at the old one.
func (f *fixture) move() (path string) {
	f.Helper()
	path = filepath.Join(f.TempDir(), "moved.db")
	f.must(os.Rename(f.path, path))
	f.must(os.Rename(f.path+"-wal", path+"-wal"))
	return path
}

// What is acknowledged is in the file that was moved, and after that no function runs.
func TestAFunctionDuringWhichTheFileIsMovedAwayIsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		moved := ""
		f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			moved = f.move()
			return f.book(t.Context(), tx, 1, 5)
		}))
		time.Sleep(time.Second)
		err := runtime.Transact(t.Context(), f.Bus, func(runtime.Tx) error {
			t.Error("the function runs")
			return nil
		})
		var storage *event.StorageError
		if !errors.As(err, &storage) || storage.InDoubt {
			t.Errorf("the error is %v", err)
		}
		f.Shutdown(t.Context())
		f.path = moved
		f.reopen()
		f.wantNumber(105, "SELECT balance FROM account")
		f.wantNumber(1, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	})
}

// The file is moved away after the handler has begun and before its transaction. Whoever goes on
// with the file handles the event, in its first attempt.
func TestAHandlerWhoseFileIsMovedAwayStoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := t.Context()
		moved := ""
		_, err := runtime.Subscribe(f.Bus, bookedType, "book", func(ctx context.Context, e runtime.Event[booking]) error {
			moved = f.move()
			time.Sleep(time.Second)
			return runtime.Atomically(ctx, func(tx runtime.Tx) error {
				t.Error("the function runs")
				return nil
			})
		}, fast, runtime.FromBeginning())
		f.must(err)
		f.must(f.Start(ctx))
		_, err = runtime.Publish(ctx, f.Bus, bookedType, booking{1, 1})
		f.must(err)
		time.Sleep(10 * time.Second)
		f.Shutdown(ctx)
		f.path = moved
		f.reopen()
		attempts := make(chan int, 10)
		_, err = runtime.SubscribeTx(f.Bus, bookedType, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			attempts <- e.Attempt
			_, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, 1)")
			return err
		}, fast, runtime.FromBeginning())
		f.must(err)
		f.must(f.Start(ctx))
		f.must(f.WaitIdle(ctx))
		if len(attempts) != 1 {
			t.Errorf("it was handled %d times, want once", len(attempts))
		}
		f.wantNumber(1, "SELECT count(*) FROM entry")
	})
}
