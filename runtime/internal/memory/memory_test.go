package memory

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The conformance suite says what a bus does on this engine. Here is what only an
// engine can show.

func opened(t *testing.T, e *Engine) engine.Log {
	t.Helper()
	log, err := e.Open(t.Context(), "shop", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func consumerOf(t *testing.T, log engine.Log) engine.Consumer {
	t.Helper()
	c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "billing", Pattern: "order.placed"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func appendOne(t *testing.T, log engine.Log) {
	t.Helper()
	one := []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte("{}"), Key: "A", CreatedAt: time.Now()}}
	if err := log.Append(t.Context(), one); err != nil {
		t.Fatal(err)
	}
}

func pollOne(t *testing.T, c engine.Consumer) *engine.Delivery {
	t.Helper()
	polled, _, err := c.Poll(nil, 10)
	if err != nil || len(polled) != 1 {
		t.Fatalf("polled %d deliveries (%v), want one", len(polled), err)
	}
	return polled[0]
}

func TestADeliveryBelongsToTheConsumerThatPolledItLast(t *testing.T) {
	log := opened(t, New())
	first := consumerOf(t, log)
	appendOne(t, log)
	d := pollOne(t, first)
	second := consumerOf(t, log) // in place of the first
	again := pollOne(t, second)
	if begun, _ := first.Begin(d, 0, time.Now()); !begun.IsZero() {
		t.Error("the first consumer may begin a delivery that the second has")
	}
	first.Settle(d, engine.Disposition{Kind: engine.Done})
	if begun, _ := second.Begin(again, 0, time.Now()); begun.IsZero() {
		t.Error("the second consumer may not begin its delivery")
	}
	if again.Key != "A" {
		t.Errorf("the key is %q, want A", again.Key)
	}
}

func TestReopeningATargetFindsItsLog(t *testing.T) {
	e := New()
	first := opened(t, e)
	c := consumerOf(t, first)
	appendOne(t, first)
	c.Settle(pollOne(t, c), engine.Disposition{Kind: engine.Retry, Due: time.Now(), Attempt: &engine.FailedAttempt{Error: "boom"}})
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Append(t.Context(), nil); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("the closed log returns %v", err)
	}
	second := opened(t, e)
	found, err := second.TakeOver(t.Context())
	if err != nil || found.Waiting != 1 {
		t.Errorf("taking over has found %+v (%v), want one that waits", found, err)
	}
	if d := pollOne(t, consumerOf(t, second)); d.Failures != 1 {
		t.Errorf("the delivery has %d failures, want 1", d.Failures)
	}
	third := opened(t, e)
	if _, err := third.TakeOver(t.Context()); !errors.Is(err, engine.ErrOwned) {
		t.Errorf("two own the log (%v)", err)
	}
}
