package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
)

// A worker may have taken a delivery, and not begun it, when its event is cancelled.
func TestACancelledDeliveryThatWasPolledIsNotBegun(t *testing.T) {
	log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
	must(t, err)
	defer log.Close()
	_, err = log.TakeOver(t.Context())
	must(t, err)
	consumer, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
	must(t, err)
	records := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), CreatedAt: time.Now()}}
	must(t, log.Append(t.Context(), records))
	polled, err := consumer.Poll(nil, 1)
	must(t, err)
	cancelled, err := log.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: engine.ReasonCancelled})
	if err != nil || len(cancelled) != 1 {
		t.Fatalf("cancelled for %v, %v", cancelled, err)
	}
	if ok, _ := consumer.Begin(polled[0], 0, time.Now()); ok {
		t.Error("an attempt begins after the cancel")
	}
	if reason, ok := consumer.Cancelled(polled[0].Seq); !ok || reason != "cancelled" {
		t.Errorf("it is cancelled: %v, %q", ok, reason)
	}
}

// The process that dispatches hangs.
func TestACancelWithoutAnAnswerSaysThatItIsNotKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		log, err := Open(path, Options{})
		must(t, err)
		defer log.Close()
		_, err = log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
		must(t, err)
		records := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), CreatedAt: time.Now()}}
		must(t, log.Append(t.Context(), records))
		owner, err := claims.Open(path, "")
		must(t, err)
		defer owner.Close()
		must(t, owner.Own())
		var unanswered *engine.UnansweredError
		_, err = log.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: engine.ReasonCancelled})
		if !errors.As(err, &unanswered) || unanswered.ID != records[0].ID || unanswered.Waited < engine.CancelPatience {
			t.Errorf("the error is %v", err)
		}
		must(t, owner.Abandon())
		cancelled, err := log.Cancel(t.Context(), engine.Cancellation{Event: records[0].ID, Reason: engine.ReasonCancelled})
		if err != nil || len(cancelled) != 1 {
			t.Errorf("without an owner: %v, %v", cancelled, err)
		}
	})
}
