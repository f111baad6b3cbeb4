package templates

import (
	"encoding/json"
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// codec lists the constructs of codec.gen.go, in the order of payloads.gen.go.
func codec(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		constructs = append(constructs, structCodec(eventShape(e))...)
	}
	for _, t := range c.Types {
		switch {
		case t.IsEnum():
			constructs = append(constructs, readEnum(t))
		case t.IsUnion():
			constructs = append(constructs, unionJSON(t))
		case t.IsScalar():
			constructs = append(constructs, writeScalar(t), readScalar(t))
		case t.IsStruct():
			constructs = append(constructs, structCodec(typeShape(t))...)
		}
	}
	for _, t := range c.ForeignUnions() {
		constructs = append(constructs, unionJSON(t))
	}
	return constructs
}

// structCodec lists the JSON methods of a struct: WriteJSON and ReadJSON if all fields
// have them, and otherwise the methods that encoding/json needs.
func structCodec(s shape) []jen.Code {
	var older []jen.Code
	if s.hasOlder() {
		older = append(older, upgradeJSON(s))
	}
	if !s.all(asItStands) {
		return append([]jen.Code{twin(s), marshalTwin(s), unmarshalTwin(s)}, older...)
	}
	if s.hasOlder() {
		older = append(older, unmarshalOlder(s))
	}
	switch {
	case s.planned():
	case s.all(hasCodec):
		return append([]jen.Code{writeStruct(s), readStruct(s)}, older...)
	case s.any(needsAddress):
		return append([]jen.Code{marshalAddressed(s)}, older...)
	}
	return older
}

// inWire refers to a name of the wire package.
func inWire(name string) *jen.Statement { return jen.Qual(wirePath, name) }

// writeMethod emits
//
//	// WriteJSON writes <p> as encoding/json does. See [wire.Writer].
//	func (<p> <Type>) WriteJSON(w *wire.Writer) { <body> }
func writeMethod(receiver, typeName string, body ...jen.Code) *jen.Statement {
	return comment("WriteJSON writes " + receiver + " as encoding/json does. See [wire.Writer].").
		Func().Params(jen.Id(receiver).Id(typeName)).Id("WriteJSON").
		Params(jen.Id("w").Op("*").Add(inWire("Writer"))).Block(body...)
}

// readMethod emits
//
//	// ReadJSON reads <p> as encoding/json does, or gives up. See [wire.Reader].
//	func (<p> *<Type>) ReadJSON(r *wire.Reader) { <body> }
func readMethod(receiver, typeName string, body ...jen.Code) *jen.Statement {
	return comment("ReadJSON reads " + receiver + " as encoding/json does, or gives up. See [wire.Reader].").
		Func().Params(jen.Id(receiver).Op("*").Id(typeName)).Id("ReadJSON").
		Params(jen.Id("r").Op("*").Add(inWire("Reader"))).Block(body...)
}

// writeStruct emits the method WriteJSON with the body
//
//	w.BeginObject()
//	<fields>
//	w.EndObject()
//
// and for a struct that may contain itself with the beginning
//
//	if !w.BeginObject() {
//		return
//	}
func writeStruct(s shape) *jen.Statement {
	begin := jen.Id("w").Dot("BeginObject").Call()
	if s.recursive {
		begin = jen.If(jen.Op("!").Add(begin)).Block(jen.Return())
	}
	body := []jen.Code{begin}
	for _, f := range s.fields {
		body = append(body, writeField(s.receiver, f)...)
	}
	return writeMethod(s.receiver, s.goName, append(body, jen.Id("w").Dot("EndObject").Call())...)
}

// readStruct emits the method ReadJSON with the body
//
//	r.BeginObject()
//	<fields>
//	r.EndObject()
func readStruct(s shape) *jen.Statement {
	body := []jen.Code{jen.Id("r").Dot("BeginObject").Call()}
	for _, f := range s.fields {
		body = append(body, readField(s.receiver, f))
	}
	return readMethod(s.receiver, s.goName, append(body, jen.Id("r").Dot("EndObject").Call())...)
}

// readEnum emits the method ReadJSON with the body
//
//	r.Enum((*string)(<v>), "<value>", …)
//
// or *<v> = <Type>(r.Int()) for an enum of integers. Enums are written without a method: see [wire.Encoder].
func readEnum(t *catalog.Type) *jen.Statement {
	if t.Integer {
		return readMethod(valueReceiver, t.GoName,
			jen.Op("*").Id(valueReceiver).Op("=").Id(t.GoName).Call(jen.Id("r").Dot("Int").Call()))
	}
	args := append([]jen.Code{jen.Parens(jen.Op("*").String()).Call(jen.Id(valueReceiver))}, namesOf(t)...)
	return readMethod(valueReceiver, t.GoName, jen.Id("r").Dot("Enum").Call(args...))
}

// plainEnum emits a value of an enum as one of its built-in type, and returns the name of the method that writes it:
//
//	string(<value>)
//	int(<value>)
func plainEnum(t *catalog.TypeRef, value *jen.Statement) (plain *jen.Statement, method string) {
	if t.Named.Integer {
		return jen.Int().Call(value), "Int"
	}
	return jen.String().Call(value), "String"
}

// writeField emits the statements of writeKeyed. For an optional field that is
//
//	if p.<Field> != nil { <statements> }
//
// or, if they are but a call for a pointer,
//
//	wire.WriteOptionalField(w, "<field>", p.<Field>, w.<String>)
//
// and for a nullable one
//
//	w.Key("<field>")
//	if p.<Field> != nil { <write of p.<Field>> } else { w.Null() }
func writeField(receiver string, f *catalog.Field) []jen.Code {
	field := jen.Id(receiver).Dot(f.GoName)
	value := field
	if isPlanned(f.Type) && !f.Type.MayBeNil() {
		value = jen.Op("&").Add(field)
	}
	if f.Type.MayBeNil() && !hasNil(f.Type) && !writesItself(f.Type) && !isPlanned(f.Type) {
		value = jen.Op("*").Add(field)
	}
	there := jen.If(field.Clone().Op("!=").Nil())
	switch {
	case f.Type.Optional && !hasNil(f.Type) && hasCodecMethod(f.Type):
		return []jen.Code{inWire("WriteOptionalField").Call(jen.Id("w"), wireKey(f.Name.V), field, writeFunc(f.Type))}
	case f.Type.Optional:
		return []jen.Code{there.Block(writeKeyed(f, value)...)}
	case f.Type.Nullable && !hasNil(f.Type): // of others, nil is null anyway
		return []jen.Code{jen.Id("w").Dot("Key").Call(wireKey(f.Name.V)),
			there.Block(writeValue(f.Type, value)).Else().Block(jen.Id("w").Dot("Null").Call())}
	}
	return writeKeyed(f, value)
}

// writeKeyed emits one of
//
//	w.<String>Field("<field>", <value>)
//	w.StringField("<field>", string(<value>))
//	w.IntField("<field>", int(<value>))
//	wire.WriteTextField(w, "<field>", <value>)
//	wire.WriteItemsField(w, "<field>", <value>, <Type>.WriteJSON)
//	wire.Write<List>Field(w, "<field>", <value>, <write function of its elements>)
//
// or for a type with methods of its own, and likewise for one of go_types
//
//	w.Key("<field>")
//	<value>.WriteJSON(w)
func writeKeyed(f *catalog.Field, value *jen.Statement) []jen.Code {
	t, w, key := f.Type, jen.Id("w"), wireKey(f.Name.V)
	switch {
	case t.IsEnum():
		plain, method := plainEnum(t, value)
		return []jen.Code{w.Dot(method+"Field").Call(key, plain)}
	case writesItself(t), isPlanned(t), t.Go != nil:
		return []jen.Code{w.Dot("Key").Call(key), writeValue(t, value)}
	case t.Kind == catalog.Decimal:
		return []jen.Code{w.Dot("StringField").Call(key, jen.String().Call(value))}
	case t.Kind == catalog.Date, t.Kind == catalog.Duration:
		return []jen.Code{inWire("WriteTextField").Call(w, key, value)}
	case t.Kind == catalog.List && writesItself(t.Elem):
		return []jen.Code{inWire("WriteItemsField").Call(w, key, value, bareType(t.Elem).Dot("WriteJSON"))}
	case t.Kind == catalog.List:
		return []jen.Code{inWire("WriteListField").Call(w, key, value, writeFunc(t.Elem))}
	case t.Kind == catalog.Map:
		return []jen.Code{inWire("WriteMapField").Call(w, key, value, writeFunc(t.Elem))}
	}
	return []jen.Code{w.Dot(codecMethod(t)+"Field").Call(key, value)}
}

// writesItself reports whether the Go type has the method WriteJSON.
func writesItself(t *catalog.TypeRef) bool { return hasJSONMethods(t) && !t.IsEnum() }

// hasCodecMethod reports whether one method of wire.Writer writes a value of t.
func hasCodecMethod(t *catalog.TypeRef) bool {
	return codecMethods[t.Kind] != "" && t.Go == nil && !hasJSONMethods(t)
}

// wireKey emits a JSON name as encoding/json writes it between the quotes: with escapes for <, > and &.
func wireKey(name string) *jen.Statement {
	text, err := json.Marshal(name)
	if err != nil {
		panic(fmt.Sprintf("templates: the name %q has no JSON: %v", name, err)) // every text has
	}
	return jen.Lit(string(text[1 : len(text)-1]))
}

// readField emits one of
//
//	r.<String>Field("<field>", &p.<Field>)
//	r.StringField("<field>", (*string)(&p.<Field>))
//	wire.ReadItemField(r, "<field>", &p.<Field>, (*<Type>).ReadJSON)
//	wire.ReadItemsField(r, "<field>", &p.<Field>, (*<Type>).ReadJSON)
//	wire.Read<List>Field(r, "<field>", &p.<Field>, <read function of its elements>)
//
// or what readUnlike emits.
func readField(receiver string, f *catalog.Field) jen.Code {
	t, r, key := f.Type, jen.Id("r"), wireKey(f.Name.V)
	into := jen.Op("&").Id(receiver).Dot(f.GoName)
	pointer := t.MayBeNil() && !hasNil(t)
	switch {
	case isOlder(f):
	case pointer && hasJSONMethods(t):
		return inWire("ReadItemField").Call(r, key, into, readMethodOf(t))
	case pointer:
		return inWire("ReadOptionalField").Call(r, key, into, readFunc(t))
	case hasCodecMethod(t):
		return r.Dot(codecMethod(t)+"Field").Call(key, into)
	case hasJSONMethods(t), isPlanned(t), t.Go != nil:
	case t.Kind == catalog.Decimal:
		return r.Dot("StringField").Call(key, jen.Parens(jen.Op("*").String()).Call(into))
	case t.Kind == catalog.List && hasJSONMethods(t.Elem):
		return inWire("ReadItemsField").Call(r, key, into, readMethodOf(t.Elem))
	case t.Kind == catalog.List:
		return inWire("ReadListField").Call(r, key, into, readFunc(t.Elem))
	case t.Kind == catalog.Map:
		return inWire("ReadMapField").Call(r, key, into, readFunc(t.Elem))
	}
	return readUnlike(receiver, f)
}

// readMethodOf emits
//
//	(*<Type>).ReadJSON
func readMethodOf(t *catalog.TypeRef) *jen.Statement {
	return jen.Parens(jen.Op("*").Add(bareType(t))).Dot("ReadJSON")
}

// readUnlike emits
//
//	if r.Key("<field>") || r.Key("<former name>") {
//		<read into p.<Field>>
//	} else {
//		p.<Field> = <default>
//	}
//
// without former names if there are none, and without the else if there is no default.
func readUnlike(receiver string, f *catalog.Field) jen.Code {
	field := jen.Id(receiver).Dot(f.GoName)
	read := readInto(f.Type, field)
	if f.Type.MayBeNil() && !hasNil(f.Type) {
		read = field.Clone().Op("=").Add(inWire("ReadOptional")).Call(jen.Id("r"), readFunc(f.Type))
	}
	found := jen.Id("r").Dot("Key").Call(wireKey(f.Name.V))
	for _, was := range f.Was {
		found.Op("||").Id("r").Dot("Key").Call(wireKey(was.V))
	}
	statement := jen.If(found).Block(read)
	if hasStandIn(f) {
		statement.Else().Block(field.Clone().Op("=").Add(constant(f.Type, f.Default.V)))
	}
	return statement
}

// codecMethods has the methods of wire.Reader and wire.Writer for scalar types.
var codecMethods = map[catalog.Kind]string{
	catalog.String: "String", catalog.Bool: "Bool", catalog.Int: "Int", catalog.Int32: "Int32", catalog.Int64: "Int64",
	catalog.Uint64: "Uint64", catalog.Float64: "Float64", catalog.Bytes: "Bytes", catalog.Time: "Time",
	catalog.UUID: "UUID",
	catalog.JSON: "JSON",
}

// writeValue emits one of
//
//	w.<String>(<value>)
//	w.String(string(<value>))
//	w.Int(int(<value>))
//	wire.WriteText(w, <value>)
//	wire.WriteGoType(w, <value>)
//	wire.Write<List>(w, <value>, <write function of its elements>)
//	<value>.WriteJSON(w)
//	wire.WriteStruct(w, <pointer to a value>)
func writeValue(t *catalog.TypeRef, value *jen.Statement) *jen.Statement {
	if t.IsEnum() {
		plain, method := plainEnum(t, value)
		return jen.Id("w").Dot(method).Call(plain)
	}
	if writesItself(t) {
		return value.Clone().Dot("WriteJSON").Call(jen.Id("w"))
	}
	if isPlanned(t) {
		return inWire("WriteStruct").Call(jen.Id("w"), value)
	}
	if t.Go != nil {
		return inWire("WriteGoType").Call(jen.Id("w"), value)
	}
	switch t.Kind {
	case catalog.Date, catalog.Duration:
		return inWire("WriteText").Call(jen.Id("w"), value)
	case catalog.Decimal:
		return jen.Id("w").Dot("String").Call(jen.String().Call(value))
	case catalog.List:
		return inWire("WriteList").Call(jen.Id("w"), value, writeFunc(t.Elem))
	case catalog.Map:
		return inWire("WriteMap").Call(jen.Id("w"), value, writeFunc(t.Elem))
	}
	return jen.Id("w").Dot(codecMethod(t)).Call(value)
}

// writeFunc emits one of
//
//	w.<String>
//	func(item <Type>) { <write of item> }
func writeFunc(t *catalog.TypeRef) jen.Code {
	if hasCodecMethod(t) {
		return jen.Id("w").Dot(codecMethod(t))
	}
	item := jen.Id("item")
	if isPlanned(t) {
		item = jen.Op("&").Add(item)
	}
	return jen.Func().Params(jen.Id("item").Add(bareType(t))).Custom(oneLineBody, writeValue(t, item))
}

// readInto emits one of
//
//	<target> = r.<String>()
//	<target> = wire.Read<List>(r, <read function of its elements>)
//	<target>.ReadJSON(r)
//	r.Check(<target>.UnmarshalText(r.Text()))
//	wire.ReadGoType(r, &<target>)
//	wire.ReadStruct(r, &<target>)
func readInto(t *catalog.TypeRef, target *jen.Statement) *jen.Statement {
	if hasJSONMethods(t) {
		return target.Clone().Dot("ReadJSON").Call(jen.Id("r"))
	}
	if isPlanned(t) {
		return inWire("ReadStruct").Call(jen.Id("r"), jen.Op("&").Add(target))
	}
	if t.Go != nil {
		return inWire("ReadGoType").Call(jen.Id("r"), jen.Op("&").Add(target))
	}
	switch t.Kind {
	case catalog.Date, catalog.Duration:
		text := jen.Id("r").Dot("Text").Call()
		return jen.Id("r").Dot("Check").Call(target.Clone().Dot("UnmarshalText").Call(text))
	}
	return target.Clone().Op("=").Add(readCall(t))
}

// readCall emits the expression behind the = of readInto.
func readCall(t *catalog.TypeRef) *jen.Statement {
	switch t.Kind {
	case catalog.List:
		return inWire("ReadList").Call(jen.Id("r"), readFunc(t.Elem))
	case catalog.Map:
		return inWire("ReadMap").Call(jen.Id("r"), readFunc(t.Elem))
	case catalog.Decimal:
		return bareType(t).Call(jen.Id("r").Dot("String").Call())
	}
	return jen.Id("r").Dot(codecMethod(t)).Call()
}

// readFunc emits one of
//
//	r.<String>
//	func() <Type> { return <read> }
//	func() (item <Type>) {
//		<read into item>
//		return item
//	}
func readFunc(t *catalog.TypeRef) jen.Code {
	switch {
	case hasJSONMethods(t), isPlanned(t), t.Go != nil, t.Kind == catalog.Date, t.Kind == catalog.Duration:
		return jen.Func().Params().Params(jen.Id("item").Add(bareType(t))).
			Block(readInto(t, jen.Id("item")), jen.Return(jen.Id("item")))
	case t.Kind == catalog.List, t.Kind == catalog.Map, t.Kind == catalog.Decimal:
		return jen.Func().Params().Add(bareType(t)).Custom(oneLineBody, jen.Return(readCall(t)))
	}
	return jen.Id("r").Dot(codecMethod(t))
}

func codecMethod(t *catalog.TypeRef) string {
	method := codecMethods[t.Kind]
	if method == "" {
		panic(fmt.Sprintf("templates: no method of wire for kind %d of %s", t.Kind, t.Text))
	}
	return method
}
