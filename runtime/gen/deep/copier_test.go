package deep_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
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

func TestListsOfEachLengthAreCopied(t *testing.T) {
	type item struct {
		Text string
		At   time.Time
		Next [2]int
	}
	c := deep.CopierOf(reflect.TypeFor[[]item]())
	for n := range 8 {
		from := make([]item, n, n+2)
		for i := range from {
			from[i] = item{Text: fmt.Sprint("item ", i), At: time.Unix(int64(i), 0), Next: [2]int{i, -i}}
		}
		want := slices.Clone(from)
		var to []item
		c.Into(&to, &from)
		if !slices.Equal(to, want) || to == nil {
			t.Errorf("a list of %d items is copied as %v", n, to)
		}
		if 0 < n && n <= 4 && cap(to) != n {
			t.Errorf("a list of %d items says that it has room for %d", n, cap(to))
		}
		to = append(to, item{})
		clear(to)
		if !slices.Equal(from, want) || !slices.Equal(from[:cap(from)][n:], make([]item, 2)) {
			t.Errorf("a list of %d items shares memory with its copy", n)
		}
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

// Things of the types of people, and unions.
type (
	shown  interface{ show() }
	circle struct{ Corners []string }
	square struct{ Sides map[string]*circle }
	secret struct{ seen []string }
	stored struct {
		Shown   shown
		ByName  map[string][]shown
		Boxed   boxed
		Tags    tags
		Secret  secret
		Pair    [2][]int
		Number  big.Int
		Address *netip.Addr
		Cached  cached
	}
)

func (circle) show() {}
func (square) show() {}

func someStored() stored {
	address := netip.MustParseAddr("::1")
	return stored{
		Shown:  circle{[]string{"a"}},
		ByName: map[string][]shown{"k": {square{map[string]*circle{"top": {[]string{"b"}}}}, nil}},
		Boxed:  boxed{[]string{"c"}}, Tags: tags{[]string{"d"}}, Secret: secret{[]string{"e"}}, Pair: [2][]int{{1}, {2}},
		Number: *big.NewInt(5), Address: &address, Cached: cached{"f", 1},
	}
}

func TestSeparateCopiesUnionsAndCallsTheMethodsCloneOfOtherTypes(t *testing.T) {
	from := someStored()
	to := from
	deep.Separate(&to)
	if !deep.Equal(&to, &from) || !reflect.DeepEqual(to, from) {
		t.Errorf("got %+v, want %+v", to, from)
	}
	to.Shown.(circle).Corners[0], to.Boxed.tags[0], to.Tags.all[0], to.Pair[1][0] = "x", "x", "x", 7
	to.ByName["k"][0].(square).Sides["top"].Corners[0] = "x"
	*to.Address = netip.Addr{}
	want := someStored()
	if !reflect.DeepEqual(from, want) {
		t.Errorf("it shares something: %+v, want %+v", from, want)
	}
	if to.Secret.seen[0] = "x"; from.Secret.seen[0] != "x" {
		t.Error("what nobody else sees was not copied by assignment")
	}
}

func TestEqualCallsTheMethodsEqualOfOtherTypes(t *testing.T) {
	one := someStored()
	for name, test := range map[string]struct {
		change func(s *stored)
		want   bool
	}{
		"another variant":            {func(s *stored) { s.Shown = square{} }, false},
		"no variant":                 {func(s *stored) { s.Shown = nil }, false},
		"in a variant":               {func(s *stored) { s.Shown = circle{[]string{"x"}} }, false},
		"in a variant far inside":    {func(s *stored) { s.ByName = map[string][]shown{"k": {square{}, nil}} }, false},
		"what Equal does not see":    {func(s *stored) { s.Boxed.tags = []string{"x"} }, true},
		"what Equal sees":            {func(s *stored) { s.Tags = tags{} }, false},
		"what is not exported":       {func(s *stored) { s.Secret = secret{} }, false},
		"another form of the number": {func(s *stored) { s.Number = *new(big.Int).Sub(big.NewInt(9), big.NewInt(4)) }, true},
		"another number":             {func(s *stored) { s.Number = *big.NewInt(6) }, false},
		"an item of an array":        {func(s *stored) { s.Pair = [2][]int{{1}, {3}} }, false},
		"no address":                 {func(s *stored) { s.Address = nil }, false},
		"what its JSON leaves out":   {func(s *stored) { s.Cached.length = 7 }, true},
		"what its JSON has":          {func(s *stored) { s.Cached.Text = "x" }, false},
	} {
		other := someStored()
		test.change(&other)
		if deep.Equal(&one, &other) != test.want || deep.Equal(&other, &one) != test.want {
			t.Errorf("%s: want %v", name, test.want)
		}
	}
	full, empty := twin{[]*branch{}}, twin{}
	if !deep.Equal(&full, &empty) {
		t.Error("nil does not equal an empty list")
	}
}

// loud has methods that panic.
type loud struct{ N int }

func (loud) Clone() loud     { panic("loud") }
func (loud) Equal(loud) bool { panic("loud") }

// other has methods of these names that do something else.
type other struct{ N []int }

func (other) Clone(int) other    { panic("it is called") }
func (other) Equal(...any) other { panic("it is called") }

func TestMethodsOfPeopleMayPanicOrDoSomethingElse(t *testing.T) {
	for name, call := range map[string]func(){
		"Clone": func() { deep.Separate(&[]loud{{1}}) },
		"Equal": func() { deep.Equal(&loud{1}, &loud{1}) },
	} {
		func() {
			defer func() {
				if got := recover(); got != "loud" {
					t.Errorf("%s: got %v", name, got)
				}
			}()
			call()
		}()
	}
	one := other{[]int{1}}
	two := one
	deep.Separate(&two)
	if two.N[0] = 2; one.N[0] != 1 || deep.Equal(&one, &two) {
		t.Error("it is not copied and compared by its fields")
	}
}

func TestAValueThatContainsItselfPanics(t *testing.T) {
	endless := branch{}
	endless.Parent = &endless
	list := []any{nil}
	list[0] = list
	for name, call := range map[string]func(){
		"a copy": func() { deep.Separate(&endless) }, "a comparison": func() { deep.Equal(&endless, &endless) },
		"a copy of a list": func() { deep.Separate(&list) }, "a comparison of lists": func() { deep.Equal(&list, &list) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s ends", name)
				}
			}()
			call()
		}()
	}
}
