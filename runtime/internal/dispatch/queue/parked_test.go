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

// A delivery that waits for a limit leaves memory, and a retry that is older waits behind it for their key. When the
// delivery comes back it goes behind the retry, and frees none: so the retry has to come by itself.
func TestARetryThatLeavesMemoryBehindALaterOneOfItsKeyComesByItself(t *testing.T) {
	set := limit.New(limit.Config{Wall: time.Now, Logger: slog.New(slog.DiscardHandler)}, declare.Limit{Name: "mail", AtOnce: 1})
	w := set.NewOwner(func() {}).NewWaiter([]limit.Use{{Limit: set.Limit("mail")}}, 0, 0)
	var q Queue
	q.Push(Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: 7}}, Key: "a"})
	first, _ := q.Pop(false)
	first.Limits = &Limited{Waiter: w}
	q.Park(first)
	for _, d := range []engine.Delivery{{Record: &engine.Record{Seq: 5}, Failures: 1}, {Record: &engine.Record{Seq: 8}}} {
		q.Push(Item{Delivery: &d, Key: "a"})
	}
	limited := func(Item) (string, time.Time) { return "mail a", time.Time{} }
	heads := map[int64]bool{}
	for range 2 { // first what is behind the first few, then these
		for _, one := range q.Thin(8, 1, limited, func(key string) string { return "key " + key }) {
			heads[one.Seq] = one.Head
		}
	}
	if len(heads) != 3 || !heads[7] || !heads[5] || heads[8] {
		t.Errorf("these leave memory, and true are those that come by themselves: %v", heads)
	}
}
