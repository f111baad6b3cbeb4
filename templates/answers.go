package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// answers lists the constructs of answers.gen.go, which a catalogue without results does not have.
func answers(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		if e.Result != nil {
			constructs = append(constructs, answerEvent(e), requestEvent(e), collectEvent(e))
		}
	}
	return constructs
}

// answerEvent emits
//
//	// Answer<Event> calls handler for every <event.name> … and hands its results to those who ask …
//	//
//	// <doc of the result>
//	func Answer<Event>(bus *runtime.Bus, name string, handler runtime.AnswerHandler[<Event>, <Result>], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return runtime.SubscribeAnswer(bus, <Event>Type, name, handler, opts...)
//	}
func answerEvent(e *catalog.Event) *jen.Statement {
	function := "Answer" + e.GoName
	params := subscribeParams(e.GoName)
	params[2] = jen.Id("handler").Add(inRuntime("AnswerHandler")).Types(jen.Id(e.GoName), goType(e.Result.Type))
	return comment(function+" calls handler for every "+e.Name.V+", as the subscription called name, and hands its results to the callers of "+
		"Request"+e.GoName+" and Collect"+e.GoName+". "+settingsPlace(e)+"See [runtime.SubscribeAnswer].", e.Result.Doc, deprecated(e.Deprecated)).
		Func().Id(function).Params(params...).Params(subscribeResults()...).
		Block(jen.Return(inRuntime("SubscribeAnswer").Call(subscribeArgs(jen.Id(descriptorName(e)))...)))
}

// requestEvent emits
//
//	// Request<Event> publishes one <event.name> and returns the first answer to it. …
//	//
//	// <doc of the result>
//	func Request<Event>(ctx context.Context, bus *runtime.Bus, payload <Event>, opts ...runtime.PublishOption) (<Result>, error) {
//		return runtime.Request[<Result>](ctx, bus, <Event>Type, payload, opts...)
//	}
func requestEvent(e *catalog.Event) *jen.Statement {
	function := "Request" + e.GoName
	return comment(function+" publishes one "+e.Name.V+" and returns the first answer to it. See [runtime.Request].", e.Result.Doc, deprecated(e.Deprecated)).
		Func().Id(function).Params(publishParams(toBus(), "payload", jen.Id(e.GoName))...).
		Params(goType(e.Result.Type), jen.Error()).
		Block(askCall("Request", e))
}

// collectEvent emits
//
//	// Collect<Event> publishes one <event.name> and returns all answers to it. …
//	func Collect<Event>(ctx context.Context, bus *runtime.Bus, payload <Event>, opts ...runtime.CollectOption) ([]runtime.Answer[<Result>], error) {
//		return runtime.Collect[<Result>](ctx, bus, <Event>Type, payload, opts...)
//	}
func collectEvent(e *catalog.Event) *jen.Statement {
	function := "Collect" + e.GoName
	params := publishParams(toBus(), "payload", jen.Id(e.GoName))
	params[3] = jen.Id("opts").Op("...").Add(inRuntime("CollectOption"))
	return comment(function+" publishes one "+e.Name.V+" and returns all answers to it. See [runtime.Collect].", deprecated(e.Deprecated)).
		Func().Id(function).Params(params...).
		Params(jen.Index().Add(inRuntime("Answer")).Types(goType(e.Result.Type)), jen.Error()).
		Block(askCall("Collect", e))
}

// toBus is the parameter of the bus that is asked.
func toBus() jen.Code { return jen.Id("bus").Op("*").Add(inRuntime("Bus")) }

// askCall emits the call of a function of the runtime whose first type parameter is the
// result.
func askCall(function string, e *catalog.Event) jen.Code {
	return jen.Return(inRuntime(function).Types(goType(e.Result.Type)).Call(
		jen.Id("ctx"), jen.Id("bus"), jen.Id(descriptorName(e)), jen.Id("payload"), jen.Id("opts").Op("..."),
	))
}
