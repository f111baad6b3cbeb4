package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// How the model test publishes.

// next draws an event that was not published before.
func (w *world) next() *modelEvent {
	w.number++
	e := &modelEvent{number: w.number, typ: []string{"order.placed", "order.placed", "order.paid", "user.created"}[w.IntN(4)]}
	if e.typ == "order.placed" {
		e.key = string(rune('A' + w.IntN(4)))
	}
	if w.model.priorities && w.IntN(6) == 0 {
		e.priority = []runtime.Priority{runtime.PriorityHigh, runtime.PriorityLow, runtime.PriorityCritical}[w.IntN(3)]
	}
	return e
}

// publish publishes an event and notes it if it is stored.
func (w *world) publish(e *modelEvent, opts ...runtime.PublishOption) {
	w.model.add(e)
	receipt, err := e.publish(context.Background(), w.bus.Bus, opts...)
	if err != nil {
		w.Errorf("publishing: %v", err)
		return
	}
	e.id = receipt.ID
	w.receipts = append(w.receipts, modelReceipt{e, receipt})
}

func (w *world) publishOne() { w.publish(w.next()) }

func (w *world) publishDelayed() {
	e := w.next()
	e.due = time.Now().Add(time.Duration(1+w.IntN(5_000_000)) * time.Microsecond)
	w.publish(e, runtime.WithPublishAt(e.due))
}

func (w *world) publishBatch() {
	var payloads []OrderPlaced
	var events []*modelEvent
	for range 2 + w.IntN(12) {
		e := w.next()
		e.typ, e.key, e.priority = "order.placed", string(rune('A'+w.IntN(4))), runtime.PriorityNormal
		w.model.add(e)
		events = append(events, e)
		payloads = append(payloads, OrderPlaced{OrderID: e.key, Number: int(e.number)})
	}
	receipts, err := runtime.PublishBatch(context.Background(), w.bus.Bus, PlacedType, payloads)
	Must(w.T, err)
	for i, r := range receipts {
		events[i].id = r.ID
		w.receipts = append(w.receipts, modelReceipt{events[i], r})
	}
}

// publishBurst publishes from several goroutines, one shortly after the other: at one instant the seed would not decide
// their order.
func (w *world) publishBurst() {
	var publishers sync.WaitGroup
	for i := range 2 + w.IntN(5) {
		e := w.next()
		w.model.add(e)
		publishers.Go(func() {
			time.Sleep(time.Duration(3*i) * time.Microsecond)
			receipt, err := e.publish(context.Background(), w.bus.Bus)
			if err != nil {
				w.Errorf("publishing: %v", err)
				return
			}
			e.id = receipt.ID
		})
	}
	publishers.Wait()
}

// publishOnce publishes with an idempotency key that may have been used before.
func (w *world) publishOnce() {
	e := w.next()
	e.deduped = true
	key := fmt.Sprintf("key %d", w.IntN(3))
	first, known := w.keys[e.typ+key]
	if known && time.Until(first.expires) <= 0 {
		known = false
	}
	switch {
	case !known:
		expires := time.Now().Add(modelDedupeWindow).Truncate(time.Microsecond)
		w.publish(e, runtime.WithDedupeKey(key))
		w.keys[e.typ+key] = remembered{e, expires}
	case w.IntN(2) == 0:
		receipt, err := first.publish(context.Background(), w.bus.Bus, runtime.WithDedupeKey(key))
		if err != nil || !receipt.Duplicate || receipt.ID != first.id {
			w.Errorf("publishing event %d again with its key: %+v, %v", first.number, receipt, err)
		}
	default:
		_, err := e.publish(context.Background(), w.bus.Bus, runtime.WithDedupeKey(key))
		if conflict := (*event.ConflictError)(nil); !errors.As(err, &conflict) || conflict.First != first.id {
			w.Errorf("another payload with the key of event %d: %v", first.number, err)
		}
	}
}
