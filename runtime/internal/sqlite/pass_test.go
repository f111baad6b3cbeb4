package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

func TestAnEventPassesASubscriptionThatItIsNotFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
		must(t, err)
		defer log.Close()
		_, err = log.TakeOver(t.Context())
		must(t, err)
		one, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
		must(t, err)
		c := one.(*consumer)
		woken := 0
		c.Notify(func() { woken++ })
		publish := func(eventType string) {
			t.Helper()
			must(t, log.Append(t.Context(), []engine.Record{{ID: uuid.New(), Type: eventType, Payload: []byte("1"), CreatedAt: time.Now()}}))
			synctest.Wait()
		}
		polls := func(want int) {
			t.Helper()
			if polled, err := c.Poll(nil, 10); err != nil || len(polled) != want {
				t.Fatalf("%d events are polled (%v), want %d", len(polled), err, want)
			}
		}
		cursor := func(want int64) {
			t.Helper()
			must(t, log.read(func(conn *database.Conn) error {
				got, err := conn.Int64("SELECT cursor FROM busgen_subscriptions WHERE id = ?", c.id)
				if got != want {
					t.Fatalf("the cursor in the file is %d, want %d", got, want)
				}
				return err
			}))
		}
		for range 2 { // the type is new, so it looks whether it is its own
			publish("user.renamed")
			polls(0)
		}
		time.Sleep(2 * cursorDelay)
		cursor(2)

		// It is not woken for the next ones, and one write is enough for all of them.
		woken = 0
		for range 5 {
			publish("user.renamed")
			time.Sleep(cursorDelay / 10)
		}
		if woken > 0 {
			t.Errorf("it was woken %d times", woken)
		}
		cursor(2)
		time.Sleep(cursorDelay)
		cursor(7)

		// For one of its own it is, and that is written soon, with what it has passed.
		publish("user.renamed")
		publish("order.placed")
		if woken == 0 {
			t.Error("it was not woken")
		}
		polled, err := c.Poll(nil, 10)
		must(t, err)
		if len(polled) != 1 || polled[0].Type != "order.placed" {
			t.Fatalf("polled %v", polled)
		}
		c.Settle(polled[0], engine.Disposition{Kind: engine.Done})
		time.Sleep(2 * flushDelay)
		cursor(9)

		// Who waits for everything to be settled does not wait for it.
		publish("user.renamed")
		polls(0)
		publish("user.renamed")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		must(t, log.WaitSettled(ctx, []engine.Consumer{c}))
		if took := time.Since(began); took > 2*flushDelay {
			t.Errorf("waiting took %v", took)
		}
		cursor(11)
		defer log.waiters.remove(log.waiters.add(0))
		publish("user.renamed")
		time.Sleep(2 * flushDelay)
		cursor(12)
	})
}

// It polls what it has not yet polled, before and after.
func TestNoEventPassesASubscriptionThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
		must(t, err)
		defer log.Close()
		one, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
		must(t, err)
		c := one.(*consumer)
		var records []engine.Record
		for _, eventType := range slices.Repeat([]string{"user.renamed", "order.placed"}, 6) {
			records = append(records, engine.Record{ID: uuid.New(), Type: eventType, Payload: []byte("1"), CreatedAt: time.Now()})
		}
		must(t, log.Append(t.Context(), records))
		synctest.Wait()
		seen := 0
		for range 7 {
			polled, err := c.Poll(nil, 1)
			must(t, err)
			seen += len(polled)
			must(t, log.Append(t.Context(), []engine.Record{{ID: uuid.New(), Type: "user.renamed", Payload: []byte("1"), CreatedAt: time.Now()}}))
			synctest.Wait()
		}
		if seen != 6 {
			t.Errorf("%d events were polled, want 6", seen)
		}
	})
}
