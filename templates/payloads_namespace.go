package templates

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

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
