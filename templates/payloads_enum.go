package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// enumType emits
//
//	// <doc>
//	type <Type> string
func enumType(t *catalog.Type) *jen.Statement {
	return comment(typeDoc(t)).Type().Id(t.Name.V).String()
}

// enumConstants emits
//
//	// The values of <Type>.
//	const (
//		<Type><Value> <Type> = "<value>"
//	)
func enumConstants(t *catalog.Type) *jen.Statement {
	var constants []jen.Code
	for _, v := range t.Values {
		constants = append(constants, jen.Id(v.GoName).Id(t.Name.V).Op("=").Lit(v.Name.V))
	}
	return comment("The values of " + t.Name.V + ".").Const().Defs(constants...)
}

// validateEnum emits
//
//	// Validate returns nil if <v> is one of the values of <Type>.
//	func (<v> <Type>) Validate() error {
//		switch <v> {
//		case <Type><Value>, …:
//			return nil
//		}
//		return runtime.NotInEnum(string(<v>), "<value>", …)
//	}
func validateEnum(t *catalog.Type) *jen.Statement {
	var constants []jen.Code
	values := []jen.Code{jen.String().Call(jen.Id(valueReceiver))}
	for i, v := range t.Values {
		constants = append(constants, perLine(i, jen.Id(v.GoName)))
		values = append(values, perLine(i, jen.Lit(v.Name.V)))
	}
	return comment("Validate returns nil if "+valueReceiver+" is one of the values of "+t.Name.V+".").
		Func().Params(jen.Id(valueReceiver).Id(t.Name.V)).Id("Validate").Params().Error().Block(
		jen.Switch(jen.Id(valueReceiver)).Block(
			jen.Case(constants...).Block(jen.Return(jen.Nil())),
		),
		jen.Return(inRuntime("NotInEnum").Call(values...)),
	)
}

// perLine breaks a long list after every few items; i counts them from 0.
func perLine(i int, item *jen.Statement) *jen.Statement {
	const items = 6
	if i > 0 && i%items == 0 {
		return jen.Line().Add(item)
	}
	return item
}
