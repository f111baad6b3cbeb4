package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// publish lists the constructs of publish.gen.go.
func publish(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		constructs = append(constructs, publishOne(e))
	}
	return constructs
}

// publishOne emits
//
//	// Publish<Event> publishes one <event.name>. …
//	//
//	// <what its dedupe key does>
//	//
//	// <doc>
//	func Publish<Event>(ctx context.Context, to runtime.Publisher, payload <Event>, opts ...runtime.PublishOption) (*runtime.Receipt, error) {
//		return bind.Publish(ctx, to, <Event>Type, &payload, opts)
//	}
func publishOne(e *catalog.Event) *jen.Statement {
	return comment(
		"Publish"+e.GoName+" publishes one "+e.Name.V+": without an error it is on disk. See [runtime.Publish].",
		dedupeWords(e), e.Doc, deprecated(e.Deprecated)).
		Func().Id("Publish"+e.GoName).
		Params(publishParams(toPublisher(), "payload", jen.Id(e.GoName))...).
		Params(jen.Op("*").Add(inRuntime("Receipt")), jen.Error()).
		Block(jen.Return(inBind("Publish").Call(
			jen.Id("ctx"), jen.Id("to"), jen.Id(descriptorName(e)), jen.Op("&").Id("payload"), jen.Id("opts"),
		)))
}

// dedupeWords says which publications store nothing, or "".
func dedupeWords(e *catalog.Event) string {
	if e.DedupeBy == nil {
		return ""
	}
	return "An event with the same " + e.DedupeBy.Label() +
		" as one before is not stored again: see [runtime.WithDedupeKey]."
}

// toPublisher is the parameter of what a function publishes to.
func toPublisher() jen.Code { return jen.Id("to").Add(inRuntime("Publisher")) }

func publishParams(target jen.Code, payload string, payloadType jen.Code) []jen.Code {
	return []jen.Code{
		jen.Id("ctx").Qual("context", "Context"),
		target,
		jen.Id(payload).Add(payloadType),
		jen.Id("opts").Op("...").Add(inRuntime("PublishOption")),
	}
}
