package templates

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// payloads lists the constructs of payloads.gen.go: events first, because they
// are what a reader looks for, then the types that they share, then the
// interfaces that group them.
func payloads(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		constructs = append(constructs, eventPayload(e))
		constructs = append(constructs, structMethods(eventShape(e))...)
	}
	for _, t := range c.Types {
		switch {
		case t.IsEnum():
			constructs = append(constructs, enum(t)...)
		case t.IsUnion():
			constructs = append(constructs, union(t)...)
		case t.IsScalar():
			constructs = append(constructs, namedScalar(t)...)
		case t.IsStruct():
			constructs = append(constructs, structType(t))
			constructs = append(constructs, structMethods(typeShape(t))...)
		}
	}
	for _, t := range c.ForeignUnions() {
		constructs = append(constructs, validateUnion(t))
	}
	if used := c.GoTypesUsed(); len(used) > 0 {
		constructs = append(constructs, goTypes(used))
	}
	constructs = append(constructs, anyEvent(c))
	if sealed(c) {
		constructs = append(constructs, markers("isAnyEvent", c.Events))
	}
	for _, ns := range c.Namespaces {
		if ns.Spread || !ns.Shared() {
			continue // no package could have its interface, or none needs it
		}
		constructs = append(constructs, namespaceInterface(c, ns), markers(markerName(ns), ns.Events))
	}
	return constructs
}

// structMethods lists what goes with a struct, besides JSON, copies and comparison.
func structMethods(s shape) []jen.Code {
	var constructs []jen.Code
	if compiled := patterns(s); compiled != nil {
		constructs = append(constructs, compiled)
	}
	return append(append(constructs, validateStruct(s)), defaults(s)...)
}

// eventPayload emits
//
//	// <Event> is the payload of <event.name>.
//	//
//	// <doc>
//	//
//	// Owner: <owner>. Tags: <tag>, <tag>.
//	//
//	// Deprecated: <reason>
//	type <Event> struct { <fields> }
//
// without the paragraphs for which the catalogue has nothing.
func eventPayload(e *catalog.Event) *jen.Statement {
	return comment(e.GoName+" is the payload of "+e.Name.V+".", e.Doc, ownership(e), deprecated(e.Deprecated)).
		Type().Id(e.GoName).Struct(structFields(e.Fields)...)
}

// structType emits
//
//	// <doc>
//	type <Type> struct { <fields> }
func structType(t *catalog.Type) *jen.Statement {
	return comment(typeDoc(t), deprecated(t.Deprecated)).Type().Id(t.GoName).Struct(structFields(t.Fields)...)
}

// typeDoc returns the first paragraph of a type's comment: its doc, or a sentence about
// its kind if it has none.
func typeDoc(t *catalog.Type) string {
	switch {
	case t.Doc != "":
		return t.Doc
	case t.IsEnum() && t.Integer:
		return t.GoName + " is one of a fixed set of numbers."
	case t.IsEnum():
		return t.GoName + " is one of a fixed set of strings."
	case t.IsUnion():
		return t.GoName + " is one of several structs."
	case t.IsScalar():
		return t.GoName + " stands for " + t.Scalar.Text + " in event payloads."
	}
	return t.GoName + " is a part of event payloads."
}

// structFields emits, for each field,
//
//	// <doc>
//	<Field> <type> `json:"<field>"`
//
// with omitempty for an optional field that is a pointer, and omitzero for an optional
// list, map or other type with a nil. So the JSON leaves out nil and nothing else:
// omitzero would call the method IsZero of a pointer's value, and omitempty would leave
// out an empty list.
func structFields(fields []*catalog.Field) []jen.Code {
	var code []jen.Code
	for _, f := range fields {
		code = append(code, comment(f.Doc, deprecated(f.Deprecated)).
			Id(f.GoName).Add(goType(f.Type)).Tag(jsonTag(f)))
	}
	return code
}

func jsonTag(f *catalog.Field) map[string]string {
	key := f.Name.V
	switch {
	case f.Type.Optional && hasNil(f.Type):
		key += ",omitzero"
	case f.Type.Optional:
		key += ",omitempty"
	case key == "-":
		key += "," // alone it would leave out the field
	}
	return map[string]string{"json": key}
}

// anyEvent emits
//
//	// AnyEvent is the payload of any event of this catalogue. …
//	type AnyEvent interface {
//		runtime.Payload
//		isAnyEvent()
//	}
//
// without the method in the root of several packages, because the payloads of the other
// packages implement it too.
func anyEvent(c *catalog.Catalogue) *jen.Statement {
	about, methods := "AnyEvent is the payload of any event of this catalogue. No other type implements it, so a type "+
		"switch over the payloads can be complete.",
		[]jen.Code{inRuntime("Payload"), jen.Id("isAnyEvent").Params()}
	switch {
	case c.Part != nil:
		about = "AnyEvent is the payload of any event of this package. No other type implements it."
	case !sealed(c):
		about, methods = "AnyEvent is the payload of any event of this catalogue, in whichever package it is.", methods[:1]
	}
	return comment(about).Type().Id("AnyEvent").Interface(methods...)
}

// sealed reports whether only the payloads of a package implement its AnyEvent.
func sealed(c *catalog.Catalogue) bool { return c.Part != nil || len(c.Packages) == 0 }

// namespaceInterface emits
//
//	// <Namespace>Event is the payload of an event of <namespace>.*: <Event>, … or <Event>.
//	type <Namespace>Event interface {
//		<enclosing namespace, or AnyEvent>
//		is<Namespace>Event()
//	}
func namespaceInterface(c *catalog.Catalogue, ns *catalog.Namespace) *jen.Statement {
	var events []string
	for _, e := range ns.Events {
		events = append(events, e.GoName)
	}
	name := interfaceName(ns)
	return comment(name+" is the payload of an event of "+ns.Name+".*: "+listing(events, "or")+".").
		Type().Id(name).Interface(jen.Id(enclosing(c, ns)), jen.Id(markerName(ns)).Params())
}

// markers emits, for each event,
//
//	func (<Event>) <marker>() {}
func markers(marker string, events []*catalog.Event) *jen.Statement {
	methods := jen.Null()
	for _, e := range events {
		methods.Func().Params(jen.Id(e.GoName)).Id(marker).Params().Block().Line()
	}
	return methods
}

// interfaceName returns the Go name of the interface of a namespace's payloads.
func interfaceName(ns *catalog.Namespace) string { return ns.GoName + "Event" }

func markerName(ns *catalog.Namespace) string { return "is" + interfaceName(ns) }

// enclosing returns the interface that that of ns embeds: ml.* for ml.run.*, and
// AnyEvent for the outermost namespaces.
func enclosing(c *catalog.Catalogue, ns *catalog.Namespace) string {
	dot := strings.LastIndexByte(ns.Name, '.')
	for _, outer := range c.Namespaces {
		if dot >= 0 && outer.Name == ns.Name[:dot] && !outer.Spread && outer.Shared() {
			return interfaceName(outer)
		}
	}
	return "AnyEvent"
}
