package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// Named scalars have methods like those of enums, so that a field of one is checked, written and read as if it were
// an enum.

// namedScalar lists the constructs of a named scalar.
func namedScalar(t *catalog.Type) []jen.Code {
	constructs := []jen.Code{scalarType(t)}
	if compiled := patterns(scalarShape(t)); compiled != nil {
		constructs = append(constructs, compiled)
	}
	constructs = append(constructs, validateScalar(t))
	if t.Scalar.Go != nil {
		return append(constructs, scalarString(t, inWire("TextOf").Call(plainValue(t))), scalarText(t))
	}
	switch t.Scalar.Kind {
	case catalog.String, catalog.Decimal:
		return append(constructs, scalarString(t, jen.String().Call(jen.Id(valueReceiver))))
	case catalog.Date, catalog.Duration, catalog.UUID:
		return append(constructs, scalarString(t, plainValue(t).Dot("String").Call()), scalarText(t))
	}
	return constructs
}

// scalarType emits
//
//	// <doc>
//	type <Type> <built-in type>
func scalarType(t *catalog.Type) *jen.Statement {
	return comment(typeDoc(t), deprecated(t.Deprecated)).Type().Id(t.GoName).Add(bareType(t.Scalar))
}

// plainValue emits the value as one of the built-in type:
//
//	<built-in type>(<v>)
func plainValue(t *catalog.Type) *jen.Statement {
	return bareType(t.Scalar).Call(jen.Id(valueReceiver))
}

// scalarShape is a struct with one field that is the value, for what is emitted of the fields of structs.
func scalarShape(t *catalog.Type) shape {
	value := &catalog.Field{GoName: "Value", Type: t.Scalar, Constraints: t.Constraints}
	return shape{receiver: valueReceiver, goName: t.GoName, fields: []*catalog.Field{value}}
}

// checkableScalar reports whether some Go values of a named scalar are invalid.
func checkableScalar(t *catalog.Type) bool {
	return t.Constraints != (catalog.Constraints{}) || checkable(t.Scalar, t.Constraints)
}

// validateScalar emits
//
//	// Validate returns nil or a [*runtime.ValidationError] with every problem of <v>.
//	func (<v> <Type>) Validate() error {
//		var problems checks.Problems
//		<checks>
//		return problems.Err()
//	}
//
// or a method that returns nil when every value is valid.
func validateScalar(t *catalog.Type) *jen.Statement {
	if !checkableScalar(t) {
		return comment("Validate returns nil: every value of "+t.GoName+" is valid.").
			Func().Params(jen.Id(t.GoName)).Id("Validate").Params().Error().Custom(oneLineBody, jen.Return(jen.Nil()))
	}
	s := scalarShape(t)
	at := place{path: jen.Lit(""), patterns: patternsName(s), field: s.fields[0]}
	body := []jen.Code{jen.Var().Id(collector(0)).Add(inChecks("Problems"))}
	if checkable(t.Scalar, t.Constraints) {
		body = append(body, check(t.Scalar, t.Constraints, plainValue(t), at))
	}
	body = append(body, checkConstraints(t.Scalar, t.Constraints, plainValue(t), at)...)
	return comment("Validate returns nil or a [*runtime.ValidationError] with every problem of " + valueReceiver + ".").
		Add(enumMethod(t, "Validate")).Params().Error().Block(append(body,
		jen.Return(jen.Id(collector(0)).Dot("Err").Call()))...)
}

// scalarString emits
//
//	// String returns <v> as a text.
//	func (<v> <Type>) String() string { return <text> }
func scalarString(t *catalog.Type, text *jen.Statement) *jen.Statement {
	return comment("String returns "+valueReceiver+" as a text.").
		Add(enumMethod(t, "String")).Params().String().Custom(oneLineBody, jen.Return(text))
}

// scalarText emits, for a built-in type whose JSON is made by such methods,
//
//	// MarshalText implements encoding.TextMarshaler.
//	func (<v> <Type>) MarshalText() ([]byte, error) { return <built-in type>(<v>).MarshalText() }
//
//	// UnmarshalText implements encoding.TextUnmarshaler.
//	func (<v> *<Type>) UnmarshalText(text []byte) error { return (*<built-in type>)(<v>).UnmarshalText(text) }
func scalarText(t *catalog.Type) *jen.Statement {
	return comment("MarshalText implements encoding.TextMarshaler.").
		Add(enumMethod(t, "MarshalText")).Params().Params(jen.Index().Byte(), jen.Error()).
		Custom(oneLineBody, jen.Return(plainValue(t).Dot("MarshalText").Call())).Line().Line().
		Add(comment("UnmarshalText implements encoding.TextUnmarshaler.")).
		Add(enumPointerMethod(t, "UnmarshalText")).Params(jen.Id("text").Index().Byte()).Error().
		Custom(oneLineBody, jen.Return(plainPointer(t).Dot("UnmarshalText").Call(jen.Id("text"))))
}

// plainPointer emits
//
//	(*<built-in type>)(<v>)
func plainPointer(t *catalog.Type) *jen.Statement {
	return jen.Parens(jen.Op("*").Add(bareType(t.Scalar))).Call(jen.Id(valueReceiver))
}

// writeScalar emits the method WriteJSON with the body
//
//	<write of <built-in type>(<v>)>
func writeScalar(t *catalog.Type) *jen.Statement {
	return writeMethod(valueReceiver, t.GoName, writeValue(t.Scalar, plainValue(t)))
}

// readScalar emits the method ReadJSON with one of the bodies
//
//	*<v> = <Type>(<read>)
//	r.Check(<v>.UnmarshalText(r.Text()))
//	wire.ReadGoType(r, (*<Go type>)(<v>))
func readScalar(t *catalog.Type) *jen.Statement {
	if t.Scalar.Go != nil {
		return readMethod(valueReceiver, t.GoName, inWire("ReadGoType").Call(jen.Id("r"), plainPointer(t)))
	}
	switch t.Scalar.Kind {
	case catalog.Date, catalog.Duration:
		return readMethod(valueReceiver, t.GoName, readInto(t.Scalar, jen.Id(valueReceiver)))
	}
	return readMethod(valueReceiver, t.GoName, jen.Op("*").Id(valueReceiver).Op("=").Id(t.GoName).Call(readCall(t.Scalar)))
}
