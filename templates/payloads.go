package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// payloads lists the constructs of payloads.gen.go: events first, because they
// are what a reader looks for, then the types that they share, then the
// interfaces that group them.
func payloads(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		constructs = append(constructs, eventPayload(e), validateStruct(payloadReceiver, e.GoName, e.Fields))
	}
	for _, t := range c.Types {
		if t.IsEnum() {
			constructs = append(constructs, enumType(t), enumConstants(t), validateEnum(t))
		} else {
			constructs = append(constructs, structType(t), validateStruct(valueReceiver, t.Name.V, t.Fields))
		}
	}
	constructs = append(constructs, anyEvent(), markers("isAnyEvent", c.Events))
	for _, ns := range c.Namespaces {
		constructs = append(constructs, namespaceInterface(c, ns), markers(markerName(ns), ns.Events))
	}
	return constructs
}

// The receivers of Validate methods. They are the same for every type, so that
// none collides with a variable of the method.
const (
	payloadReceiver = "p"
	valueReceiver   = "v"
)

// eventPayload emits
//
//	// <Event> is the payload of <event.name>.
//	//
//	// <doc>
//	type <Event> struct { <fields> }
func eventPayload(e *catalog.Event) *jen.Statement {
	return comment(e.GoName+" is the payload of "+e.Name.V+".", e.Doc).
		Type().Id(e.GoName).Struct(structFields(e.Fields)...)
}

// structType emits
//
//	// <doc>
//	type <Type> struct { <fields> }
func structType(t *catalog.Type) *jen.Statement {
	return comment(typeDoc(t)).Type().Id(t.Name.V).Struct(structFields(t.Fields)...)
}

// typeDoc is the first comment of a named type. A type without a doc gets one,
// because every exported name has one.
func typeDoc(t *catalog.Type) string {
	switch {
	case t.Doc != "":
		return t.Doc
	case t.IsEnum():
		return t.Name.V + " is one of a fixed set of texts."
	}
	return t.Name.V + " is a part of event payloads."
}

// structFields emits, for each field,
//
//	// <doc>
//	<Field> <type> `json:"<field>"`
//
// with omitzero for an optional field, so that an absent one is absent in the
// JSON too and not null.
func structFields(fields []*catalog.Field) []jen.Code {
	var code []jen.Code
	for _, f := range fields {
		key := f.Name.V
		if f.Type.Optional {
			key += ",omitzero"
		}
		code = append(code, comment(f.Doc).
			Id(f.GoName).Add(goType(f.Type)).Tag(map[string]string{"json": key}))
	}
	return code
}
