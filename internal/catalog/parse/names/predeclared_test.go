package names

import (
	"go/types"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThePredeclaredNamesAreThoseOfGo(t *testing.T) {
	want := types.Universe.Names() // they are sorted
	if diff := cmp.Diff(want, slices.Sorted(slices.Values(predeclared))); diff != "" {
		t.Errorf("(-Go +predeclared):\n%s", diff)
	}
}
