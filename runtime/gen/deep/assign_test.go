package deep_test

import (
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime/gen/deep"
)

func TestAnAssignedValueIsEqualAndSharesWhatItRefersTo(t *testing.T) {
	for _, value := range []any{
		new(leaf{Name: "oak", Notes: []string{"old"}}), new([3]byte{1, 2, 3}), new("text"), new(struct{}{}), new(any(7)), new(map[string]int{"one": 1}),
	} {
		of := reflect.TypeOf(value).Elem()
		to := reflect.New(of)
		deep.AssignerOf(of).Assign(to.Interface(), value)
		if got := to.Interface(); !reflect.DeepEqual(got, value) {
			t.Errorf("a %v is %v, want %v", of, got, value)
		}
	}
	from, to := leaf{Notes: []string{"old"}}, leaf{}
	deep.AssignerOf(reflect.TypeFor[leaf]()).Assign(&to, &from)
	from.Notes[0] = "new"
	if to.Notes[0] != "new" {
		t.Errorf("an assigned list has items of its own: %v", to.Notes)
	}
}

// The value may be on a stack, and what it refers to may not: the collector would free it, or the stack would move.
func TestWhatAnAssignedValueOnAStackRefersToIsKept(t *testing.T) {
	assigner := deep.AssignerOf(reflect.TypeFor[leaf]())
	kept := make([]leaf, 200)
	assign := func(i int) {
		from := leaf{Name: strings.Repeat("x", i), Notes: []string{strings.Repeat("y", i)}}
		assigner.Assign(&kept[i], &from)
	}
	for i := range kept {
		assign(i)
		if i%50 == 0 {
			runtime.GC()
		}
	}
	for i, got := range kept {
		if got.Name != strings.Repeat("x", i) || got.Notes[0] != strings.Repeat("y", i) {
			t.Fatalf("value %d is %v", i, got)
		}
	}
	from := leaf{Name: "oak"}
	if n := testing.AllocsPerRun(100, func() { assigner.Assign(&kept[0], &from) }); n != 0 {
		t.Errorf("assigning makes %v allocations", n)
	}
}
