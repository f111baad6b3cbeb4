package templates

import "testing"

func TestValidateChecksForGoValuesThatEventsCannotHold(t *testing.T) {
	tests := []struct {
		name, field, want string
	}{
		{"text", `string`, `
	problems.Text("f", p.F)`},
		{"a number", `float64`, `
	problems.Finite("f", p.F)`},
		{"a day", `date`, `
	problems.Nested("f", p.F.Validate())`},
		{"a named type", `Named`, `
	problems.Nested("f", p.F.Validate())`},
		{"optional text", `string?`, `
	if p.F != nil {
		problems.Text("f", *p.F)
	}`},
		{"an optional named type", `Named?`, `
	if p.F != nil {
		problems.Nested("f", p.F.Validate())
	}`},
		{"an optional list, which has no pointer", `"[]string?"`, `
	for i, item := range p.F {
		problems.TextItem("f", i, item)
	}`},
		{"a list", `"[]Named"`, `
	for i, item := range p.F {
		problems.Item("f", i, item.Validate())
	}`},
		{"a map", `map[string]float64`, `
	for key, value := range p.F {
		problems.Key("f", key)
		problems.FiniteEntry("f", key, value)
	}`},
		{"a map of whatever, for its keys", `map[string]int`, `
	for key := range p.F {
		problems.Key("f", key)
	}`},
		{"lists of lists of lists", `"[][][]string"`, `
	for i, item := range p.F {
		var inner checks.Problems
		for j, item := range item {
			var inner2 checks.Problems
			for k, item := range item {
				inner2.TextItem("", k, item)
			}
			inner.Item("", j, inner2.Err())
		}
		problems.Item("f", i, inner.Err())
	}`},
		{"a map of lists", `"map[string][]Named"`, `
	for key, value := range p.F {
		problems.Key("f", key)
		var inner checks.Problems
		for j, item := range value {
			inner.Item("", j, item.Validate())
		}
		problems.Entry("f", key, inner.Err())
	}`},
		{"sensitive text", `{ type: string, sensitive: true, max_length: 4 }`, `
	problems.Text("f", p.F)
	problems.MaxLength("f", p.F, 4)
	problems.Hide("f")`},
		{"an optional sensitive type", `{ type: "Named?", sensitive: true }`, `
	if p.F != nil {
		problems.Nested("f", p.F.Validate())
	}
	problems.Hide("f")`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, `
types:
  Named: { fields: { x: int } }
events:
  e:
    payload:
      unchecked: int
      f: `+test.field+`
`)
			emits(t, `
// Validate returns nil or a [*runtime.ValidationError] with every problem.
func (p E) Validate() error {
	var problems checks.Problems`+test.want+`
	return problems.Err()
}`, validateStruct(eventShape(c.Events[0])))
		})
	}
}

func TestValidateIsEmptyIfEveryValueIsValid(t *testing.T) {
	c := parsed(t, `
events:
  e: { payload: { a: bool, b: int, c: int32, d: int64, e: uint64, f: bytes, g: time, h: duration, i: uuid, j: json, k: "[]int", l: "time?" } }
`)
	emits(t, `
// Validate returns nil: every value of E is valid.
func (E) Validate() error { return nil }
`, validateStruct(eventShape(c.Events[0])))
}

func TestATypeThatContainsItselfIsFollowedToALimit(t *testing.T) {
	c := parsed(t, `
types:
  Tree: { fields: { label: string, children: "[]Tree" } }
events:
  ping: {}
`)
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
`, validateStruct(typeShape(c.Types[0])))
}
