package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// unionJSON emits
//
//	// jsonOf<Union> is the JSON form of <Union>:
//	// the name of the variant under the key "<discriminator>", and then its fields.
//	type jsonOf<Union> struct{ value <Union> }
//
//	func (j jsonOf<Union>) MarshalJSON() ([]byte, error) {
//		switch v := j.value.(type) {
//		case nil:
//			return []byte("null"), nil
//		case <Variant>:
//			return wire.VariantJSON("<discriminator>", "<variant>", &v)
//		}
//		return nil, checks.NotAVariant(j.value, "<Variant>")
//	}
//
//	func (j *jsonOf<Union>) UnmarshalJSON(data []byte) error {
//		name, err := wire.VariantName(data, "<discriminator>", "<variant>")
//		switch name {
//		case "<variant>":
//			var v <Variant>
//			err = json.Unmarshal(data, &v)
//			j.value = v
//		}
//		return err
//	}
func unionJSON(t *catalog.Type) *jen.Statement {
	name, value := jsonName(t.LocalName()), jen.Id("j").Dot("value")
	writes := []jen.Code{jen.Case(jen.Nil()).Block(jen.Return(jen.Index().Byte().Call(jen.Lit("null")), jen.Nil()))}
	var reads []jen.Code
	known := []jen.Code{jen.Id("data"), jen.Lit(t.Discriminator.V)}
	goNames := []jen.Code{value}
	for i, v := range t.Variants {
		known = append(known, perLine(i+1, jen.Lit(v.Name.V)))
		goNames = append(goNames, perLine(i+1, jen.Lit(v.Type.GoName)))
		writes = append(writes, jen.Case(typeName(v.Type)).Block(
			jen.Return(inWire("VariantJSON").Call(jen.Lit(t.Discriminator.V), jen.Lit(v.Name.V), jen.Op("&").Id("v")))))
		reads = append(reads, jen.Case(jen.Lit(v.Name.V)).Block(
			jen.Var().Id("v").Add(typeName(v.Type)),
			jen.Err().Op("=").Qual("encoding/json", "Unmarshal").Call(jen.Id("data"), jen.Op("&").Id("v")),
			value.Clone().Op("=").Id("v"),
		))
	}
	return comment(name+" is the JSON form of "+t.GoName+": the name of the variant under the key \""+t.Discriminator.V+
		"\", and then its fields.").
		Type().Id(name).Struct(jen.Id("value").Add(typeName(t))).Line().Line().
		Func().Params(jen.Id("j").Id(name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Switch(jen.Id("v").Op(":=").Add(value).Assert(jen.Type())).Block(writes...),
		jen.Return(jen.Nil(), inChecks("NotAVariant").Call(goNames...)),
	).Line().Line().
		Func().Params(jen.Id("j").Op("*").Id(name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.List(jen.Id("name"), jen.Err()).Op(":=").Add(inWire("VariantName")).Call(known...),
		jen.Switch(jen.Id("name")).Block(reads...),
		jen.Return(jen.Err()),
	)
}

// jsonName returns the name of the unexported type that has the JSON form of another.
func jsonName(goName string) string { return "jsonOf" + goName }
