package sqlite

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// The tail is compared with a plain slice that keeps everything: whatever it
// holds it must return, and what it no longer holds it must admit.
func TestTheTailReturnsWhatWasAppendedOrSaysThatItCannot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tail tail
		tail.reset(1)
		log := map[int64]logged{}
		end := int64(1)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "gap") == 0 {
					end += rapid.Int64Range(1, 10).Draw(t, "foreign events")
				}
				var events []logged
				for range rapid.IntRange(1, 3000).Draw(t, "events") {
					size := rapid.SampledFrom([]int{0, 10, 10, 10, 100_000}).Draw(t, "size")
					e := logged{Record: engine.Record{Seq: end, Payload: make([]byte, size)}, typeID: end % 3}
					events = append(events, e)
					log[end] = e
					end++
				}
				tail.append(events, rapid.IntRange(0, 2).Draw(t, "readers"))
			},
			"read": func(t *rapid.T) {
				from := rapid.Int64Range(max(1, end-10_000), end).Draw(t, "from")
				limit := rapid.IntRange(1, 300).Draw(t, "limit")
				got, next, held := tail.read(nil, from, limit, 1, func(typeID int64) bool { return typeID == 1 })
				if !held {
					return
				}
				for seq := from; seq < next; seq++ {
					want, exists := log[seq]
					if !exists {
						t.Fatalf("event %d was never appended here and is held", seq)
					}
					if want.typeID != 1 {
						continue
					}
					if len(got) == 0 || got[0].Seq != seq {
						t.Fatalf("event %d is missing", seq)
					}
					got = got[1:]
				}
				if len(got) > 0 {
					t.Fatalf("%d events too many", len(got))
				}
			},
			"": func(t *rapid.T) {
				if tail.end() != end {
					t.Fatalf("the end is %d, want %d", tail.end(), end)
				}
				if tail.next-tail.first > tailEvents || tail.bytes > tailBytes+100_000 {
					t.Fatalf("the tail holds %d events, %d bytes", tail.next-tail.first, tail.bytes)
				}
			},
		})
	})
}

func TestTheNewestEventsAreHeld(t *testing.T) {
	var tail tail
	tail.reset(1)
	var events []logged
	for seq := int64(1); seq <= 2*tailEvents; seq++ {
		events = append(events, logged{Record: engine.Record{Seq: seq}})
	}
	tail.append(events, 2)
	all := func(int64) bool { return true }
	if got, _, held := tail.read(nil, tailEvents+1, tailEvents, 1, all); !held || len(got) != tailEvents {
		t.Errorf("held %d of the newest %d", len(got), tailEvents)
	}
	if _, _, held := tail.read(nil, tailEvents, 1, 1, all); held {
		t.Error("an event beyond the limit is held")
	}
}
