package queue

import (
	"log/slog"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// There is room for it, but an urgent delivery of its key runs. Nothing else would wake the worker.
func TestTheEndOfAnUrgentDeliveryWakesWhatIsParkedWithItsKey(t *testing.T) {
	set := limit.New(limit.Config{Wall: time.Now, Logger: slog.New(slog.DiscardHandler)}, declare.Limit{Name: "mail", AtOnce: 1})
	w := set.NewOwner(func() {}).NewWaiter([]limit.Use{{Limit: set.Limit("mail")}}, 0, 0)
	delivery := func(seq int64) Item {
		return Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: seq}}, Key: "a"}
	}
	var q Queue
	q.Push(delivery(1))
	first, _ := q.Pop(false)
	first.Limits = &Limited{Waiter: w}
	q.Park(first)
	q.Hurry(2)
	q.Push(delivery(2))
	if urgent, ok := q.Pop(false); !ok || urgent.Seq != 2 {
		t.Fatal("the urgent one does not begin")
	}
	q.Calm(2) // who waits for it has its answer as soon as it is settled
	if _, ok := q.Unpark(w, false); ok {
		t.Fatal("the parked one begins beside one of its key")
	}
	if !q.Done("a", 2) {
		t.Error("nobody is told that the parked one may begin")
	}
	if i, ok := q.Unpark(w, false); !ok || i.Seq != 1 {
		t.Error("the parked one may not begin")
	}
}
