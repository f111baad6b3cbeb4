package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// Go types of `go_types:` stand in for the usual ones of built-in types. What needs the value itself, such as a
// constraint, takes its text and makes a value of the usual type of that.

// goTypes emits
//
//	// The Go types of built-in types, …
//	var (
//		_ encoding.TextMarshaler   = *new(<Go type>)
//		_ encoding.TextUnmarshaler = new(<Go type>)
//	)
func goTypes(used []*catalog.GoType) *jen.Statement {
	var lines []jen.Code
	for _, g := range used {
		goType := jen.Qual(g.Import.V, g.Name.V)
		lines = append(lines,
			jen.Id("_").Qual("encoding", "TextMarshaler").Op("=").Op("*").New(goType),
			jen.Id("_").Qual("encoding", "TextUnmarshaler").Op("=").New(goType))
	}
	return comment("The Go types that go_types of the catalogue gives to built-in types. If this does not compile, one of them lacks the method " +
		"MarshalText, for values, or UnmarshalText, for pointers.").Var().Defs(lines...)
}

// usualType returns the Go type that a built-in type has without go_types.
func usualType(t *catalog.TypeRef) *jen.Statement {
	switch t.Kind {
	case catalog.List:
		return jen.Index().Add(usualType(t.Elem))
	case catalog.Map:
		return jen.Map(jen.String()).Add(usualType(t.Elem))
	}
	return bareType(&catalog.TypeRef{Kind: t.Kind, Text: t.Text})
}
