package queue

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Whatever is pushed comes out once, never two of a key at a time, and those of
// a key in the order in which they went in.
func TestTheQueueKeepsTheOrderOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		pushed := int64(0)
		running := map[string]int64{}
		byKey := map[string][]int64{}
		popped := map[int64]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				key := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "key")
				pushed++
				priority := rapid.SampledFrom([]Priority{Normal, High, Low}).Draw(t, "priority")
				q.Push(Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: pushed}}, Key: key, Priority: priority})
			},
			"pop": func(t *rapid.T) {
				i, ok := q.Pop(false)
				if !ok {
					return
				}
				if popped[i.Seq] {
					t.Fatalf("%d came out twice", i.Seq)
				}
				popped[i.Seq] = true
				if i.Key == "" {
					return
				}
				if other, busy := running[i.Key]; busy {
					t.Fatalf("%d runs beside %d of the same key", i.Seq, other)
				}
				running[i.Key] = i.Seq
				byKey[i.Key] = append(byKey[i.Key], i.Seq)
			},
			"done": func(t *rapid.T) {
				for key := range running {
					q.Done(key, running[key])
					delete(running, key)
					return
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != int(pushed)-len(popped) {
					t.Fatalf("the queue says %d, want %d", q.Len(), int(pushed)-len(popped))
				}
			},
		})
		for {
			i, ok := q.Pop(false)
			if ok {
				popped[i.Seq] = true
				if i.Key != "" {
					running[i.Key] = i.Seq
					byKey[i.Key] = append(byKey[i.Key], i.Seq)
				}
				continue
			}
			if len(running) == 0 {
				break
			}
			for key := range running {
				q.Done(key, running[key])
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
	var q Queue
	for seq := range int64(6) {
		q.Push(Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: seq}}, Key: "k", Priority: Priority(seq % 3)})
	}
	q.Pop(false)
	if left := q.Drain(); len(left) != 5 || q.Len() != 0 {
		t.Errorf("drained %d and left %d, want 5 and none", len(left), q.Len())
	}
}

func TestAQueueThatIsNeverEmptyDoesNotGrow(t *testing.T) {
	const window = 256
	var q Queue
	for n := range 100_000 {
		q.Push(Item{Delivery: &engine.Delivery{Record: &engine.Record{}}})
		if n >= window {
			q.Pop(false)
		}
	}
	if room := cap(q.ready[Rank(Normal)].items); room > 4*window {
		t.Errorf("there is room for %d items where never more than %d waited", room, window+1)
	}
}
