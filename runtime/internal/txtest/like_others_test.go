package txtest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
)

// What fails is tried again before the next event of its key is begun, also if the handler's rows
// are stored with its success.
func TestTransactionalHandlersKeepAStrictOrder(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1)
		var mu sync.Mutex
		var amounts []int
		f.must(subscribe(f, "book", func(ctx context.Context, tx runtime.Tx, e runtime.Event[booking]) error {
			mu.Lock()
			amounts = append(amounts, e.Payload.Amount)
			mu.Unlock()
			if _, err := tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, ?)", e.Payload.Amount); err != nil {
				return err
			}
			if e.Payload.Amount == 2 && e.Attempt < 3 {
				return errors.New("not yet")
			}
			return nil
		}, fast, runtime.WithStrictOrder()))
		for amount := range 4 {
			_, err := runtime.Publish(t.Context(), f.Bus, bookedType, booking{1, amount + 1})
			f.must(err)
		}
		f.must(f.Start(t.Context()))
		f.must(f.WaitIdle(t.Context()))
		if want := []int{1, 2, 2, 2, 3, 4}; !slices.Equal(amounts, want) {
			t.Errorf("handled was %v, want %v", amounts, want)
		}
		f.wantNumber(1234, "SELECT group_concat(amount, '') FROM (SELECT amount FROM entry ORDER BY id)")
	})
}

// The payload of an event of outbox is not checked. What a handler cannot decode is a dead letter.
func TestAnEventOfOutboxThatDoesNotDecodeIsADeadLetter(t *testing.T) {
	forBoth(t, func(t *testing.T, subscribe func(f *fixture, name string, handler runtime.TxHandler[booking], opts ...runtime.SubscribeOption) error) {
		f := open(t, 1)
		f.must(subscribe(f, "book", func(context.Context, runtime.Tx, runtime.Event[booking]) error {
			t.Error("the handler is called")
			return nil
		}, fast))
		f.must(f.Start(t.Context()))
		_, err := runtime.DB(f.Bus).ExecContext(t.Context(), `INSERT INTO outbox (type, payload) VALUES ('money.booked', '{"account": "first"}')`)
		f.must(err)
		time.Sleep(time.Second) // until the bus has seen it
		f.must(f.WaitIdle(t.Context()))
		f.wantNumber(1, "SELECT count(*) FROM dead_letters WHERE subscription = 'book' AND reason = 'decode' AND attempts = 1")
	})
}
