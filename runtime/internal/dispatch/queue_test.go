package dispatch

import (
	"math/bits"
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Whatever is pushed comes out once, never two of a key at a time, and those of
// a key in the order in which they went in.
func TestTheQueueKeepsTheOrderOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		pushed := int64(0)
		running := map[string]int64{}
		byKey := map[string][]int64{}
		popped := map[int64]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key")
				pushed++
				priority := rapid.SampledFrom([]Priority{Normal, High, Low}).Draw(t, "priority")
				q.push(item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: pushed}}, key: key, priority: priority})
			},
			"pop": func(t *rapid.T) {
				i, ok := q.pop(false)
				if !ok {
					return
				}
				if popped[i.Seq] {
					t.Fatalf("%d came out twice", i.Seq)
				}
				popped[i.Seq] = true
				if i.key == "" {
					return
				}
				if other, busy := running[i.key]; busy {
					t.Fatalf("%d runs beside %d of the same key", i.Seq, other)
				}
				running[i.key] = i.Seq
				byKey[i.key] = append(byKey[i.key], i.Seq)
			},
			"done": func(t *rapid.T) {
				for key := range running {
					q.done(key, running[key])
					delete(running, key)
					return
				}
			},
			"": func(t *rapid.T) {
				if q.len() != int(pushed)-len(popped) {
					t.Fatalf("the queue says %d, want %d", q.len(), int(pushed)-len(popped))
				}
			},
		})
		for {
			i, ok := q.pop(false)
			if ok {
				popped[i.Seq] = true
				if i.key != "" {
					running[i.key] = i.Seq
					byKey[i.key] = append(byKey[i.key], i.Seq)
				}
				continue
			}
			if len(running) == 0 {
				break
			}
			for key := range running {
				q.done(key, running[key])
				delete(running, key)
			}
		}
		if len(popped) != int(pushed) {
			t.Fatalf("%d of %d came out", len(popped), pushed)
		}
		for key, order := range byKey {
			if !slices.IsSorted(order) {
				t.Fatalf("key %s came out as %v", key, order)
			}
		}
	})
}

func TestDrainingTheQueueReturnsEverything(t *testing.T) {
	var q queue
	for seq := range int64(6) {
		q.push(item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: seq}}, key: "k", priority: Priority(seq % 3)})
	}
	q.pop(false)
	if left := q.drain(); len(left) != 5 || q.len() != 0 {
		t.Errorf("drained %d and left %d, want 5 and none", len(left), q.len())
	}
}

func TestAQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	var q queue
	for n := range 100_000 {
		q.push(item{Delivery: &engine.Delivery{Record: &engine.Record{}}})
		if n >= Window {
			q.pop(false)
		}
	}
	if room := cap(q.ready[rank(Normal)].items); room > 4*Window {
		t.Errorf("there is room for %d items where never more than %d waited", room, Window+1)
	}
}

// The allocator rounds what needs more than 4 KiB up by a fifth or more, and there is a run for each
// delivery.
func TestTheRunsThatAreAllocatedTogetherFillFourKiB(t *testing.T) {
	if bits.UintSize != 64 {
		t.Skip("it is smaller here")
	}
	const room, header = 4 << 10, 8 // what the allocator adds
	one := int(unsafe.Sizeof(run{}))
	if all := one*runsAtOnce + header; all > room || all+one <= room {
		t.Errorf("%d runs of %d bytes need %d bytes", runsAtOnce, one, all)
	}
}
