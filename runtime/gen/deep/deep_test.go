package deep_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/gen/deep"
)

// boxed has methods of its own to copy and compare it.
type boxed struct{ tags []string }

func (b boxed) Clone() boxed           { return boxed{slices.Clone(b.tags)} }
func (b boxed) Equal(other boxed) bool { return len(b.tags) == len(other.tags) }

func TestCustomTypesAreCopiedAndComparedByTheirOwnMethods(t *testing.T) {
	original := boxed{[]string{"a"}}
	copied := deep.Custom(original)
	original.tags[0] = "b"
	if copied.tags[0] != "a" {
		t.Error("Clone was not called")
	}
	if !deep.EqualCustom(original, copied) {
		t.Error("Equal was not called")
	}
	now := time.Now()
	if !deep.EqualCustom(now, now.UTC()) {
		t.Error("times are not compared as moments")
	}
	if deep.Custom(7) != 7 || deep.EqualCustom(*big.NewInt(1), *big.NewInt(2)) || !deep.EqualCustom([]int{1}, []int{1}) {
		t.Error("a type without methods is not assigned and compared deeply")
	}
}

func TestADescentEndsAtItsLimitAndStaysThere(t *testing.T) {
	var d deep.Descent
	for range deep.MaxDepth {
		if !d.Enter() {
			t.Fatal("it ends before its limit")
		}
	}
	if d.Enter() {
		t.Fatal("it goes on below its limit")
	}
	if err := d.Err(); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("got %v", err)
	}
	d.Leave()
	if d.Enter() || d.Err() != nil {
		t.Error("it goes on after it has ended, or reports the same again")
	}
}
