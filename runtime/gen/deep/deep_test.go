package deep_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/gen/deep"
)

func TestNilStaysNilAndEmptyStaysEmpty(t *testing.T) {
	clone := func(s []int) []int { return slices.Clone(s) }
	if deep.Pointer[int](nil) != nil || deep.PointerFunc(nil, clone) != nil || deep.List(nil, clone) != nil || deep.Map(nil, clone) != nil {
		t.Error("nil has become something")
	}
	if deep.List([][]int{}, clone) == nil || deep.Map(map[string][]int{}, clone) == nil {
		t.Error("something empty has become nil")
	}
}

func TestACopySharesNothing(t *testing.T) {
	clone := func(s []int) []int { return slices.Clone(s) }
	number, list := 1, []int{1}
	lists, named := [][]int{{1}}, map[string][]int{"a": {1}}
	pointer, pointed, copiedLists, copiedNamed := deep.Pointer(&number), deep.PointerFunc(&list, clone), deep.List(lists, clone), deep.Map(named, clone)
	number, list[0], lists[0][0], named["a"][0] = 2, 2, 2, 2
	if *pointer != 1 || (*pointed)[0] != 1 || copiedLists[0][0] != 1 || copiedNamed["a"][0] != 1 {
		t.Error(*pointer, *pointed, copiedLists, copiedNamed)
	}
}

func TestPointersAreEqualIfTheirValuesAre(t *testing.T) {
	one, uno, two := 1, 1, 2
	equal := func(a, b int) bool { return a == b }
	for _, test := range []struct {
		a, b *int
		want bool
	}{{nil, nil, true}, {&one, nil, false}, {nil, &one, false}, {&one, &uno, true}, {&one, &two, false}} {
		if deep.EqualPointers(test.a, test.b) != test.want || deep.EqualPointersFunc(test.a, test.b, equal) != test.want {
			t.Errorf("%v and %v: want %v", test.a, test.b, test.want)
		}
	}
}

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
	defer func() {
		if recover() == nil {
			t.Error("MustEnter does not panic")
		}
	}()
	d.MustEnter()
}
