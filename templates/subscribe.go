package templates

import (
	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// subscribe lists the constructs of subscribe.gen.go, from the narrowest subscription to the widest. What few programs
// use, as runtime.SubscribeTx, is called with the variable of the event type: a function of each type for it would
// cost every build.
func subscribe(c *catalog.Catalogue) []jen.Code {
	var constructs []jen.Code
	for _, e := range c.Events {
		if len(e.Subscriptions) > 0 {
			constructs = append(constructs, subscriptionNames(e))
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

// subscriptionNames emits
//
//	// The subscriptions of <event.name> that the catalogue declares. …
//	const (
//		// On<Event><Subscription> is the subscription <subscription> of <event.name>.
//		//
//		// <doc>
//		On<Event><Subscription> string = "<subscription>"
//	)
//
// and says of which group it is a member.
func subscriptionNames(e *catalog.Event) *jen.Statement {
	var names []jen.Code
	for i, s := range e.Subscriptions {
		if i > 0 {
			names = append(names, jen.Line())
		}
		words := ""
		if s.Group != nil {
			words = "It is a member of group " + s.Group.Name.V + ", which has one delivery of each event for all of its members."
		}
		names = append(names, comment(s.GoName+" is the subscription "+s.Name.V+" of "+e.Name.V+".", s.Doc, words).
			Id(s.GoName).String().Op("=").Lit(s.Name.V))
	}
	return comment("The subscriptions of " + e.Name.V + " that the catalogue declares. They exist from Open on: " +
		"each keeps its events until Subscribe" + e.GoName + " is called with its name.").
		Const().Defs(names...)
}

// subscribeEvent emits
//
//	// Subscribe<Event> calls handler for every <event.name>. …
//	func Subscribe<Event>(bus *runtime.Bus, name string, handler runtime.Handler[<Event>], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return runtime.Subscribe(bus, <Event>Type, name, handler, opts...)
//	}
func subscribeEvent(e *catalog.Event) *jen.Statement {
	function := "Subscribe" + e.GoName
	return comment(function+" calls handler for every "+e.Name.V+", with the settings of ["+descriptorName(e)+"]. "+
		"See [runtime.Subscribe].", deprecated(e.Deprecated)).
		Func().Id(function).Params(subscribeParams(e.GoName)...).Params(subscribeResults()...).
		Block(jen.Return(inRuntime("Subscribe").Call(subscribeArgs(jen.Id(descriptorName(e)))...)))
}

// settingsPlace says where the settings of an event are. They are not repeated in comments, so that each is in one place.
func settingsPlace(e *catalog.Event) string { return "[" + descriptorName(e) + "] has its settings. " }

// subscribeNamespace emits
//
//	// Subscribe<Namespace> calls handler for every event of <namespace>.* …
//	func Subscribe<Namespace>(bus *runtime.Bus, name string, handler runtime.Handler[<Namespace>Event], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return runtime.SubscribeNamespace(bus, "<namespace>.*", name, handler, opts...)
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
//	func SubscribeAll(bus *runtime.Bus, name string, handler runtime.Handler[AnyEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return runtime.SubscribeNamespace(bus, "*", name, handler, opts...)
//	}
func subscribeAll() *jen.Statement {
	return subscribePattern("SubscribeAll", "*", "AnyEvent", "every event of this catalogue")
}

func subscribePattern(function, pattern, payload, events string) *jen.Statement {
	return comment(function + " calls handler for " + events + ", each with the settings of its own type. See [runtime.SubscribeNamespace].").
		Func().Id(function).Params(subscribeParams(payload)...).Params(subscribeResults()...).
		Block(jen.Return(inRuntime("SubscribeNamespace").Call(subscribeArgs(jen.Lit(pattern))...)))
}

func subscribeParams(payload string) []jen.Code {
	return []jen.Code{
		jen.Id("bus").Op("*").Add(inRuntime("Bus")),
		jen.Id("name").String(),
		jen.Id("handler").Add(inRuntime("Handler")).Types(jen.Id(payload)),
		jen.Id("opts").Op("...").Add(inRuntime("SubscribeOption")),
	}
}

func subscribeResults() []jen.Code {
	return []jen.Code{jen.Op("*").Add(inRuntime("Subscription")), jen.Error()}
}

func subscribeArgs(what jen.Code) []jen.Code {
	return []jen.Code{jen.Id("bus"), what, jen.Id("name"), jen.Id("handler"), jen.Id("opts").Op("...")}
}
