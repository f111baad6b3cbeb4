package templates

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// validateStruct emits
//
//	// Validate returns nil or a [*runtime.ValidationError] with every problem.
//	func (<p> <Type>) Validate() error {
//		var problems checks.Problems
//		<checks>
//		return problems.Err()
//	}
//
// or, when no field can be wrong,
//
//	// Validate returns nil: every value of <Type> is valid.
//	func (<Type>) Validate() error { return nil }
//
// and for a struct that can contain itself
//
//	func (<v> <Type>) Validate() error { return <v>.validate(new(deep.Descent)) }
//
//	func (<v> <Type>) validate(d *deep.Descent) error {
//		if !d.Enter() {
//			return d.Err()
//		}
//		defer d.Leave()
//		<as above>
//	}
func validateStruct(s shape) *jen.Statement {
	var checks []jen.Code
	for _, f := range s.fields {
		checks = append(checks, hiding(f, checkField(s, f))...)
	}
	if checks == nil {
		return comment("Validate returns nil: every value of "+s.goName+" is valid.").
			Func().Params(jen.Id(s.goName)).Id("Validate").Params().Error().Custom(oneLineBody, jen.Return(jen.Nil()))
	}
	body := []jen.Code{jen.Var().Id(collector(0)).Add(inChecks("Problems"))}
	body = append(append(body, checks...), jen.Return(jen.Id(collector(0)).Dot("Err").Call()))
	method := comment("Validate returns nil or a [*runtime.ValidationError] with every problem.").
		Func().Params(jen.Id(s.receiver).Id(s.goName)).Id("Validate").Params().Error()
	if !s.recursive {
		return method.Block(body...)
	}
	guard := []jen.Code{
		jen.If(jen.Op("!").Id("d").Dot("Enter").Call()).Block(jen.Return(jen.Id("d").Dot("Err").Call())),
		jen.Defer().Id("d").Dot("Leave").Call(),
	}
	return method.Custom(oneLineBody, jen.Return(jen.Id(s.receiver).Dot("validate").Call(newDescent()))).Line().Line().
		Func().Params(jen.Id(s.receiver).Id(s.goName)).Id("validate").Params(descentParam()).Error().Block(append(guard,
		body...)...)
}

// checkable reports whether some Go values of a type are invalid, or some of what is in a list or a map is against
// its constraints.
func checkable(t *catalog.TypeRef, c catalog.Constraints) bool {
	if t.Scalar != nil {
		return checkableScalar(t.Scalar)
	}
	if t.Go != nil {
		return true
	}
	switch t.Kind {
	case catalog.String, catalog.Float64, catalog.Date, catalog.Decimal, catalog.Named, catalog.Map:
		return true
	case catalog.List:
		return c.Each != nil || checkable(t.Elem, catalog.Constraints{})
	}
	return false
}

// checkField emits the checks of one field, for an optional or nullable scalar as
//
//	if <p>.<Field> != nil {
//		<checks of *<p>.<Field>>
//	}
func checkField(s shape, f *catalog.Field) []jen.Code {
	field := jen.Id(s.receiver).Dot(f.GoName)
	at := place{depth: 0, path: jen.Lit(f.Name.V), within: s.recursive, patterns: patternsName(s), field: f}
	value, named := field, field
	if f.Type.MayBeNil() && !hasNil(f.Type) {
		value = jen.Op("*").Add(field)
		if named = value; hasValidate(f.Type) {
			named = field // methods are called through the pointer
		}
	}
	var checks []jen.Code
	if checkable(f.Type, f.Constraints) {
		checks = append(checks, check(f.Type, f.Constraints, named, at))
	}
	constraints := checkConstraints(f.Type, f.Constraints, value, at)
	if !f.Type.MayBeNil() {
		return append(checks, constraints...)
	}
	present := func(checks []jen.Code) []jen.Code {
		return []jen.Code{jen.If(field.Clone().Op("!=").Nil()).Block(checks...)}
	}
	switch {
	case hasNil(f.Type) && !f.Type.IsUnion() && constraints == nil: // nothing is checked of nil
		return checks
	case checks == nil && constraints == nil:
		return nil
	}
	return present(append(checks, constraints...))
}

// hiding emits, after the checks of a sensitive field,
//
//	problems.Hide("<field>")
func hiding(f *catalog.Field, checks []jen.Code) []jen.Code {
	if !f.Sensitive.V || len(checks) == 0 {
		return checks
	}
	return append(checks, jen.Id(collector(0)).Dot("Hide").Call(jen.Lit(f.Name.V)))
}

// place says where a checked value is, for the path of its problems.
type place struct {
	depth  int            // of the collection that holds it; 0 for a field
	path   *jen.Statement // of the field, or "" inside a collection of its own
	index  *jen.Statement // of a list's element or a map's value
	kind   string         // "", Item or Entry
	within bool           // the value is in a struct that can contain itself

	patterns string         // the variable with the patterns of the struct
	field    *catalog.Field // whose value it is, or contains it
	inside   int            // how many lists and maps of the field it is in
}

// report emits one of
//
//	problems.<Text>("<field>", <args>)
//	problems.<Text>Item("<field>", <i>, <args>)
//	problems.<Text>Entry("<field>", <key>, <args>)
//
// where the method for errors is called Nested outside collections, and just
// Item and Entry inside them.
func (at place) report(method string, arg jen.Code) *jen.Statement {
	if at.kind == "" {
		return jen.Id(collector(at.depth)).Dot(method).Call(at.path, arg)
	}
	if method == "Nested" {
		method = ""
	}
	return jen.Id(collector(at.depth)).Dot(method+at.kind).Call(at.path, at.index, arg)
}

// check emits the check of a value of type t, and of the constraints of what is in it. It must be checkable.
func check(t *catalog.TypeRef, c catalog.Constraints, value *jen.Statement, at place) jen.Code {
	switch {
	case t.Scalar != nil:
		return at.report("Nested", validity(t, value, at.within))
	case t.Go != nil:
		return at.report("Nested", inChecks("GoType").Types(usualType(t)).Call(value))
	case t.Kind == catalog.String:
		return at.report("Text", value)
	case t.Kind == catalog.Float64:
		return at.report("Finite", value)
	case t.IsCollection():
		return checkCollection(t, c, value, at)
	}
	return at.report("Nested", validity(t, value, at.within))
}

// validity emits one of these, with a descent where values contain themselves:
//
//	<value>.Validate()
//	validate<Union>(<value>)
//	checks.Custom(<value>)
//	checks.CustomAs[<usual Go type>](<value>)
func validity(t *catalog.TypeRef, value *jen.Statement, within bool) *jen.Statement {
	switch {
	case t.IsCustom() && t.Named.Custom.JSON.Kind == catalog.JSON:
		return inChecks("Custom").Call(value)
	case t.IsCustom():
		usual := usualType(t.Named.Custom.JSON)
		if t.MayBeNil() {
			usual = jen.Op("*").Add(usual)
		}
		return inChecks("CustomAs").Types(usual).Call(value)
	case t.IsUnion() && descends(within, t):
		return jen.Id(validateUnionName(t.Named)).Call(value, jen.Id("d"))
	case t.IsUnion() && hasDescent(t.Named):
		return jen.Id(validateUnionName(t.Named)).Call(value, newDescent())
	case t.IsUnion():
		return jen.Id(validateUnionName(t.Named)).Call(value)
	case t.IsStruct() && descends(within, t):
		return value.Clone().Dot("validate").Call(jen.Id("d"))
	}
	return value.Clone().Dot("Validate").Call()
}

// hasValidate reports whether a type has a method Validate, which can be called through
// a pointer too.
func hasValidate(t *catalog.TypeRef) bool {
	if t.Scalar == nil && t.Go != nil {
		return false
	}
	return t.Scalar != nil || t.Kind == catalog.Named && !t.IsCustom() || t.Kind == catalog.Date ||
		t.Kind == catalog.Decimal
}

// checkCollection emits the loop over a list or a map. One inside another
// collects its problems apart, so that their paths can be put together:
//
//	var inner checks.Problems
//	<loop>
//	problems.Item("<field>", <i>, inner.Err())
func checkCollection(t *catalog.TypeRef, c catalog.Constraints, value *jen.Statement, at place) jen.Code {
	if at.kind == "" {
		return loop(t, c, value, at)
	}
	inner := at.inner()
	return jen.Var().Id(collector(inner.depth)).Add(inChecks("Problems")).Line().
		Add(loop(t, c, value, inner)).Line().
		Add(at.report("Nested", jen.Id(collector(inner.depth)).Dot("Err").Call()))
}

// inner returns the place of a value that collects its problems apart.
func (at place) inner() place {
	at.depth++
	at.path, at.index, at.kind = jen.Lit(""), nil, ""
	return at
}

// loop emits one of
//
//	for <i>, item := range <list> {
//		<check of item>
//	}
//	for key, value := range <map> {
//		problems.Key("<field>", key)
//		<check of value>
//	}
func loop(t *catalog.TypeRef, c catalog.Constraints, collection *jen.Statement, at place) jen.Code {
	if t.Kind == catalog.List {
		at.kind, at.index = "Item", jen.Id(index(at.depth))
		return jen.For(jen.List(at.index, jen.Id("item")).Op(":=").Range().Add(collection)).
			Block(checkEach(t.Elem, c.Each, jen.Id("item"), at)...)
	}
	checkKey := jen.Id(collector(at.depth)).Dot("Key").Call(at.path, jen.Id("key"))
	if c.Each == nil && !checkable(t.Elem, catalog.Constraints{}) {
		return jen.For(jen.Id("key").Op(":=").Range().Add(collection)).Block(checkKey)
	}
	at.kind, at.index = "Entry", jen.Id("key")
	return jen.For(jen.List(jen.Id("key"), jen.Id("value")).Op(":=").Range().Add(collection)).
		Block(append([]jen.Code{checkKey}, checkEach(t.Elem, c.Each, jen.Id("value"), at)...)...)
}

// checkEach emits the check of an item of a list, or a value of a map. If it has constraints, its problems are
// collected apart, so that payloads without problems cost no path:
//
//	var inner checks.Problems
//	<check of item, as if it were a field without a name>
//	problems.Item("<field>", <i>, inner.Err())
func checkEach(t *catalog.TypeRef, c *catalog.Constraints, value *jen.Statement, at place) []jen.Code {
	if c == nil || t.Scalar != nil {
		return []jen.Code{check(t, catalog.Constraints{}, value, at)}
	}
	inner := at.inner()
	inner.inside++
	checks := []jen.Code{jen.Var().Id(collector(inner.depth)).Add(inChecks("Problems"))}
	if checkable(t, *c) {
		checks = append(checks, check(t, *c, value, inner))
	}
	checks = append(checks, checkConstraints(t, *c, value, inner)...)
	return append(checks, at.report("Nested", jen.Id(collector(inner.depth)).Dot("Err").Call()))
}

// index names the index of a list on one level: i, j, k, as long as there are
// letters.
func index(depth int) string {
	const letters = "ijklmn"
	if depth < len(letters) {
		return letters[depth : depth+1]
	}
	return "i" + strconv.Itoa(depth)
}

// collector names the variable that holds the problems of one level of nested
// collections.
func collector(depth int) string {
	switch depth {
	case 0:
		return "problems"
	case 1:
		return "inner"
	}
	return "inner" + strconv.Itoa(depth)
}

// newDescent emits the descent that an exported recursive method starts with.
func newDescent() *jen.Statement { return jen.New(inDeep("Descent")) }

// descentParam emits the descent parameter of an unexported recursive method.
func descentParam() *jen.Statement { return jen.Id("d").Op("*").Add(inDeep("Descent")) }
