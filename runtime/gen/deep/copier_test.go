package deep_test

import (
	"encoding/json"
	"math/big"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/gen/deep"
)

type leaf struct {
	Name  string
	Notes []string
	At    *time.Time
	Day   runtime.Date
}

type (
	branch struct {
		Leaf    leaf
		Leaves  []leaf
		ByName  map[string]leaf
		Parent  *branch
		Partner twin
		Matrix  [][]int
		Raw     json.RawMessage
		Bytes   map[string][]byte
		ID      [16]byte
		Flat    int
	}
	// twin and branch contain each other.
	twin struct{ Of []*branch }
)

func branches(depth int) *rapid.Generator[branch] {
	return rapid.Custom(func(t *rapid.T) branch {
		b := branch{
			Leaf:   rapid.Make[leaf]().Draw(t, "leaf"),
			Leaves: rapid.SliceOfN(rapid.Make[leaf](), 0, 2).Draw(t, "leaves"),
			ByName: rapid.MapOfN(rapid.String(), rapid.Make[leaf](), 0, 2).Draw(t, "by name"),
			Matrix: rapid.Make[[][]int]().Draw(t, "matrix"),
			Raw:    rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "raw"),
			Bytes:  rapid.Make[map[string][]byte]().Draw(t, "bytes"),
			Flat:   rapid.Int().Draw(t, "flat"),
		}
		if depth > 0 {
			b.Parent = rapid.Ptr(branches(depth-1), true).Draw(t, "parent")
			b.Partner.Of = rapid.SliceOfN(rapid.Ptr(branches(depth-1), true), 0, 2).Draw(t, "partners")
		}
		return b
	})
}

func TestACopierCopiesEverythingAndSharesNothing(t *testing.T) {
	copier := deep.CopierOf(reflect.TypeFor[branch]())
	rapid.Check(t, func(t *rapid.T) {
		from := branches(2).Draw(t, "branch")
		var to branch
		copier.Into(&to, &from)
		if !reflect.DeepEqual(to, from) {
			t.Fatalf("%+v has become %+v", from, to)
		}
		addresses := map[uintptr]string{}
		memory(reflect.ValueOf(from), "from", func(at uintptr, path string) { addresses[at] = path })
		memory(reflect.ValueOf(to), "to", func(at uintptr, path string) {
			if other, shared := addresses[at]; shared {
				t.Fatalf("%s is %s", path, other)
			}
		})
	})
}

// memory calls found for the address of everything that a value refers to, and could share.
func memory(v reflect.Value, path string, found func(at uintptr, path string)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*time.Location]() {
			found(v.Pointer(), path)
			memory(v.Elem(), path+"*", found)
		}
	case reflect.Slice:
		if v.Cap() > 0 {
			found(v.Pointer(), path)
		}
		for i := range v.Len() {
			memory(v.Index(i), path+"[]", found)
		}
	case reflect.Map:
		if !v.IsNil() {
			found(v.Pointer(), path)
			for all := v.MapRange(); all.Next(); {
				memory(all.Value(), path+"[key]", found)
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			memory(v.Field(i), path+"."+v.Type().Field(i).Name, found)
		}
	}
}

// outer is still being looked into when inner is found, which has one in it.
type (
	outer struct{ Inner *inner }
	inner struct{ Outer outer }
)

func TestATypeThatIsFoundInsideOfItselfIsCopied(t *testing.T) {
	from := outer{&inner{outer{&inner{}}}}
	var to outer
	deep.CopierOf(reflect.TypeFor[outer]()).Into(&to, &from)
	if !reflect.DeepEqual(to, from) || to.Inner == from.Inner || to.Inner.Outer.Inner == from.Inner.Outer.Inner {
		t.Error("the copy shares something")
	}
}

func TestNilAndEmptyStayWhatTheyAre(t *testing.T) {
	from := branch{Leaves: []leaf{}, ByName: map[string]leaf{}}
	to := from
	deep.Separate(&to)
	if to.Leaves == nil || to.ByName == nil || to.Matrix != nil || to.Bytes != nil || to.Parent != nil {
		t.Errorf("it has become %+v", to)
	}
}

func TestThereIsNoCopierForWhatOnlyItsOwnCodeCanCopy(t *testing.T) {
	for _, of := range []reflect.Type{
		reflect.TypeFor[struct{ Any any }](), reflect.TypeFor[struct{ Number big.Int }](), reflect.TypeFor[map[[2]int]int](),
		reflect.TypeFor[[]func()](), reflect.TypeFor[struct{ hidden []int }](), reflect.TypeFor[[2][]int](),
	} {
		if deep.CopierOf(of) != nil {
			t.Errorf("there is one for %v", of)
		}
	}
}

func TestEqualComparesContent(t *testing.T) {
	now := time.Now()
	elsewhere := now.In(time.FixedZone("elsewhere", 3600)).Round(0)
	one := branch{Leaf: leaf{At: &now}, Leaves: []leaf{{Name: "a"}}, ByName: map[string]leaf{"k": {}}, Raw: []byte("1"), Matrix: [][]int{{1}, nil}}
	same := one
	deep.Separate(&same)
	same.Leaf.At, same.Bytes, same.Leaf.Notes, same.Matrix[1] = &elsewhere, map[string][]byte{}, []string{}, []int{}
	if !deep.Equal(&one, &same) || !deep.Equal(&same, &one) {
		t.Error("the same content is not equal")
	}
	for name, change := range map[string]func(b *branch){
		"a text":          func(b *branch) { b.Leaf.Name = "x" },
		"a moment":        func(b *branch) { later := now.Add(1); b.Leaf.At = &later },
		"no moment":       func(b *branch) { b.Leaf.At = nil },
		"a longer list":   func(b *branch) { b.Leaves = append(b.Leaves, leaf{}) },
		"an item":         func(b *branch) { b.Leaves[0].Day.Year = 1 },
		"an entry":        func(b *branch) { b.ByName["k"] = leaf{Name: "x"} },
		"another key":     func(b *branch) { delete(b.ByName, "k"); b.ByName["l"] = leaf{} },
		"bytes":           func(b *branch) { b.Raw = []byte("2") },
		"a number inside": func(b *branch) { b.Matrix[0][0] = 2 },
		"an array":        func(b *branch) { b.ID[3] = 1 },
		"a parent":        func(b *branch) { b.Parent = &branch{} },
	} {
		other := one
		deep.Separate(&other)
		if change(&other); deep.Equal(&one, &other) || deep.Equal(&other, &one) {
			t.Errorf("%s makes no difference", name)
		}
	}
}
