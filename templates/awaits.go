package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// awaits lists the constructs of awaits.gen.go, which a catalogue without await_by does not have.
func awaits(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		if e.AwaitBy != nil {
			constructs = append(constructs, awaitEvent(e))
		}
	}
	return constructs
}

// awaitEvent emits
//
//	// Await<Event> waits for the first <event.name> with this <field> … See [step.Await].
//	//
//	// <doc>
//	func Await<Event>(ctx context.Context, name string, key <type of the field>, within time.Duration, opts ...step.Option) (runtime.Event[<Event>], error) {
//		return step.Await(ctx, name, <Event>Type, bind.Key(key), within, opts...)
//	}
func awaitEvent(e *catalog.Event) *jen.Statement {
	function := "Await" + e.GoName
	return comment(function+" waits for the first "+e.Name.V+" with this "+e.AwaitBy.Label()+
		" that is published after the event that is being handled. See [step.Await].", e.Doc, deprecated(e.Deprecated)).
		Func().Id(function).Params(
		jen.Id("ctx").Qual("context", "Context"), jen.Id("name").String(), jen.Id("key").Add(goType(e.AwaitBy.Type)),
		jen.Id("within").Qual("time", "Duration"), jen.Id("opts").Op("...").Add(inStep("Option")),
	).Params(inRuntime("Event").Types(jen.Id(e.GoName)), jen.Error()).
		Block(jen.Return(inStep("Await").Call(
			jen.Id("ctx"), jen.Id("name"), jen.Id(descriptorName(e)), inBind("Key").Call(jen.Id("key")), jen.Id("within"), jen.Id("opts").Op("..."),
		)))
}
