package templates

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// goType returns the Go type of a field. An optional or nullable field is a pointer where
// its type has no nil of its own.
func goType(t *catalog.TypeRef) *jen.Statement {
	if t.MayBeNil() && !hasNil(t) {
		return jen.Op("*").Add(bareType(t))
	}
	return bareType(t)
}

// hasNil reports whether the Go type has a nil of its own, so that a field that may
// have no value needs no pointer.
func hasNil(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.Bytes, catalog.JSON, catalog.List, catalog.Map:
		return true
	}
	return t.IsUnion()
}

func bareType(t *catalog.TypeRef) *jen.Statement {
	if t.Scalar != nil {
		return typeName(t.Scalar)
	}
	if t.Go != nil {
		return jen.Qual(t.Go.Import.V, t.Go.Name.V)
	}
	switch t.Kind {
	case catalog.String:
		return jen.String()
	case catalog.Bool:
		return jen.Bool()
	case catalog.Int:
		return jen.Int()
	case catalog.Int32:
		return jen.Int32()
	case catalog.Int64:
		return jen.Int64()
	case catalog.Uint64:
		return jen.Uint64()
	case catalog.Float64:
		return jen.Float64()
	case catalog.Bytes:
		return jen.Index().Byte()
	case catalog.Time:
		return jen.Qual("time", "Time")
	case catalog.Date:
		return inRuntime("Date")
	case catalog.Duration:
		return inRuntime("Duration")
	case catalog.UUID:
		return jen.Qual(uuidPath, "UUID")
	case catalog.Decimal:
		return inRuntime("Decimal")
	case catalog.JSON:
		return jen.Qual("encoding/json", "RawMessage")
	case catalog.List:
		return jen.Index().Add(bareType(t.Elem))
	case catalog.Map:
		return jen.Map(jen.String()).Add(bareType(t.Elem))
	case catalog.Named:
		if t.Named.IsCustom() {
			return jen.Qual(t.Named.Custom.Import.V, t.Named.Custom.Name.V)
		}
		return typeName(t.Named)
	}
	panic(fmt.Sprintf("templates: no Go type for kind %d of %s", t.Kind, t.Text))
}

// typeName refers to a declared type, which may be of another catalogue's package.
func typeName(t *catalog.Type) *jen.Statement { return nameIn(t, t.GoName) }

// nameIn refers to a name in the package of a type.
func nameIn(t *catalog.Type, name string) *jen.Statement {
	if t.Package != nil {
		return jen.Qual(t.Package.ImportPath(), name)
	}
	return jen.Id(name)
}

// Go types of `go_types:` stand in for the usual ones of built-in types. Code that needs the value itself, such
// as a constraint, takes its text and makes a value of the usual type of that.

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
	return comment("The Go types that go_types of the catalogue gives to built-in types. If this does not compile, one " +
		"of them lacks the method " +
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
