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
//		return bind.Answer(bus, <Event>Type, name, handler, func(ctx context.Context, handler, e any) (any, error) {
//			return handler.(runtime.AnswerHandler[<Event>, <Result>])(ctx, *e.(*runtime.Event[<Event>]))
//		}, opts)
//	}
//
// with <Event>Subscription as the type of the name of an event with declared subscriptions.
func answerEvent(e *catalog.Event) *jen.Statement {
	function := "Answer" + e.GoName
	handler := func() *jen.Statement {
		return inRuntime("AnswerHandler").Types(jen.Id(e.GoName), goType(e.Result.Type))
	}
	of, name := subscriptionParam(e)
	params := subscribeParams(of, e.GoName)
	params[2] = jen.Id("handler").Add(handler())
	return comment(function+" calls handler for every "+e.Name.V+
		", as the subscription called name, and hands its results to the callers of "+
		"Request"+e.GoName+" and Collect"+e.GoName+". "+settingsPlace(e)+"See [runtime.SubscribeAnswer].", e.Result.Doc,
		deprecated(e.Deprecated)).
		Func().Id(function).Params(params...).Params(subscribeResults()...).
		Block(jen.Return(inBind("Answer").Call(
			jen.Id("bus"), jen.Id(descriptorName(e)), name, jen.Id("handler"),
			callingOf(jen.Params(jen.Any(), jen.Error()), handler(), e.GoName), jen.Id("opts"),
		)))
}

// requestEvent emits
//
//	// Request<Event> publishes one <event.name> and returns the first answer to it. …
//	//
//	// <doc of the result>
//	func Request<Event>(ctx context.Context, bus *runtime.Bus, payload <Event>, opts ...runtime.PublishOption) (<Result>, error) {
//		value, err := bind.Request(ctx, bus, <Event>Type, &payload, (*<Result>)(nil), opts)
//		answer, _ := value.(<Result>)
//		return answer, err
//	}
func requestEvent(e *catalog.Event) *jen.Statement {
	function := "Request" + e.GoName
	return comment(function+" publishes one "+e.Name.V+" and returns the first answer to it. See [runtime.Request].",
		e.Result.Doc, deprecated(e.Deprecated)).
		Func().Id(function).Params(publishParams(toBus(), "payload", jen.Id(e.GoName))...).
		Params(goType(e.Result.Type), jen.Error()).
		Block(
			jen.List(jen.Id("value"), jen.Err()).Op(":=").Add(askCall("Request", e, jen.Parens(jen.Op("*").Add(goType(e.Result.Type))).Parens(jen.Nil()))),
			jen.List(jen.Id("answer"), jen.Id("_")).Op(":=").Id("value").Assert(goType(e.Result.Type)),
			jen.Return(jen.Id("answer"), jen.Err()),
		)
}

// collectEvent emits
//
//	// Collect<Event> publishes one <event.name> and returns all answers to it. …
//	func Collect<Event>(ctx context.Context, bus *runtime.Bus, payload <Event>, opts ...runtime.CollectOption) ([]ask.Answer[<Result>], error) {
//		var answers []ask.Answer[<Result>]
//		err := bind.Collect(ctx, bus, <Event>Type, &payload, &answers, opts)
//		return answers, err
//	}
func collectEvent(e *catalog.Event) *jen.Statement {
	function := "Collect" + e.GoName
	params := publishParams(toBus(), "payload", jen.Id(e.GoName))
	params[3] = jen.Id("opts").Op("...").Add(inRuntime("CollectOption"))
	answers := func() *jen.Statement { return jen.Index().Add(inAsk("Answer")).Types(goType(e.Result.Type)) }
	return comment(function+" publishes one "+e.Name.V+" and returns all answers to it. See [runtime.Collect].", deprecated(e.Deprecated)).
		Func().Id(function).Params(params...).Params(answers(), jen.Error()).Block(
		jen.Var().Id("answers").Add(answers()),
		jen.Err().Op(":=").Add(askCall("Collect", e, jen.Op("&").Id("answers"))),
		jen.Return(jen.Id("answers"), jen.Err()),
	)
}

// toBus is the parameter of the bus that is asked.
func toBus() jen.Code { return jen.Id("bus").Op("*").Add(inRuntime("Bus")) }

// askCall emits the call of a function of package bind with what its answers are, or go to.
func askCall(function string, e *catalog.Event, answers jen.Code) jen.Code {
	return inBind(function).Call(
		jen.Id("ctx"), jen.Id("bus"), jen.Id(descriptorName(e)), jen.Op("&").Id("payload"), answers, jen.Id("opts"),
	)
}
