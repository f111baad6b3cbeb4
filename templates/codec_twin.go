package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// encoding/json cannot decode into an interface, and it calls methods with pointer
// receivers only for addressable values. Values in maps and interfaces are not
// addressable. So each union has an unexported struct around it with JSON methods, and
// so have custom types in maps. A struct with such a field has a twin, whose fields have
// the wrapped types.

// asItStands reports whether encoding/json can write and read an addressable value of
// type t without a twin. It does not look into structs, because they have their own methods.
func asItStands(t *catalog.TypeRef) bool {
	switch t.Kind {
	case catalog.List:
		return asItStands(t.Elem)
	case catalog.Map:
		return asItStands(t.Elem) && !t.Elem.IsCustom()
	}
	return !t.IsUnion()
}

// needsAddress reports whether encoding/json may have to call methods with pointer
// receivers of t, and t is not addressable anyway as items of lists and pointers are.
func needsAddress(t *catalog.TypeRef) bool { return t.IsCustom() && !t.MayBeNil() }

// marshalAddressed emits
//
//	// MarshalJSON implements json.Marshaler: it makes the fields of <p> addressable, …
//	func (<p> <Type>) MarshalJSON() ([]byte, error) {
//		type plain <Type>
//		return json.Marshal((*plain)(&<p>))
//	}
func marshalAddressed(s shape) *jen.Statement {
	return comment("MarshalJSON implements json.Marshaler. It makes the fields of "+s.receiver+
		" addressable, so that encoding/json calls methods with pointer receivers.").
		Func().Params(jen.Id(s.receiver).Id(s.goName)).Id("MarshalJSON").Params().Params(jen.Index().Byte(),
		jen.Error()).Block(
		jen.Type().Id("plain").Id(s.goName),
		jen.Return(jen.Qual("encoding/json",
			"Marshal").Call(jen.Parens(jen.Op("*").Id("plain")).Call(jen.Op("&").Id(s.receiver)))),
	)
}

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
	case asItStands(t):
		return goType(t)
	case t.Kind == catalog.List:
		return jen.Index().Add(twinType(t.Elem))
	case t.Kind == catalog.Map && t.Elem.IsCustom():
		return jen.Map(jen.String()).Add(inWire("Custom")).Types(bareType(t.Elem))
	case t.Kind == catalog.Map:
		return jen.Map(jen.String()).Add(twinType(t.Elem))
	}
	return jen.Id(jsonName(t.Named.LocalName()))
}

// marshalTwin emits
//
//	// MarshalJSON implements json.Marshaler.
//	func (<p> <Type>) MarshalJSON() ([]byte, error) {
//		return json.Marshal(&jsonOf<Type>{
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
		Block(jen.Return(jen.Qual("encoding/json", "Marshal").Call(jen.Op("&").Id(jsonName(s.goName)).Custom(linesInBraces,
			fields...))))
}

// unmarshalTwin emits
//
//	// UnmarshalJSON implements json.Unmarshaler.
//	func (<p> *<Type>) UnmarshalJSON(data []byte) error {
//		var j jsonOf<Type>
//		err := json.Unmarshal(<stored>, &j)
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
		Func().Params(jen.Id(s.receiver).Op("*").Id(s.goName)).Id("UnmarshalJSON").Params(jen.Id("data").Index().Byte()).
		Error().Block(
		jen.Var().Id("j").Id(jsonName(s.goName)),
		jen.Err().Op(":=").Qual("encoding/json", "Unmarshal").Call(storedJSON(s), jen.Op("&").Id("j")),
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
//	wire.EachEntry(<map>, wire.NewCustom)
func toTwin(t *catalog.TypeRef, value *jen.Statement) *jen.Statement {
	if t.IsUnion() {
		return jen.Id(jsonName(t.Named.LocalName())).Values(value)
	}
	return eachTwin(t, value, inWire("NewCustom"), toTwin, func(t *catalog.TypeRef) (from, to *jen.Statement) {
		return bareType(t), twinType(t)
	})
}

// fromTwin emits the opposite conversion.
func fromTwin(t *catalog.TypeRef, value *jen.Statement) *jen.Statement {
	if t.IsUnion() {
		return value.Clone().Dot("value")
	}
	custom := jen.Null()
	if t.Kind == catalog.Map && t.Elem.IsCustom() {
		custom = inWire("Custom").Types(bareType(t.Elem)).Dot("Get")
	}
	return eachTwin(t, value, custom, fromTwin, func(t *catalog.TypeRef) (from, to *jen.Statement) {
		return twinType(t), bareType(t)
	})
}

// eachTwin emits the function that converts the items of a collection. For custom types
// in a map that is a function of package wire.
func eachTwin(t *catalog.TypeRef, value, custom *jen.Statement,
	one func(*catalog.TypeRef, *jen.Statement) *jen.Statement,
	types func(*catalog.TypeRef) (from, to *jen.Statement)) *jen.Statement {
	switch {
	case asItStands(t):
		return value
	case t.Kind == catalog.Map && t.Elem.IsCustom():
		return inWire("EachEntry").Call(value, custom)
	}
	function := map[catalog.Kind]string{catalog.List: "EachItem", catalog.Map: "EachEntry"}[t.Kind]
	from, to := types(t.Elem)
	return inWire(function).Call(value, jen.Func().Params(jen.Id("item").Add(from)).Add(to).
		Custom(oneLineBody, jen.Return(one(t.Elem, jen.Id("item")))))
}
