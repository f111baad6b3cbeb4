package ledger_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime/internal/ledger"
)

type (
	claim   = ledger.Claim
	verdict = ledger.Verdict
)

func TestACrashIsJudgedByAllThatWasAtWork(t *testing.T) {
	batch := func(n int, together int) (all []claim) {
		for range n {
			all = append(all, claim{Unit: "a", Batch: true, Together: together})
		}
		return all
	}
	for _, one := range []struct {
		name   string
		own    []claim
		others ledger.Others
		unsure bool
		want   []verdict
	}{
		{"nothing ran", nil, ledger.Others{}, false, []verdict{}},
		{"one ran", []claim{{}}, ledger.Others{}, false, []verdict{{ledger.Alone, 1, 1, false}}},
		{"one ran, and others may have", []claim{{}}, ledger.Others{}, true, []verdict{{ledger.Shared, 1, 1, false}}},
		{"two ran", []claim{{Unit: "a"}, {Unit: "b"}}, ledger.Others{}, false,
			[]verdict{{ledger.Shared, 2, 1, false}, {ledger.Shared, 2, 1, false}}},
		{"one ran here, and one elsewhere", []claim{{}}, ledger.Others{AtWork: 1, Counting: 1}, false, []verdict{{ledger.Shared, 2, 1, false}}},
		{"one ran here, and one elsewhere waited", []claim{{}}, ledger.Others{AtWork: 1}, false, []verdict{{ledger.Alone, 1, 1, false}}},
		{"one waited for another", []claim{{Waits: true}, {}}, ledger.Others{}, false,
			[]verdict{{ledger.Waited, 1, 0, false}, {ledger.Alone, 1, 1, false}}},
		{"one waited for another elsewhere", []claim{{Waits: true}}, ledger.Others{AtWork: 1, Counting: 1}, false, []verdict{{ledger.Waited, 1, 0, false}}},
		{"one waited, and nothing else ran", []claim{{Waits: true}}, ledger.Others{}, false, []verdict{{ledger.Alone, 1, 1, false}}},
		{"all waited", []claim{{Waits: true}, {Waits: true}}, ledger.Others{}, false,
			[]verdict{{ledger.Shared, 2, 1, false}, {ledger.Shared, 2, 1, false}}},
		{"one waited here, and one elsewhere", []claim{{Waits: true}}, ledger.Others{AtWork: 1}, false, []verdict{{ledger.Shared, 2, 1, false}}},
		{"a batch of three", batch(3, 0), ledger.Others{}, false,
			[]verdict{{ledger.Shared, 3, 2, false}, {ledger.Shared, 3, 2, false}, {ledger.Shared, 3, 2, false}}},
		{"a batch of one", batch(1, 4), ledger.Others{}, false, []verdict{{ledger.Alone, 1, 1, false}}},
		{"a half of two", batch(2, 2), ledger.Others{}, false, []verdict{{ledger.Shared, 2, 1, true}, {ledger.Shared, 2, 1, true}}},
		{"a half beside handlers that were left behind", append(batch(2, 2), batch(3, 0)...), ledger.Others{}, false,
			[]verdict{{ledger.Shared, 5, 1, true}, {ledger.Shared, 5, 1, true}, {ledger.Shared, 5, 3, false}, {ledger.Shared, 5, 3, false}, {ledger.Shared, 5, 3, false}}},
		{"one suspect beside a batch that was left behind", append(batch(1, 4), batch(2, 0)...), ledger.Others{}, false,
			[]verdict{{ledger.Shared, 3, 2, false}, {ledger.Shared, 3, 2, false}, {ledger.Shared, 3, 2, false}}},
		{"batches of two subscriptions", append(batch(3, 0), claim{Unit: "b", Batch: true}), ledger.Others{}, false,
			[]verdict{{ledger.Shared, 4, 2, false}, {ledger.Shared, 4, 2, false}, {ledger.Shared, 4, 2, false}, {ledger.Shared, 4, 1, false}}},
		{"a batch beside an event of its subscription that was in none", append(batch(2, 0), claim{Unit: "a"}), ledger.Others{}, false,
			[]verdict{{ledger.Shared, 3, 1, false}, {ledger.Shared, 3, 1, false}, {ledger.Shared, 3, 1, false}}},
		{"a batch with an event that waits", append(batch(2, 0), claim{Unit: "a", Batch: true, Waits: true}), ledger.Others{}, false,
			[]verdict{{ledger.Shared, 2, 1, false}, {ledger.Shared, 2, 1, false}, {ledger.Waited, 2, 0, false}}},
		{"a batch of three that waits as a whole", []claim{{Batch: true, Waits: true}, {Batch: true, Waits: true}, {Batch: true, Waits: true}}, ledger.Others{}, false,
			[]verdict{{ledger.Shared, 3, 2, false}, {ledger.Shared, 3, 2, false}, {ledger.Shared, 3, 2, false}}},
	} {
		if diff := cmp.Diff(one.want, ledger.Judge(one.own, one.others, !one.unsure)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", one.name, diff)
		}
	}
}

// As docs/semantics.md says: a crash during a half halves that one again, down to one event.
func TestHalvingFindsTheEventThatEndsItsProcess(t *testing.T) {
	for size := 1; size <= 200; size++ {
		left, crashes := size, 0
		var together int
		for alone := false; !alone && crashes < 100; crashes++ {
			all := make([]claim, left)
			for i := range all {
				all[i] = claim{Batch: true, Together: together}
			}
			v := ledger.Judge(all, ledger.Others{}, true)[0]
			alone, together = v.How == ledger.Alone, v.Together
			left = min(left, together)
		}
		most := 1
		for n := size; n > 1; n = (n + 1) / 2 {
			most++
		}
		if crashes != most {
			t.Errorf("of a batch of %d it is found after %d crashes, want %d", size, crashes, most)
		}
	}
}
