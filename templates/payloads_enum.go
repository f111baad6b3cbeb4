package templates

import (
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// enum lists the constructs of an enum.
func enum(t *catalog.Type) []jen.Code {
	constructs := []jen.Code{enumType(t), enumConstants(t), allValues(t), validEnum(t), validateEnum(t), enumString(t)}
	if t.Integer {
		return append(constructs, marshalNumber(t), unmarshalNumber(t))
	}
	return append(constructs, marshalText(t), unmarshalText(t))
}

// enumType emits one of
//
//	// <doc>
//	type <Type> string
//	type <Type> int
func enumType(t *catalog.Type) *jen.Statement {
	statement := comment(typeDoc(t), deprecated(t.Deprecated)).Type().Id(t.GoName)
	if t.Integer {
		return statement.Int()
	}
	return statement.String()
}

// enumConstants emits
//
//	// The values of <Type>.
//	const (
//		// <doc>
//		<Type><Value> <Type> = "<value>"
//	)
func enumConstants(t *catalog.Type) *jen.Statement {
	var constants []jen.Code
	for _, v := range t.Values {
		value := jen.Lit(v.Name.V)
		if t.Integer {
			value = jen.Lit(v.Number)
		}
		constants = append(constants, comment(v.Doc, deprecated(v.Deprecated)).Id(v.GoName).Id(t.GoName).Op("=").Add(value))
	}
	return comment("The values of " + t.GoName + ".").Const().Defs(constants...)
}

// allValues emits
//
//	// All<Type> returns the values of <Type>, in the order of the catalogue.
//	func All<Type>() []<Type> { return append([]<Type>(nil), <Type><Value>, …) }
//
// For []<Type>{…} the compiler would make a function that compares such arrays.
func allValues(t *catalog.Type) *jen.Statement {
	return comment("All" + t.GoName + " returns the values of " + t.GoName + ", in the order of the catalogue.").
		Func().Id("All" + t.GoName).Params().Index().Id(t.GoName).
		Block(jen.Return(jen.Append(append([]jen.Code{jen.Index().Id(t.GoName).Parens(jen.Nil())}, constantsOf(t, 1)...)...)))
}

// constantsOf emits the constants of the values, behind others on the same line.
func constantsOf(t *catalog.Type, others int) []jen.Code {
	var constants []jen.Code
	for i, v := range t.Values {
		constants = append(constants, perLine(i+others, jen.Id(v.GoName)))
	}
	return constants
}

// namesOf emits the texts of the values.
func namesOf(t *catalog.Type) []jen.Code {
	var names []jen.Code
	for i, v := range t.Values {
		names = append(names, perLine(i+1, jen.Lit(v.Name.V)))
	}
	return names
}

// enumMethod emits the beginning of a method of an enum.
func enumMethod(t *catalog.Type, name string) *jen.Statement {
	return jen.Func().Params(jen.Id(valueReceiver).Id(t.GoName)).Id(name)
}

func enumPointerMethod(t *catalog.Type, name string) *jen.Statement {
	return jen.Func().Params(jen.Id(valueReceiver).Op("*").Id(t.GoName)).Id(name)
}

// validEnum emits
//
//	// Valid reports whether <v> is one of the values of <Type>. It is compiled once:
//	// each caller would compare the texts.
//	//
//	//go:noinline
//	func (<v> <Type>) Valid() bool {
//		switch <v> {
//		case <Type><Value>, …:
//			return true
//		}
//		return false
//	}
//
// The compiler would make the comparisons of texts again in Validate and in the method for pointers.
func validEnum(t *catalog.Type) *jen.Statement {
	words := "Valid reports whether " + valueReceiver + " is one of the values of " + t.GoName + "."
	if !t.Integer {
		words += " It is compiled once: inlined, its comparisons of texts would stand in each caller."
	}
	return comment(words).Add(noInline(t)).
		Add(enumMethod(t, "Valid")).Params().Bool().Block(
		jen.Switch(jen.Id(valueReceiver)).Block(jen.Case(constantsOf(t, 0)...).Block(jen.Return(jen.True()))),
		jen.Return(jen.False()),
	)
}

// noInline emits, for an enum of texts,
//
//	//
//	//go:noinline
func noInline(t *catalog.Type) *jen.Statement {
	if t.Integer {
		return jen.Null()
	}
	return jen.Comment("//").Line().Comment("//go:noinline").Line()
}

// validateEnum emits
//
//	// Validate returns nil if <v> is one of the values of <Type>.
//	func (<v> <Type>) Validate() error {
//		if <v>.Valid() {
//			return nil
//		}
//		return checks.NotInEnum(string(<v>), "<value>", …)
//	}
//
// with checks.NotANumberOf(int(<v>), "<number> (<value>)", …) for one of integers.
func validateEnum(t *catalog.Type) *jen.Statement {
	problem := inChecks("NotInEnum").Call(append([]jen.Code{jen.String().Call(jen.Id(valueReceiver))}, namesOf(t)...)...)
	if t.Integer {
		args := []jen.Code{jen.Int().Call(jen.Id(valueReceiver))}
		for i, v := range t.Values {
			args = append(args, perLine(i+1, jen.Lit(strconv.Itoa(v.Number)+" ("+v.Name.V+")")))
		}
		problem = inChecks("NotANumberOf").Call(args...)
	}
	return comment("Validate returns nil if "+valueReceiver+" is one of the values of "+t.GoName+".").
		Add(enumMethod(t, "Validate")).Params().Error().Block(
		jen.If(jen.Id(valueReceiver).Dot("Valid").Call()).Block(jen.Return(jen.Nil())),
		jen.Return(problem),
	)
}

// enumString emits
//
//	// String returns the text of <v>.
//	func (<v> <Type>) String() string { return string(<v>) }
//
// and for an enum of integers
//
//	func (<v> <Type>) String() string {
//		switch <v> {
//		case <Type><Value>:
//			return "<value>"
//		}
//		return "<Type>(" + strconv.Itoa(int(<v>)) + ")"
//	}
func enumString(t *catalog.Type) *jen.Statement {
	if !t.Integer {
		return comment("String returns the text of "+valueReceiver+".").
			Add(enumMethod(t, "String")).Params().String().
			Custom(oneLineBody, jen.Return(jen.String().Call(jen.Id(valueReceiver))))
	}
	var cases []jen.Code
	for _, v := range t.Values {
		cases = append(cases, jen.Case(jen.Id(v.GoName)).Block(jen.Return(jen.Lit(v.Name.V))))
	}
	unknown := jen.Lit(t.GoName+"(").Op("+").Qual("strconv",
		"Itoa").Call(jen.Int().Call(jen.Id(valueReceiver))).Op("+").Lit(")")
	return comment("String returns the name of "+valueReceiver+".").
		Add(enumMethod(t, "String")).Params().String().
		Block(jen.Switch(jen.Id(valueReceiver)).Block(cases...), jen.Return(unknown))
}

// marshalText emits
//
//	// MarshalText implements [encoding.TextMarshaler].
//	func (<v> <Type>) MarshalText() ([]byte, error) { return []byte(<v>), nil }
func marshalText(t *catalog.Type) *jen.Statement {
	return comment("MarshalText implements encoding.TextMarshaler.").
		Add(enumMethod(t, "MarshalText")).Params().Params(jen.Index().Byte(), jen.Error()).
		Custom(oneLineBody, jen.Return(jen.Index().Byte().Call(jen.Id(valueReceiver)), jen.Nil()))
}

// unmarshalText emits
//
//	// UnmarshalText implements [encoding.TextUnmarshaler]. It accepts only the values of <Type>.
//	func (<v> *<Type>) UnmarshalText(text []byte) error {
//		*<v> = <Type>(text)
//		return <v>.Validate()
//	}
//
//	// UnmarshalJSON accepts any string, …
//	func (<v> *<Type>) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*string)(<v>)) }
func unmarshalText(t *catalog.Type) *jen.Statement {
	return unmarshalTextOf(t,
		jen.Op("*").Id(valueReceiver).Op("=").Id(t.GoName).Call(jen.Id("text")),
		jen.Return(jen.Id(valueReceiver).Dot("Validate").Call()),
	).Line().Line().Add(unmarshalJSON(t, "string", jen.String()))
}

func unmarshalTextOf(t *catalog.Type, body ...jen.Code) *jen.Statement {
	return comment("UnmarshalText implements encoding.TextUnmarshaler. It accepts only the values of " + t.GoName + ".").
		Add(enumPointerMethod(t, "UnmarshalText")).Params(jen.Id("text").Index().Byte()).Error().Block(body...)
}

func unmarshalJSON(t *catalog.Type, what string, base jen.Code) *jen.Statement {
	return comment("UnmarshalJSON accepts any "+what+
		", so that events of other versions of the catalogue can be read. Validate reports unknown values.").
		Add(enumPointerMethod(t, "UnmarshalJSON")).Params(jen.Id("data").Index().Byte()).Error().
		Custom(oneLineBody, jen.Return(jen.Qual("encoding/json", "Unmarshal").Call(
			jen.Id("data"), jen.Parens(jen.Op("*").Add(base)).Call(jen.Id(valueReceiver)))))
}

// marshalNumber emits
//
//	// MarshalText implements [encoding.TextMarshaler] with the name of <v>.
//	func (<v> <Type>) MarshalText() ([]byte, error) { return []byte(<v>.String()), <v>.Validate() }
//
//	// MarshalJSON writes <v> as a number.
//	func (<v> <Type>) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(<v>), 10), nil }
func marshalNumber(t *catalog.Type) *jen.Statement {
	v := jen.Id(valueReceiver)
	return comment("MarshalText implements encoding.TextMarshaler with the name of "+valueReceiver+".").
		Add(enumMethod(t, "MarshalText")).Params().Params(jen.Index().Byte(), jen.Error()).
		Custom(oneLineBody, jen.Return(jen.Index().Byte().Call(v.Clone().Dot("String").Call()),
			v.Clone().Dot("Validate").Call())).Line().Line().
		Add(comment("MarshalJSON writes "+valueReceiver+" as a number.")).
		Add(enumMethod(t, "MarshalJSON")).Params().Params(jen.Index().Byte(), jen.Error()).
		Custom(oneLineBody, jen.Return(jen.Qual("strconv", "AppendInt").Call(jen.Nil(), jen.Int64().Call(v), jen.Lit(10)),
			jen.Nil()))
}

// unmarshalNumber emits
//
//	// UnmarshalText implements [encoding.TextUnmarshaler]. …
//	func (<v> *<Type>) UnmarshalText(text []byte) error {
//		for _, value := range All<Type>() {
//			if value.String() == string(text) {
//				*<v> = value
//				return nil
//			}
//		}
//		return checks.NotInEnum(string(text), "<value>", …)
//	}
//
//	// UnmarshalJSON accepts any whole number, …
//	func (<v> *<Type>) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, (*int)(<v>)) }
func unmarshalNumber(t *catalog.Type) *jen.Statement {
	text := jen.String().Call(jen.Id("text"))
	return unmarshalTextOf(t,
		jen.For(jen.List(jen.Id("_"), jen.Id("value")).Op(":=").Range().Id("All"+t.GoName).Call()).Block(
			jen.If(jen.Id("value").Dot("String").Call().Op("==").Add(text)).Block(
				jen.Op("*").Id(valueReceiver).Op("=").Id("value"),
				jen.Return(jen.Nil()),
			),
		),
		jen.Return(inChecks("NotInEnum").Call(append([]jen.Code{text}, namesOf(t)...)...)),
	).Line().Line().Add(unmarshalJSON(t, "whole number", jen.Int()))
}

// perLine breaks a long list after every few items; i counts them from 0.
func perLine(i int, item *jen.Statement) *jen.Statement {
	const items = 6
	if i > 0 && i%items == 0 {
		return jen.Line().Add(item)
	}
	return item
}
