package dispatch

import (
	"testing"

	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// A drop wakes the worker that waits when the next delivery of the key may run, and not
// before: the worker would not be woken again.
func TestADropWakesWhenTheNextOfTheKeyMayRun(t *testing.T) {
	for range 2_000 {
		s := New(nil, Config{})
		for seq := range int64(2) {
			s.queue.Push(queue.Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: seq}}, Key: "k"})
		}
		first, _ := s.queue.Pop(false)
		go (&Attempt{run: &run{Item: first, site: s.site}}).drop()
		<-s.wake
		if next, ok := s.queue.Pop(false); !ok || next.Seq != 1 {
			t.Fatalf("the next is %v, %v", next, ok)
		}
	}
}
