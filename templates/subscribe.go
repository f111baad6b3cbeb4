package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// subscribe lists the constructs of subscribe.gen.go, from the narrowest subscription to the widest. What few programs
// use, as runtime.SubscribeTx, is called with the variable of the event type: a function of each type for it would
// cost every build.
func subscribe(c *catalog.Catalogue) []jen.Code {
	constructs := []jen.Code{comment("The functions below give the runtime a function that calls the handler, and not " +
		"the handler itself: " +
		"then the compiler does not have to make the runtime's part of a subscription for each payload again. That is why " +
		"they assert types. A wrong handler is an error of the compiler all the same: it does not fit the parameter.")}
	for _, e := range c.Events {
		if len(e.Subscriptions) > 0 {
			constructs = append(constructs, subscriptionNames(e)...)
		}
		constructs = append(constructs, subscribeEvent(e))
	}
	for _, ns := range c.Namespaces {
		if ns.Shared() {
			constructs = append(constructs, subscribeNamespace(ns))
		}
	}
	if c.Part != nil {
		return constructs
	}
	constructs = append(constructs, subscribeAll())
	return append(constructs, patternSubscriptions(c)...)
}

// subscriptionType is the name of the type of the names of an event's subscriptions.
func subscriptionType(e *catalog.Event) string { return e.GoName + "Subscription" }

// subscriptionNames lists the names of the subscriptions that the catalogue declares for an event. They are of a type
// of their own, and no named string, which a literal would become by itself: so a misspelt name, and that of another
// event, do not compile.
func subscriptionNames(e *catalog.Event) []jen.Code {
	return []jen.Code{subscriptionNameType(e), subscriptionNameText(e), undeclaredSubscription(e),
		declaredSubscriptions(e)}
}

// subscriptionNameType emits
//
//	// <Event>Subscription names a subscription of <event.name>: …
//	type <Event>Subscription struct{ name string }
func subscriptionNameType(e *catalog.Event) *jen.Statement {
	return comment(subscriptionType(e) + " names a subscription of " + e.Name.V +
		": one that the catalogue declares, or one of [" +
		"Undeclared" + e.GoName + "].").
		Type().Id(subscriptionType(e)).Struct(jen.Id("name").String())
}

// subscriptionNameText emits
//
//	// String returns the name.
//	func (s <Event>Subscription) String() string { return s.name }
func subscriptionNameText(e *catalog.Event) *jen.Statement {
	return comment("String returns the name.").
		Func().Params(jen.Id("s").Id(subscriptionType(e))).Id("String").Params().String().
		Custom(oneLineBody, jen.Return(jen.Id("s").Dot("name")))
}

// undeclaredSubscription emits
//
//	// Undeclared<Event> names a subscription of <event.name> that the catalogue does not declare. …
//	func Undeclared<Event>(name string) <Event>Subscription { return <Event>Subscription{name} }
func undeclaredSubscription(e *catalog.Event) *jen.Statement {
	return comment("Undeclared"+e.GoName+" names a subscription of "+e.Name.V+
		" that the catalogue does not declare. It gets the events "+
		"that are published from its first Subscribe"+e.GoName+" on.").
		Func().Id("Undeclared"+e.GoName).Params(jen.Id("name").String()).Id(subscriptionType(e)).
		Custom(oneLineBody, jen.Return(jen.Id(subscriptionType(e)).Values(jen.Id("name"))))
}

// declaredSubscriptions emits
//
//	// The subscriptions of <event.name> that the catalogue declares. …
//	var (
//		// On<Event><Subscription> is the subscription <subscription> of <event.name>.
//		//
//		// <doc>
//		On<Event><Subscription> = <Event>Subscription{"<subscription>"}
//	)
//
// and says of which group it is a member.
func declaredSubscriptions(e *catalog.Event) *jen.Statement {
	var names []jen.Code
	for i, s := range e.Subscriptions {
		if i > 0 {
			names = append(names, jen.Line())
		}
		words := ""
		if s.Group != nil {
			words = "It is a member of group " + s.Group.Name.V +
				", which has one delivery of each event for all of its members."
		}
		names = append(names, comment(s.GoName+" is the subscription "+s.Name.V+" of "+e.Name.V+".", s.Doc, words).
			Id(s.GoName).Op("=").Id(subscriptionType(e)).Values(jen.Lit(s.Name.V)))
	}
	return comment("The subscriptions of " + e.Name.V + " that the catalogue declares. They exist from Open on: " +
		"each keeps its events until Subscribe" + e.GoName + " is called with its name.").
		Var().Defs(names...)
}

// subscribeEvent emits
//
//	// Subscribe<Event> calls handler for every <event.name>. …
//	//
//	// <doc>
//	func Subscribe<Event>(bus *runtime.Bus, name <Event>Subscription, handler runtime.Handler[<Event>], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return bind.Subscribe(bus, <Event>Type, name.name, handler, func(ctx context.Context, handler, e any) error {
//			return handler.(runtime.Handler[<Event>])(ctx, *e.(*runtime.Event[<Event>]))
//		}, opts)
//	}
//
// with a string as the name for an event without declared subscriptions. The compiler takes half as long for it as for
// a call of the generic runtime.Subscribe.
func subscribeEvent(e *catalog.Event) *jen.Statement {
	function := "Subscribe" + e.GoName
	of, name := subscriptionParam(e)
	return comment(function+" calls handler for every "+e.Name.V+", with the settings of ["+descriptorName(e)+"]. "+
		"See [runtime.Subscribe].", e.Doc, deprecated(e.Deprecated)).
		Func().Id(function).Params(subscribeParams(of, e.GoName)...).Params(subscribeResults()...).
		Block(jen.Return(inBind("Subscribe").Call(
			jen.Id("bus"), jen.Id(descriptorName(e)), name, jen.Id("handler"), calling(e.GoName), jen.Id("opts"),
		)))
}

// subscriptionParam emits the type of the parameter name of a function that subscribes to an event, and its text.
func subscriptionParam(e *catalog.Event) (of, text jen.Code) {
	if len(e.Subscriptions) == 0 {
		return jen.String(), jen.Id("name")
	}
	return jen.Id(subscriptionType(e)), jen.Id("name").Dot("name")
}

// settingsPlace says where the settings of an event are. They are not repeated in comments, so that each is in one
// place.
func settingsPlace(e *catalog.Event) string { return "[" + descriptorName(e) + "] has its settings. " }

// subscribeNamespace emits
//
//	// Subscribe<Namespace> calls handler for every event of <namespace>.* …
//	func Subscribe<Namespace>(bus *runtime.Bus, name string, handler runtime.Handler[<Namespace>Event], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return bind.SubscribeNamespace(bus, "<namespace>.*", name, handler, func(ctx context.Context, handler, e any) error {
//			return handler.(runtime.Handler[<Namespace>Event])(ctx, *e.(*runtime.Event[<Namespace>Event]))
//		}, opts)
//	}
func subscribeNamespace(ns *catalog.Namespace) *jen.Statement {
	payload := interfaceName(ns)
	if ns.Spread {
		payload = "AnyEvent"
	}
	return subscribePattern("Subscribe"+ns.GoName, ns.Name+".*", payload,
		"every event of "+ns.Name+".*")
}

// subscribeAll emits
//
//	// SubscribeAll calls handler for every event …
//	func SubscribeAll(bus *runtime.Bus, name string,
//		handler runtime.Handler[AnyEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//
// with a body like that of subscribeNamespace.
func subscribeAll() *jen.Statement {
	return subscribePattern("SubscribeAll", "*", "AnyEvent", "every event of this catalogue")
}

func subscribePattern(function, pattern, payload, events string) *jen.Statement {
	return comment(function + " calls handler for " + events +
		", each with the settings of its own type. See [runtime.SubscribeNamespace].").
		Func().Id(function).Params(subscribeParams(jen.String(), payload)...).Params(subscribeResults()...).
		Block(namespaceCall(pattern, jen.Id("name"), payload))
}

// namespaceCall emits the call of the runtime in the function of a subscription for a pattern.
func namespaceCall(pattern string, name jen.Code, payload string) jen.Code {
	return jen.Return(inBind("SubscribeNamespace").Call(
		jen.Id("bus"), jen.Lit(pattern), name, jen.Id("handler"), calling(payload), jen.Id("opts"),
	))
}

// calling emits the function that calls a handler of payloads of a type with an event.
func calling(payload string) jen.Code {
	return callingOf(jen.Error(), inRuntime("Handler").Types(jen.Id(payload)), payload)
}

// callingOf is calling for a type of handlers, and what they return.
func callingOf(results, handler jen.Code, payload string) jen.Code {
	return jen.Func().Params(jen.Id("ctx").Qual("context", "Context"),
		jen.List(jen.Id("handler"), jen.Id("e")).Any()).Add(results).Block(
		jen.Return(jen.Id("handler").Assert(handler).Call(
			jen.Id("ctx"), jen.Op("*").Id("e").Assert(jen.Op("*").Add(inRuntime("Event")).Types(jen.Id(payload))),
		)),
	)
}

// nilPointer emits a nil pointer to a type, which stands for the type.
func nilPointer(of string) jen.Code { return jen.Parens(jen.Op("*").Id(of)).Parens(jen.Nil()) }

func subscribeParams(name jen.Code, payload string) []jen.Code {
	return []jen.Code{
		jen.Id("bus").Op("*").Add(inRuntime("Bus")),
		jen.Id("name").Add(name),
		jen.Id("handler").Add(inRuntime("Handler")).Types(jen.Id(payload)),
		jen.Id("opts").Op("...").Add(inRuntime("SubscribeOption")),
	}
}

func subscribeResults() []jen.Code {
	return []jen.Code{jen.Op("*").Add(inRuntime("Subscription")), jen.Error()}
}
