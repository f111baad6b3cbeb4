package templates

import (
	"fmt"
	"testing"

	"github.com/dave/jennifer/jen"
)

func TestEveryTypeHasAWayToCopyAndCompareIt(t *testing.T) {
	tests := []struct {
		name, field, clone, equal string // no clone: assigning is one
	}{
		{"text", `string`, ``, `p.F == other.F`},
		{"a moment", `time`, ``, `p.F.Equal(other.F)`},
		{"optional text", `"string?"`, `deep.Pointer(p.F)`, `deep.EqualPointers(p.F, other.F)`},
		{"an optional moment", `"time?"`, `deep.Pointer(p.F)`, `deep.EqualPointersFunc(p.F, other.F, time.Time.Equal)`},
		{"bytes", `"bytes?"`, `slices.Clone(p.F)`, `bytes.Equal(p.F, other.F)`},
		{"JSON", `json`, `slices.Clone(p.F)`, `bytes.Equal(p.F, other.F)`},
		{"a flat struct", `Flat`, ``, `p.F == other.F`},
		{"a struct", `Named`, `p.F.Clone()`, `p.F.Equal(other.F)`},
		{"an optional struct", `"Named?"`, `deep.PointerFunc(p.F, Named.Clone)`, `deep.EqualPointersFunc(p.F, other.F, Named.Equal)`},
		{"a list of texts", `"[]string"`, `slices.Clone(p.F)`, `slices.Equal(p.F, other.F)`},
		{"a list of structs", `"[]Named?"`, `deep.List(p.F, Named.Clone)`, `slices.EqualFunc(p.F, other.F, Named.Equal)`},
		{"a list of bytes", `"[]bytes"`, `deep.List(p.F, func(item []byte) []byte { return slices.Clone(item) })`,
			`slices.EqualFunc(p.F, other.F, func(a, b []byte) bool { return bytes.Equal(a, b) })`},
		{"a map of days", `"map[string]date"`, `maps.Clone(p.F)`, `maps.Equal(p.F, other.F)`},
		{"a map of lists", `"map[string][]int"`, `deep.Map(p.F, func(item []int) []int { return slices.Clone(item) })`,
			`maps.EqualFunc(p.F, other.F, func(a, b []int) bool { return slices.Equal(a, b) })`},
		{"a custom type", `"[]Custom"`, `deep.List(p.F, deep.Custom)`, `slices.EqualFunc(p.F, other.F, deep.EqualCustom)`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, `
types:
  Flat: { fields: { x: int, d: date } }
  Named: { fields: { x: "[]int" } }
  Custom: { go: { import: example.com/custom, type: Custom }, type: string }
events:
  e: { payload: { f: `+test.field+`, t: time } }
`)
			f := c.Events[0].Fields[0]
			p, other := jen.Id("p").Dot("F"), jen.Id("other").Dot("F")
			got := ""
			if needsClone(f.Type) {
				got = fmt.Sprintf("%#v", cloneField(f.Type, p, false))
			}
			if got != test.clone {
				t.Errorf("it is copied by %s, want %s", got, test.clone)
			}
			if got := fmt.Sprintf("%#v", equalField(f.Type, p, other, false)); got != test.equal {
				t.Errorf("it is compared by %s, want %s", got, test.equal)
			}
		})
	}
}

func TestATypeThatContainsItselfIsFollowedToALimit(t *testing.T) {
	c := parsed(t, `
types:
  Tree: { fields: { label: string, children: "[]Tree" } }
events:
  ping: {}
`)
	tree := typeShape(c.Types[0])
	emits(t, `
// Validate returns nil or a [*runtime.ValidationError] with every problem.
func (v Tree) Validate() error { return v.validate(new(deep.Descent)) }

func (v Tree) validate(d *deep.Descent) error {
	if !d.Enter() {
		return d.Err()
	}
	defer d.Leave()
	var problems checks.Problems
	problems.Text("label", v.Label)
	for i, item := range v.Children {
		problems.Item("children", i, item.validate(d))
	}
	return problems.Err()
}

// Clone returns a deep copy of v. It panics if v contains itself.
func (v Tree) Clone() Tree { return v.clone(new(deep.Descent)) }

func (v Tree) clone(d *deep.Descent) Tree {
	d.MustEnter()
	defer d.Leave()
	v.Children = deep.List(v.Children, func(item Tree) Tree { return item.clone(d) })
	return v
}

// Equal reports whether v and other have the same content. Times are compared
// as moments, and nil equals an empty list or map. It panics if v contains
// itself.
func (v Tree) Equal(other Tree) bool { return v.equal(other, new(deep.Descent)) }

func (v Tree) equal(other Tree, d *deep.Descent) bool {
	d.MustEnter()
	defer d.Leave()
	return v.Label == other.Label &&
		slices.EqualFunc(v.Children, other.Children, func(a, b Tree) bool { return a.equal(b, d) })
}
`, validateStruct(tree), cloneStruct(tree), equalStruct(tree))
}
