package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// union lists the constructs of a union.
func union(t *catalog.Type) []jen.Code {
	return []jen.Code{unionType(t), variantMarkers(t), visit(t), validateUnion(t)}
}

// unionType emits
//
//	// <doc>
//	//
//	// It is <Variant> or <Variant>; …
//	type <Union> interface{ is<Union>() }
func unionType(t *catalog.Type) *jen.Statement {
	return comment(typeDoc(t), "It is "+listing(variantNames(t), "or")+"; no other type implements it. Calls of "+
		visitName(t)+" compile only if they handle every variant.", deprecated(t.Deprecated)).
		Type().Id(t.GoName).Interface(jen.Id(variantMarker(t)).Params())
}

// variantMarkers emits, for each variant,
//
//	func (<Variant>) is<Union>() {}
func variantMarkers(t *catalog.Type) *jen.Statement {
	methods := jen.Null()
	for _, v := range t.Variants {
		methods.Func().Params(jen.Id(v.Type.GoName)).Id(variantMarker(t)).Params().Block().Line()
	}
	return methods
}

// visit emits
//
//	// Visit<Union> calls the function for the variant that <v> is, and returns its result. …
//	func Visit<Union>[R any](v <Union>, <variant> func(<Variant>) R) R {
//		switch v := v.(type) {
//		case <Variant>:
//			return on<Variant>(v)
//		}
//		panic(checks.NotAVariant(v, "<Variant>"))
//	}
func visit(t *catalog.Type) *jen.Statement {
	params := []jen.Code{jen.Id(valueReceiver).Id(t.GoName)}
	var cases []jen.Code
	for _, v := range t.Variants {
		function := "on" + v.Type.GoName
		params = append(params, jen.Id(function).Func().Params(jen.Id(v.Type.GoName)).Id("R"))
		cases = append(cases, jen.Case(jen.Id(v.Type.GoName)).Block(jen.Return(jen.Id(function).Call(jen.Id(valueReceiver)))))
	}
	return comment(visitName(t)+" calls the function for the variant that "+valueReceiver+
		" is, and returns its result. It has a parameter for each variant, so that "+
		"calls do not compile before they handle a new one. It panics if "+valueReceiver+" is nil.").
		Func().Id(visitName(t)).Types(jen.Id("R").Any()).Custom(linesInParens, params...).Id("R").Block(
		variantSwitch(cases),
		jen.Panic(notAVariant(t)),
	)
}

// validateUnion emits
//
//	func validate<Union>(v <Union>) error {
//		switch v := v.(type) {
//		case <Variant>:
//			return v.Validate()
//		}
//		return checks.NotAVariant(v, "<Variant>")
//	}
//
// with a descent as its second parameter if the union can contain itself.
func validateUnion(t *catalog.Type) *jen.Statement {
	params := unionParams(t, valueReceiver)
	var cases []jen.Code
	for _, v := range t.Variants {
		cases = append(cases, jen.Case(typeName(v.Type)).
			Block(jen.Return(validity(structRef(v.Type), jen.Id(valueReceiver), t.Recursive))))
	}
	return jen.Func().Id(validateUnionName(t)).Params(params...).Error().Block(variantSwitch(cases),
		jen.Return(notAVariant(t)))
}

// unionParams emits the parameters of a function of a union.
func unionParams(t *catalog.Type, names ...string) []jen.Code {
	var values []jen.Code
	for _, name := range names {
		values = append(values, jen.Id(name))
	}
	params := []jen.Code{jen.List(values...).Add(typeName(t))}
	if hasDescent(t) {
		params = append(params, descentParam())
	}
	return params
}

func variantSwitch(cases []jen.Code) *jen.Statement {
	return jen.Switch(jen.Id(valueReceiver).Op(":=").Id(valueReceiver).Assert(jen.Type())).Block(cases...)
}

func notAVariant(t *catalog.Type) *jen.Statement {
	args := []jen.Code{jen.Id(valueReceiver)}
	for i, name := range variantNames(t) {
		args = append(args, perLine(i+1, jen.Lit(name)))
	}
	return inChecks("NotAVariant").Call(args...)
}

// variantNames are the Go names of the variants.
func variantNames(t *catalog.Type) []string {
	var names []string
	for _, v := range t.Variants {
		names = append(names, v.Type.GoName)
	}
	return names
}

func visitName(t *catalog.Type) string         { return "Visit" + t.GoName }
func variantMarker(t *catalog.Type) string     { return "is" + t.GoName }
func validateUnionName(t *catalog.Type) string { return "validate" + t.LocalName() }
