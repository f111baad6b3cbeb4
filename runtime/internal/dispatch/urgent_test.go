package dispatch

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Whatever is hurried and calmed, lent and taken back: each delivery comes out once, none
// runs beside a running one of its key, a key that is lent is for urgent ones only, and
// those that were never urgent come out in the order in which they went in.
func TestUrgentDeliveriesOvertakeAndKeepTheirKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q queue
		keys := map[int64]string{}     // by seq
		running := map[string][]item{} // by key
		lent := map[string][]item{}    // by key: those that wait
		urgent := map[int64]bool{}     // now
		once := map[int64]bool{}       // at some time
		popped := map[int64]bool{}
		last := map[string]int64{} // by key: that was popped in order
		pop := func(t *rapid.T, guest bool) bool {
			i, ok := q.pop(guest)
			if !ok {
				return false
			}
			if popped[i.Seq] || guest && !urgent[i.Seq] {
				t.Fatalf("%d came out: again %v, urgent %v, for a guest %v", i.Seq, popped[i.Seq], urgent[i.Seq], guest)
			}
			popped[i.Seq] = true
			if i.key == "" {
				return true
			}
			if len(running[i.key]) > 0 || len(lent[i.key]) > 0 && !urgent[i.Seq] {
				t.Fatalf("%d runs beside %v; %v have lent the key", i.Seq, running[i.key], lent[i.key])
			}
			running[i.key] = append(running[i.key], i)
			if !once[i.Seq] {
				if i.Seq < last[i.key] {
					t.Fatalf("%d came out after %d", i.Seq, last[i.key])
				}
				last[i.key] = i.Seq
			}
			return true
		}
		one := func(t *rapid.T, of map[string][]item) (item, bool) {
			var some []string
			for key, items := range of {
				if len(items) > 0 {
					some = append(some, key)
				}
			}
			if some == nil {
				return item{}, false
			}
			slices.Sort(some)
			items := of[rapid.SampledFrom(some).Draw(t, "key")]
			return items[len(items)-1], true
		}
		drop := func(of map[string][]item, key string) { of[key] = of[key][:len(of[key])-1] }
		seq := func(t *rapid.T) int64 { return rapid.Int64Range(1, int64(len(keys))+3).Draw(t, "seq") }
		back := func() {
			for key := range lent {
				if len(lent[key]) > 0 && len(running[key]) == 0 {
					if !q.free(key) {
						t.Fatalf("the queue says that %s is not free", key)
					}
					i := lent[key][len(lent[key])-1]
					q.takeBack(i)
					drop(lent, key)
					running[key] = append(running[key], i)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n := int64(len(keys)) + 1
				keys[n] = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "key")
				once[n] = urgent[n]
				q.push(item{Delivery: &engine.Delivery{Record: &engine.Record{Seq: n}}, key: keys[n]})
			},
			"hurry": func(t *rapid.T) {
				n := seq(t)
				urgent[n], once[n] = true, true
				q.hurry(n)
			},
			"calm": func(t *rapid.T) {
				n := seq(t)
				delete(urgent, n)
				q.calm(n)
			},
			"worker": func(t *rapid.T) { pop(t, false) },
			"guest":  func(t *rapid.T) { pop(t, true) },
			"done": func(t *rapid.T) {
				if i, ok := one(t, running); ok {
					drop(running, i.key)
					q.done(i.key, i.Seq)
				}
			},
			"lend": func(t *rapid.T) {
				if i, ok := one(t, running); ok {
					drop(running, i.key)
					lent[i.key] = append(lent[i.key], i)
					q.lend(i)
				}
			},
			"back": func(*rapid.T) { back() },
			"put back": func(t *rapid.T) {
				i, ok := q.pop(rapid.Bool().Draw(t, "guest"))
				if !ok {
					return
				}
				switch rapid.SampledFrom([]string{"", "hurry", "calm"}).Draw(t, "meanwhile") {
				case "hurry":
					urgent[i.Seq], once[i.Seq] = true, true
					q.hurry(i.Seq)
				case "calm":
					delete(urgent, i.Seq)
					q.calm(i.Seq)
				}
				q.putBack(i)
			},
			"": func(t *rapid.T) {
				if q.len() != len(keys)-len(popped) {
					t.Fatalf("the queue says %d, want %d", q.len(), len(keys)-len(popped))
				}
				waiting := 0
				for n := range urgent {
					if _, pushed := keys[n]; pushed && !popped[n] {
						waiting++
					}
				}
				if len(q.urgent) != waiting || slices.ContainsFunc(q.urgent, func(i item) bool { return !i.urgent || !urgent[i.Seq] }) {
					t.Fatalf("%v are in the queue as urgent, want %d of %v", q.urgent, waiting, urgent)
				}
			},
		})
		for range 10 * (len(keys) + 1) {
			back()
			for i, ok := one(t, running); ok; i, ok = one(t, running) {
				drop(running, i.key)
				q.done(i.key, i.Seq)
			}
			pop(t, false)
		}
		if len(popped) != len(keys) || len(q.keys) > 0 {
			t.Fatalf("%d of %d came out; %d keys are left", len(popped), len(keys), len(q.keys))
		}
	})
}
