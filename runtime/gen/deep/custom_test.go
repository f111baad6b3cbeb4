package deep_test

import (
	"encoding/json"
	"math/big"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/gen/deep"
)

// tags has methods of its pointer, which take and return pointers.
type tags struct{ all []string }

func (t *tags) Clone() *tags           { return &tags{slices.Clone(t.all)} }
func (t *tags) Equal(other *tags) bool { return len(t.all) == len(other.all) }

// boxes has methods of its pointer, which take and return values.
type boxes struct{ all []string }

func (b *boxes) Clone() boxes           { return boxes{slices.Clone(b.all)} }
func (b *boxes) Equal(other boxes) bool { return len(b.all) == len(other.all) }

func TestMethodsOfPointersCopyAndCompare(t *testing.T) {
	oneTag, oneBox := tags{[]string{"a"}}, boxes{[]string{"a"}}
	copiedTag, copiedBox := deep.Custom(oneTag), deep.Custom(oneBox)
	oneTag.all[0], oneBox.all[0] = "b", "b"
	if copiedTag.all[0] != "a" || copiedBox.all[0] != "a" {
		t.Error("Clone was not called")
	}
	if !deep.EqualCustom(oneTag, copiedTag) || !deep.EqualCustom(oneBox, copiedBox) {
		t.Error("Equal was not called")
	}
}

func TestValuesWithTheSameJSONAreEqualIfItLeavesOutNothing(t *testing.T) {
	computed := *new(big.Int).Sub(big.NewInt(5), big.NewInt(5))
	if !deep.EqualCustom(computed, big.Int{}) {
		t.Error("two zeros differ")
	}
	parse := func(text string) url.URL {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return *u
	}
	if deep.EqualCustom(parse("https://ada@x.org"), parse("https://bob@x.org")) {
		t.Error("what the JSON leaves out does not count")
	}
	if !deep.EqualCustom(map[string]any{"n": 1}, map[string]any{"n": 1.0}) {
		t.Error("numbers of the same JSON differ")
	}
	if !deep.EqualCustom(cached{"a", 1}, cached{"a", 0}) {
		t.Error("what a type computes when it is read counts")
	}
	if deep.EqualCustom[any](func() {}, 1) {
		t.Error("what has no JSON is equal to something")
	}
}

type hidden struct{ secret int }

type (
	embedded struct{ hidden }
	ignored  struct {
		Skipped hidden `json:"-"`
	}
	named  int
	number struct{ named }
)

// cached computes a field that is not exported when it is read.
type cached struct {
	Text   string
	length int
}

func (c *cached) UnmarshalJSON(text []byte) error {
	c.length = len(text)
	type plain cached
	return json.Unmarshal(text, (*plain)(c))
}

func TestLeftOutFindsFieldsThatJSONLeavesOut(t *testing.T) {
	h := hidden{1}
	for _, test := range []struct {
		value any
		want  string
	}{
		{&h, "secret"},
		{&hidden{}, ""},
		{&[]*hidden{nil, &h}, "[1].secret"},
		{&map[string][]hidden{"a": {h}}, "[a][0].secret"},
		{&struct{ Any any }{h}, "Any.secret"},
		{&embedded{h}, "hidden.secret"},
		{&ignored{h}, ""},
		{&number{1}, "named"},
		{&struct{ At time.Time }{time.Now()}, ""}, // it has methods of its own
		{big.NewInt(7), ""},
		{&cached{"a", 1}, ""},
		{new(any), ""},
	} {
		if got := deep.LeftOut(test.value); got != test.want {
			t.Errorf("%#v: got %q, want %q", test.value, got, test.want)
		}
	}
}
