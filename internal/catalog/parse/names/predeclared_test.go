package names

import (
	"go/types"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePredeclaredNamesAreThoseOfGo(t *testing.T) {
	want := types.Universe.Names() // they are sorted
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(predeclared))); diff != "" {
		t.Errorf("(-Go +predeclared):\n%s", diff)
	}
}
