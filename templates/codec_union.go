package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// encoding/json cannot read into an interface. So each union has an unexported
// struct around it that can be written and read, and each struct with unions has
// a twin in which those take their place.

// hasNoUnion tells whether t is not made of a union: of struct types only their
// name counts, because they have methods of their own.
func hasNoUnion(t *catalog.TypeRef) bool {
	for t.Elem != nil {
		t = t.Elem
	}
	return !isUnion(t)
}

// unionJSON emits
//
//	// jsonOf<Union> is <Union> in JSON: the variant, and in front of its fields its name as "<discriminator>".
//	type jsonOf<Union> struct{ value <Union> }
//
//	func (j jsonOf<Union>) MarshalJSON() ([]byte, error) {
//		switch v := j.value.(type) {
//		case nil:
//			return []byte("null"), nil
//		case <Variant>:
//			return wire.MarshalVariant("<discriminator>", "<variant>", v)
//		}
//		return nil, runtime.NotAVariant(j.value, "<Variant>")
//	}
//
//	func (j *jsonOf<Union>) UnmarshalJSON(data []byte) error {
//		name, err := wire.VariantName(data, "<discriminator>", "<variant>")
//		switch name {
//		case "<variant>":
//			j.value, err = wire.UnmarshalVariant[<Variant>](data)
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
			jen.Return(inWire("MarshalVariant").Call(jen.Lit(t.Discriminator.V), jen.Lit(v.Name.V), jen.Id("v")))))
		reads = append(reads, jen.Case(jen.Lit(v.Name.V)).Block(
			jen.List(value, jen.Err()).Op("=").Add(inWire("UnmarshalVariant")).Types(typeName(v.Type)).Call(jen.Id("data"))))
	}
	return comment(name+" is "+t.GoName+" in JSON: the variant, and in front of its fields its name as \""+t.Discriminator.V+"\".").
		Type().Id(name).Struct(jen.Id("value").Add(typeName(t))).Line().Line().
		Func().Params(jen.Id("j").Id(name)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).Block(
		jen.Switch(jen.Id("v").Op(":=").Add(value).Assert(jen.Type())).Block(writes...),
		jen.Return(jen.Nil(), inRuntime("NotAVariant").Call(goNames...)),
	).Line().Line().
		Func().Params(jen.Id("j").Op("*").Id(name)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.List(jen.Id("name"), jen.Err()).Op(":=").Add(inWire("VariantName")).Call(known...),
		jen.Switch(jen.Id("name")).Block(reads...),
		jen.Return(jen.Err()),
	)
}

// jsonName is the unexported type that stands for another in JSON.
func jsonName(goName string) string { return "jsonOf" + goName }

// twin emits
//
//	// jsonOf<Type> is <Type> as encoding/json writes and reads it.
//	type jsonOf<Type> struct { <fields> }
func twin(s shape) *jen.Statement {
	var fields []jen.Code
	for _, f := range s.fields {
		fields = append(fields, jen.Id(f.GoName).Add(twinType(f.Type)).Tag(jsonTag(f)))
	}
	return comment(jsonName(s.goName) + " is " + s.goName + " as encoding/json writes and reads it.").
		Type().Id(jsonName(s.goName)).Struct(fields...)
}

func twinType(t *catalog.TypeRef) *jen.Statement {
	switch {
	case hasNoUnion(t):
		return goType(t)
	case t.Kind == catalog.List:
		return jen.Index().Add(twinType(t.Elem))
	case t.Kind == catalog.Map:
		return jen.Map(jen.String()).Add(twinType(t.Elem))
	}
	return jen.Id(jsonName(t.Named.LocalName()))
}

// marshalTwin emits
//
//	// MarshalJSON implements json.Marshaler.
//	func (<p> <Type>) MarshalJSON() ([]byte, error) {
//		return json.Marshal(jsonOf<Type>{
//			<Field>: <p>.<Field>,
//			<Union>: jsonOf<Union>{<p>.<Union>},
//		})
//	}
func marshalTwin(s shape) *jen.Statement {
	var fields []jen.Code
	for _, f := range s.fields {
		fields = append(fields, pair(f.GoName, toTwin(f.Type, jen.Id(s.receiver).Dot(f.GoName))))
	}
	return comment("MarshalJSON implements json.Marshaler.").
		Func().Params(jen.Id(s.receiver).Id(s.goName)).Id("MarshalJSON").Params().Params(jen.Index().Byte(), jen.Error()).
		Block(jen.Return(jen.Qual("encoding/json", "Marshal").Call(jen.Id(jsonName(s.goName)).Custom(linesInBraces, fields...))))
}

// unmarshalTwin emits
//
//	// UnmarshalJSON implements json.Unmarshaler.
//	func (<p> *<Type>) UnmarshalJSON(data []byte) error {
//		var j jsonOf<Type>
//		err := json.Unmarshal(data, &j)
//		*<p> = <Type>{
//			<Field>: j.<Field>,
//			<Union>: j.<Union>.value,
//		}
//		return err
//	}
func unmarshalTwin(s shape) *jen.Statement {
	var fields []jen.Code
	for _, f := range s.fields {
		fields = append(fields, pair(f.GoName, fromTwin(f.Type, jen.Id("j").Dot(f.GoName))))
	}
	return comment("UnmarshalJSON implements json.Unmarshaler.").
		Func().Params(jen.Id(s.receiver).Op("*").Id(s.goName)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).Error().Block(
		jen.Var().Id("j").Id(jsonName(s.goName)),
		jen.Err().Op(":=").Qual("encoding/json", "Unmarshal").Call(jen.Id("data"), jen.Op("&").Id("j")),
		jen.Op("*").Id(s.receiver).Op("=").Id(s.goName).Custom(linesInBraces, fields...),
		jen.Return(jen.Err()),
	)
}

// toTwin emits one of
//
//	<value>
//	jsonOf<Union>{<value>}
//	wire.EachItem(<list>, func(item <Union>) jsonOf<Union> { return <to twin> })
//	wire.EachEntry(<map>, func(item <Union>) jsonOf<Union> { return <to twin> })
func toTwin(t *catalog.TypeRef, value *jen.Statement) *jen.Statement {
	if t.Kind == catalog.Named && isUnion(t) {
		return jen.Id(jsonName(t.Named.LocalName())).Values(value)
	}
	return eachTwin(t, value, toTwin, func(t *catalog.TypeRef) (from, to *jen.Statement) { return bareType(t), twinType(t) })
}

// fromTwin emits the way back.
func fromTwin(t *catalog.TypeRef, value *jen.Statement) *jen.Statement {
	if t.Kind == catalog.Named && isUnion(t) {
		return value.Clone().Dot("value")
	}
	return eachTwin(t, value, fromTwin, func(t *catalog.TypeRef) (from, to *jen.Statement) { return twinType(t), bareType(t) })
}

func eachTwin(t *catalog.TypeRef, value *jen.Statement, one func(*catalog.TypeRef, *jen.Statement) *jen.Statement,
	types func(*catalog.TypeRef) (from, to *jen.Statement)) *jen.Statement {
	if hasNoUnion(t) {
		return value
	}
	function := map[catalog.Kind]string{catalog.List: "EachItem", catalog.Map: "EachEntry"}[t.Kind]
	from, to := types(t.Elem)
	return inWire(function).Call(value, jen.Func().Params(jen.Id("item").Add(from)).Add(to).
		Custom(oneLineBody, jen.Return(one(t.Elem, jen.Id("item")))))
}
