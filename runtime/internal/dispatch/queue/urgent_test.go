package queue

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// Whatever is hurried and calmed, lent and taken back, parked and unparked: each delivery comes
// out once, none runs beside a running one of its key, a key that is lent or of a parked one is
// for urgent ones only, and those that were never urgent come out in the order in which they
// went in.
func TestUrgentDeliveriesOvertakeAndKeepTheirKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue
		set := limit.New(limit.Config{Wall: time.Now}, declare.Limit{Name: "a", AtOnce: 1})
		owner := set.NewOwner(func() {})
		keys := map[int64]string{}     // by seq
		running := map[string][]Item{} // by key
		lent := map[string][]Item{}    // by key: those that wait
		urgent := map[int64]bool{}     // now
		once := map[int64]bool{}       // at some time
		popped := map[int64]bool{}
		last := map[string]int64{} // by key: that was popped in order
		parked := func() (all []Item) {
			for _, i := range q.aside {
				all = append(all, i)
			}
			slices.SortFunc(all, func(a, b Item) int { return int(a.Seq - b.Seq) })
			return all
		}
		out := func(t *rapid.T, i Item, guest, unparked bool) {
			if popped[i.Seq] || guest && !urgent[i.Seq] {
				t.Fatalf("%d came out: again %v, urgent %v, for a guest %v", i.Seq, popped[i.Seq], urgent[i.Seq], guest)
			}
			popped[i.Seq] = true
			if i.Key == "" {
				return
			}
			before := func(other Item) bool { return other.Key == i.Key && (!unparked || !other.Urgent) }
			if all := parked(); !urgent[i.Seq] && slices.ContainsFunc(all, before) {
				t.Fatalf("%d of key %s came out while %v are parked", i.Seq, i.Key, all)
			}
			if len(running[i.Key]) > 0 || len(lent[i.Key]) > 0 && !urgent[i.Seq] {
				t.Fatalf("%d runs beside %v; %v have lent the key", i.Seq, running[i.Key], lent[i.Key])
			}
			running[i.Key] = append(running[i.Key], i)
			if !once[i.Seq] {
				if i.Seq < last[i.Key] {
					t.Fatalf("%d came out after %d", i.Seq, last[i.Key])
				}
				last[i.Key] = i.Seq
			}
		}
		pop := func(t *rapid.T, guest bool) {
			if i, ok := q.Pop(guest); ok {
				out(t, i, guest, false)
			}
		}
		unpark := func(t *rapid.T, i Item, guest bool) {
			if i, ok := q.Unpark(i.Limits.Waiter, guest); ok {
				i.Unwait()
				out(t, i, guest, true)
			}
		}
		one := func(t *rapid.T, of map[string][]Item) (Item, bool) {
			var some []string
			for key, items := range of {
				if len(items) > 0 {
					some = append(some, key)
				}
			}
			if some == nil {
				return Item{}, false
			}
			slices.Sort(some)
			items := of[rapid.SampledFrom(some).Draw(t, "key")]
			return items[len(items)-1], true
		}
		drop := func(of map[string][]Item, key string) { of[key] = of[key][:len(of[key])-1] }
		seq := func(t *rapid.T) int64 { return rapid.Int64Range(1, int64(len(keys))+3).Draw(t, "seq") }
		back := func() {
			for key := range lent {
				if len(lent[key]) > 0 && len(running[key]) == 0 {
					if !q.Free(key) {
						t.Fatalf("the queue says that %s is not free", key)
					}
					i := lent[key][len(lent[key])-1]
					q.TakeBack(i)
					drop(lent, key)
					running[key] = append(running[key], i)
				}
			}
		}
		meanwhile := func(t *rapid.T, n int64) {
			switch rapid.SampledFrom([]string{"", "hurry", "calm"}).Draw(t, "meanwhile") {
			case "hurry":
				urgent[n], once[n] = true, true
				q.Hurry(n)
			case "calm":
				delete(urgent, n)
				q.Calm(n)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n := int64(len(keys)) + 1
				keys[n] = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
				once[n] = urgent[n]
				q.Push(Item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: n}}, Key: keys[n]})
			},
			"hurry": func(t *rapid.T) {
				n := seq(t)
				urgent[n], once[n] = true, true
				q.Hurry(n)
			},
			"calm": func(t *rapid.T) {
				n := seq(t)
				delete(urgent, n)
				q.Calm(n)
			},
			"worker": func(t *rapid.T) { pop(t, false) },
			"guest":  func(t *rapid.T) { pop(t, true) },
			"done": func(t *rapid.T) {
				if i, ok := one(t, running); ok {
					drop(running, i.Key)
					q.Done(i.Key, i.Seq)
				}
			},
			"lend": func(t *rapid.T) {
				if i, ok := one(t, running); ok {
					drop(running, i.Key)
					lent[i.Key] = append(lent[i.Key], i)
					q.Lend(i)
				}
			},
			"back": func(*rapid.T) { back() },
			"put back": func(t *rapid.T) {
				i, ok := q.Pop(rapid.Bool().Draw(t, "guest"))
				if !ok {
					return
				}
				meanwhile(t, i.Seq)
				q.PutBack(i)
			},
			"park": func(t *rapid.T) {
				i, ok := q.Pop(rapid.Bool().Draw(t, "guest"))
				if !ok {
					return
				}
				meanwhile(t, i.Seq)
				i.Limits = &Limited{Waiter: owner.NewWaiter([]limit.Use{{Limit: set.Limit("a")}}, 0, 0)}
				q.Park(i)
			},
			"unpark": func(t *rapid.T) {
				if all := parked(); all != nil {
					unpark(t, rapid.SampledFrom(all).Draw(t, "parked"), rapid.Bool().Draw(t, "guest"))
				}
			},
			"": func(t *rapid.T) {
				if q.Len() != len(keys)-len(popped) {
					t.Fatalf("the queue says %d, want %d", q.Len(), len(keys)-len(popped))
				}
				waiting := 0
				for n := range urgent {
					if _, pushed := keys[n]; pushed && !popped[n] {
						waiting++
					}
				}
				all := slices.DeleteFunc(parked(), func(i Item) bool { return !i.Urgent })
				if all = append(all, q.urgent...); len(all) != waiting || slices.ContainsFunc(all, func(i Item) bool { return !i.Urgent || !urgent[i.Seq] }) {
					t.Fatalf("%v are in the queue as urgent, want %d of %v", all, waiting, urgent)
				}
			},
		})
		for range 10 * (len(keys) + 1) {
			back()
			for i, ok := one(t, running); ok; i, ok = one(t, running) {
				drop(running, i.Key)
				q.Done(i.Key, i.Seq)
			}
			for _, i := range parked() {
				unpark(t, i, false)
			}
			pop(t, false)
		}
		if len(popped) != len(keys) || len(q.keys) > 0 {
			t.Fatalf("%d of %d came out; %d keys are left", len(popped), len(keys), len(q.keys))
		}
	})
}
