package templates

import (
	"encoding/json"
	"time"

	"github.com/dave/jennifer/jen"
	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/catalog"
)

// defaults emits, for each optional or nullable field with a default,
//
//	// <Field>OrDefault returns <Field>, or <default> if it is absent.
//	func (<p> <Type>) <Field>OrDefault() <type> {
//		if <p>.<Field> == nil {
//			return <default>
//		}
//		return *<p>.<Field>
//	}
func defaults(s shape) []jen.Code {
	var methods []jen.Code
	for _, f := range s.fields {
		if !f.HasDefaultMethod() {
			continue
		}
		field := jen.Id(s.receiver).Dot(f.GoName)
		methods = append(methods,
			comment(catalog.DefaultName(f)+" returns "+f.GoName+", or "+oneLine(string(f.Default.V))+" if it is "+
				without(f.Type)+".", deprecated(f.Deprecated)).
				Func().Params(jen.Id(s.receiver).Id(s.goName)).Id(catalog.DefaultName(f)).Params().Add(bareType(f.Type)).Block(
				jen.If(field.Clone().Op("==").Nil()).Block(jen.Return(constant(f.Type, f.Default.V))),
				jen.Return(jen.Op("*").Add(field)),
			))
	}
	return methods
}

// constant emits the Go value of a scalar, from its JSON.
func constant(t *catalog.TypeRef, raw json.RawMessage) *jen.Statement {
	if t.Scalar != nil {
		return bareType(t).Call(constant(t.Scalar.Scalar, raw))
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw) // a number, true or false
	}
	if t.Go != nil {
		return inWire("GoTypeOf").Types(bareType(t)).Call(jen.Lit(text))
	}
	switch t.Kind {
	case catalog.String, catalog.Decimal:
		return jen.Lit(text)
	case catalog.Date:
		day, _ := time.Parse(time.DateOnly, text) // it is valid
		return inRuntime("Date").Values(pair("Year", jen.Lit(day.Year())), pair("Month", jen.Lit(int(day.Month()))),
			pair("Day", jen.Lit(day.Day())))
	case catalog.UUID:
		return jen.Qual(uuidPath, "UUID").Values(byteList(text)...)
	case catalog.Named:
		for _, v := range t.Named.Values {
			if wire := v.JSON(t.Named); string(wire) == string(raw) {
				return nameIn(t.Named, v.GoName)
			}
		}
	case catalog.Bool:
		return jen.Id(text)
	}
	return scalar(t.Kind, text)
}

func byteList(text string) []jen.Code {
	var bytes []jen.Code
	for _, b := range uuid.MustParse(text) {
		bytes = append(bytes, jen.Lit(int(b)))
	}
	return bytes
}

// without is the word for a field without a value.
func without(t *catalog.TypeRef) string {
	if t.Nullable {
		return "null"
	}
	return "absent"
}
