package record_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/breaking"
	"github.com/busgen/busgen/internal/catalogtest"
	"github.com/busgen/busgen/internal/record"
)

// What is hidden, and what is erased, does not change what is stored.
func TestSensitiveAndPersonalAreNotPartOfTheRecord(t *testing.T) {
	const head = "version: 1\npackage: shop\nevents: { user.registered: { payload: { email: { type: string"
	plain := catalogtest.Parsed(t, head+" } } } }\n")
	flagged := catalogtest.Parsed(t, head+", sensitive: true, personal: true } } } }\n")
	if diff := cmp.Diff(linesOf(record.FactsOf(plain)), linesOf(record.FactsOf(flagged))); diff != "" {
		t.Error(diff)
	}
	for _, states := range [][2]breaking.State{{{Catalogue: plain}, {Catalogue: flagged}}, {{Catalogue: flagged}, {Catalogue: plain}}} {
		if all, err := breaking.Compare(states[0], states[1]); err != nil || len(all) > 0 {
			t.Error(all, err)
		}
	}
}
