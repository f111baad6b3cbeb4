package templates

import "testing"

func TestEachConstraintIsALineOfValidate(t *testing.T) {
	tests := []struct {
		name, field, want string
	}{
		{"bounds of a number", `{ type: int, min: -1, max: 10 }`, `
	problems.IntAtLeast("f", int64(p.F), -1)
	problems.IntAtMost("f", int64(p.F), 10)`},
		{"a bound of an optional number", `{ type: "float64?", max: 0.5 }`, `
	if p.F != nil {
		problems.Finite("f", *p.F)
		problems.FloatAtMost("f", *p.F, 0.5)
	}`},
		{"bounds of a decimal", `{ type: decimal, min: 0.01 }`, `
	problems.Nested("f", p.F.Validate())
	problems.DecimalAtLeast("f", string(p.F), "0.01")`},
		{"bounds of an optional decimal", `{ type: "decimal?", max: 1 }`, `
	if p.F != nil {
		problems.Nested("f", p.F.Validate())
		problems.DecimalAtMost("f", string(*p.F), "1")
	}`},
		{"bounds of a duration", `{ type: duration, min: 90s }`, `
	problems.DurationAtLeast("f", time.Duration(p.F), 90*time.Second)`},
		{"a text", `{ type: string, min_length: 1, max_length: 20, format: email }`, `
	problems.Text("f", p.F)
	problems.MinLength("f", p.F, 1)
	problems.MaxLength("f", p.F, 20)
	problems.Format("f", p.F, "email")`},
		{"optional bytes, which have no pointer", `{ type: "bytes?", min_length: 1 }`, `
	if p.F != nil {
		problems.MinBytes("f", p.F, 1)
	}`},
		{"bounds of a large number", `{ type: uint64, min: 1 }`, `
	problems.UintAtLeast("f", p.F, 1)`},
		{"a bound of 64 bits", `{ type: int64, max: 9007199254740993 }`, `
	problems.IntAtMost("f", p.F, 9007199254740993)`},
		{"a list of texts", `{ type: "[]string", unique: true }`, `
	for i, item := range p.F {
		problems.TextItem("f", i, item)
	}
	problems.UniqueStrings("f", p.F)`},
		{"a list", `{ type: "[]int", min_items: 1, max_items: 16, unique: true }`, `
	problems.MinItems("f", len(p.F), 1)
	problems.MaxItems("f", len(p.F), 16)
	checks.Unique(&problems, "f", p.F)`},
		{"what is in a list", `{ type: "[]string", min_items: 1, items: { min_length: 1, format: email } }`, `
	for i, item := range p.F {
		var inner checks.Problems
		inner.Text("", item)
		inner.MinLength("", item, 1)
		inner.Format("", item, "email")
		problems.Item("f", i, inner.Err())
	}
	problems.MinItems("f", len(p.F), 1)`},
		{"what is in an optional map", `{ type: "map[string]int?", values: { max: 5 }, sensitive: true }`, `
	for key, value := range p.F {
		problems.Key("f", key)
		var inner checks.Problems
		inner.IntAtMost("", int64(value), 5)
		problems.Entry("f", key, inner.Err())
	}
	problems.Hide("f")`},
		{"what is in what is in a list", `{ type: "[]map[string]string", items: { max_items: 9, values: { pattern: a } } }`, `
	for i, item := range p.F {
		var inner checks.Problems
		for key, value := range item {
			inner.Key("", key)
			var inner2 checks.Problems
			inner2.Text("", value)
			inner2.Pattern("", value, patternsOfE.items2OfF)
			inner.Entry("", key, inner2.Err())
		}
		inner.MaxItems("", len(item), 9)
		problems.Item("f", i, inner.Err())
	}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := parsed(t, `
events:
  e: { payload: { f: `+test.field+` } }
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

func TestAPatternIsCompiledOnce(t *testing.T) {
	c := parsed(t, "events:\n  e: { payload: { sku: { type: string, pattern: '^\\w+$' }, note: { type: \"string?\", pattern: 'a`?' } } }\n")
	emits(t, "var patternsOfE = struct {\n"+
		"	SKU  *regexp.Regexp\n"+
		"	Note *regexp.Regexp\n"+
		"}{\n"+
		"	SKU:  regexp.MustCompile(`^\\w+$`),\n"+
		"	Note: regexp.MustCompile(\"a`?\"),\n"+
		"}", patterns(eventShape(c.Events[0])))
	emits(t, `
// Validate returns nil or a [*runtime.ValidationError] with every problem.
func (p E) Validate() error {
	var problems checks.Problems
	problems.Text("sku", p.SKU)
	problems.Pattern("sku", p.SKU, patternsOfE.SKU)
	if p.Note != nil {
		problems.Text("note", *p.Note)
		problems.Pattern("note", *p.Note, patternsOfE.Note)
	}
	return problems.Err()
}`, validateStruct(eventShape(c.Events[0])))
}

func TestADefaultIsAMethod(t *testing.T) {
	c := parsed(t, `
types: { Size: { enum: [S, M] } }
events:
  e: { payload: { wait: { type: "duration?", default: 2h, deprecated: do not }, size: { type: "Size?", default: M } } }
`)
	emits(t, `
// WaitOrDefault returns Wait, or "2h0m0s" if it is absent.
//
// Deprecated: do not
func (p E) WaitOrDefault() runtime.Duration {
	if p.Wait == nil {
		return runtime.Duration(2 * time.Hour)
	}
	return *p.Wait
}

// SizeOrDefault returns Size, or "M" if it is absent.
func (p E) SizeOrDefault() Size {
	if p.Size == nil {
		return SizeM
	}
	return *p.Size
}
`, defaults(eventShape(c.Events[0]))...)
}
