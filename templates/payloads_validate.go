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
//		var problems runtime.Problems
//		<checks>
//		return problems.Err()
//	}
//
// or, when no field can be wrong,
//
//	// Validate returns nil: no value of <Type> is invalid.
//	func (<Type>) Validate() error { return nil }
func validateStruct(receiver, typeName string, fields []*catalog.Field) *jen.Statement {
	body := []jen.Code{jen.Var().Id(collector(0)).Add(inRuntime("Problems"))}
	for _, f := range fields {
		if checkable(f.Type) {
			body = append(body, checkField(receiver, f))
		}
	}
	if len(body) == 1 {
		return comment("Validate returns nil: no value of "+typeName+" is invalid.").
			Func().Params(jen.Id(typeName)).Id("Validate").Params().Error().Custom(oneLineBody, jen.Return(jen.Nil()))
	}
	body = append(body, jen.Return(jen.Id(collector(0)).Dot("Err").Call()))
	return comment("Validate returns nil or a [*runtime.ValidationError] with every problem.").
		Func().Params(jen.Id(receiver).Id(typeName)).Id("Validate").Params().Error().Block(body...)
}

// checkable tells the types of which some Go values cannot travel.
func checkable(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.String, catalog.Float64, catalog.Date, catalog.Named, catalog.Map:
		return true
	case catalog.List:
		return checkable(t.Elem)
	}
	return false
}

// checkField emits the check of one field, for an optional scalar as
//
//	if <p>.<Field> != nil {
//		<check of *<p>.<Field>>
//	}
func checkField(receiver string, f *catalog.Field) jen.Code {
	value := jen.Id(receiver).Dot(f.GoName)
	at := place{depth: 0, path: jen.Lit(f.Name.V)}
	if !f.Type.Optional || hasNil(f.Type) {
		return check(f.Type, value, at)
	}
	pointee := jen.Op("*").Add(value)
	if hasValidate(f.Type) {
		pointee = value // methods are called through the pointer
	}
	return jen.If(value.Clone().Op("!=").Nil()).Block(check(f.Type, pointee, at))
}

// place is where a value that is being checked belongs in the report.
type place struct {
	depth int            // of the collection that holds it; 0 for a field
	path  *jen.Statement // of the field, or "" inside a collection of its own
	index *jen.Statement // of a list's element or a map's value
	kind  string         // "", Item or Entry
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

// check emits the check of a value of type t, which is checkable.
func check(t *catalog.TypeRef, value *jen.Statement, at place) jen.Code {
	switch t.Kind {
	case catalog.String:
		return at.report("Text", value)
	case catalog.Float64:
		return at.report("Finite", value)
	case catalog.List, catalog.Map:
		return checkCollection(t, value, at)
	}
	return at.report("Nested", value.Clone().Dot("Validate").Call())
}

func hasValidate(t *catalog.TypeRef) bool {
	return t.Kind == catalog.Named || t.Kind == catalog.Date
}

// checkCollection emits the loop over a list or a map. One inside another
// collects its problems apart, so that their paths can be put together:
//
//	var inner runtime.Problems
//	<loop>
//	problems.Item("<field>", <i>, inner.Err())
func checkCollection(t *catalog.TypeRef, value *jen.Statement, at place) jen.Code {
	if at.kind == "" {
		return loop(t, value, at)
	}
	inner := place{depth: at.depth + 1, path: jen.Lit("")}
	return jen.Var().Id(collector(inner.depth)).Add(inRuntime("Problems")).Line().
		Add(loop(t, value, inner)).Line().
		Add(at.report("Nested", jen.Id(collector(inner.depth)).Dot("Err").Call()))
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
func loop(t *catalog.TypeRef, collection *jen.Statement, at place) jen.Code {
	if t.Kind == catalog.List {
		at.kind, at.index = "Item", jen.Id(index(at.depth))
		return jen.For(jen.List(at.index, jen.Id("item")).Op(":=").Range().Add(collection)).
			Block(check(t.Elem, jen.Id("item"), at))
	}
	checkKey := jen.Id(collector(at.depth)).Dot("Key").Call(at.path, jen.Id("key"))
	if !checkable(t.Elem) {
		return jen.For(jen.Id("key").Op(":=").Range().Add(collection)).Block(checkKey)
	}
	at.kind, at.index = "Entry", jen.Id("key")
	return jen.For(jen.List(jen.Id("key"), jen.Id("value")).Op(":=").Range().Add(collection)).
		Block(checkKey, check(t.Elem, jen.Id("value"), at))
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
