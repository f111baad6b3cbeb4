package dispatch

import (
	"log/slog"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// There is room for it, but an urgent delivery of its key runs. Nothing else would wake the worker.
func TestTheEndOfAnUrgentDeliveryWakesWhatIsParkedWithItsKey(t *testing.T) {
	set := limit.New(limit.Config{Wall: time.Now, Logger: slog.New(slog.DiscardHandler)}, limit.Rules{Name: "mail", AtOnce: 1})
	w := set.NewOwner(func() {}).NewWaiter([]limit.Use{{Limit: set.Limit("mail")}}, nil, 0, 0)
	delivery := func(seq int64) item {
		return item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: seq}}, key: "a"}
	}
	var q queue
	q.push(delivery(1))
	first, _ := q.pop(false)
	first.limits = &limited{waiter: w}
	q.park(first)
	q.hurry(2)
	q.push(delivery(2))
	if urgent, ok := q.pop(false); !ok || urgent.Seq != 2 {
		t.Fatal("the urgent one does not begin")
	}
	q.calm(2) // who waits for it has its answer as soon as it is settled
	if _, ok := q.unpark(w, false); ok {
		t.Fatal("the parked one begins beside one of its key")
	}
	if !q.done("a", 2) {
		t.Error("nobody is told that the parked one may begin")
	}
	if i, ok := q.unpark(w, false); !ok || i.Seq != 1 {
		t.Error("the parked one may not begin")
	}
}
