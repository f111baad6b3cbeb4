package dispatch

import (
	"runtime"
	"testing"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// A drop wakes the worker that waits when the next delivery of the key may run, and not
// before: the worker would not be woken again.
func TestADropWakesWhenTheNextOfTheKeyMayRun(t *testing.T) {
	s := New(nil, Config{})
	for seq := range int64(2) {
		s.queue.push(item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: seq}}, key: "k"})
	}
	first, _ := s.queue.pop(false)
	s.queue.mu.Lock() // the key cannot be freed yet
	go (&Attempt{run: &run{item: first, site: s.site}}).drop()
	for range 10_000 {
		runtime.Gosched()
	}
	if len(s.wake) > 0 {
		t.Error("the worker is woken while the key is busy")
	}
	s.queue.mu.Unlock()
	<-s.wake
	if next, ok := s.queue.pop(false); !ok || next.Seq != 1 {
		t.Errorf("the next is %v, %v", next, ok)
	}
}
