package templates

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/busgen/busgen/internal/catalog"
)

// patternSubscriptions lists the constructs of subscribe.gen.go about the subscriptions at the top level.
func patternSubscriptions(c *catalog.Catalogue) []jen.Code {
	if len(c.Subscriptions) == 0 {
		return nil
	}
	constructs := []jen.Code{patternNames(c)}
	for _, s := range c.Subscriptions {
		constructs = append(constructs, subscribeDeclared(c, s))
	}
	return constructs
}

// patternNames emits
//
//	// The subscriptions for patterns that the catalogue declares. …
//	const (
//		// On<Subscription> is the subscription <subscription> for <patterns>.
//		//
//		// <doc>
//		On<Subscription> string = "<subscription>"
//	)
func patternNames(c *catalog.Catalogue) *jen.Statement {
	var names []jen.Code
	for i, s := range c.Subscriptions {
		if i > 0 {
			names = append(names, jen.Line())
		}
		group := ""
		if s.Group != nil {
			group = "It is a member of group " + s.Group.Name.V +
				", which has one delivery of each event for all of its members."
		}
		names = append(names, comment(s.GoName+" is the subscription "+s.Name.V+" for "+listing(s.Texts(), "and")+".",
			s.Doc, group).
			Id(s.GoName).String().Op("=").Lit(s.Name.V))
	}
	return comment("The subscriptions for patterns that the catalogue declares. They exist from Open on: " +
		"each keeps its events until its function, or runtime.SubscribePattern with its pattern, is called.").
		Const().Defs(names...)
}

// subscribeDeclared emits
//
//	// Subscribe<Subscription> calls handler for every event that matches <patterns>, as the subscription <subscription>. …
//	func Subscribe<Subscription>(bus *runtime.Bus, handler runtime.Handler[<Namespace>Event], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
//		return bind.SubscribeNamespace(bus, "<patterns>", On<Subscription>, …)
//	}
func subscribeDeclared(c *catalog.Catalogue, s *catalog.PatternSubscription) *jen.Statement {
	payload := patternPayload(c, s)
	return comment(s.FunctionName()+" calls handler for every event that matches "+listing(s.Texts(), "or")+
		", as the subscription "+s.Name.V+
		". Distinguish the events with a type switch over the payload. Each is retried by the settings of its own type"+
		overrideWords(s)+". See [runtime.SubscribeNamespace].").
		Func().Id(s.FunctionName()).
		Params(
			jen.Id("bus").Op("*").Add(inRuntime("Bus")),
			jen.Id("handler").Add(inRuntime("Handler")).Types(jen.Id(payload)),
			jen.Id("opts").Op("...").Add(inRuntime("SubscribeOption")),
		).
		Params(subscribeResults()...).
		Block(namespaceCall(s.Pattern(), jen.Id(s.GoName), payload))
}

func overrideWords(s *catalog.PatternSubscription) string {
	if len(overrideFields(s.Settings)) == 0 {
		return ""
	}
	return ", with what the catalogue says of this subscription"
}

// patternPayload returns the interface of the narrowest namespace that all patterns begin with, if this package has it
// and all events are in it, or else AnyEvent.
func patternPayload(c *catalog.Catalogue, s *catalog.PatternSubscription) string {
	texts := s.Texts()
	payload, longest := "AnyEvent", 0
	for _, ns := range c.Namespaces {
		fits := !ns.Spread && ns.Shared() && len(ns.Name) > longest
		for _, text := range texts {
			fits = fits && strings.HasPrefix(text, ns.Name+".")
		}
		for _, e := range s.Events { // one with a matching former name may be elsewhere
			fits = fits && strings.HasPrefix(e.Name.V, ns.Name+".")
		}
		if fits {
			payload, longest = interfaceName(ns), len(ns.Name)
		}
	}
	return payload
}

// withSubscriptions emits
//
//	.WithSubscriptions(
//		declare.PatternSubscription{
//			Name:         On<Subscription>,
//			Patterns:     []string{"<pattern>"},
//			Own:          <override>,
//			Aliases:      []string{"<name>"},
//			Group:        "<name>",
//			GroupAliases: []string{"<name>"},
//		},
//	)
//
// without what a subscription does not have, or nothing if the catalogue has none.
func withSubscriptions(c *catalog.Catalogue) *jen.Statement {
	if len(c.Subscriptions) == 0 {
		return jen.Null()
	}
	var items []jen.Code
	for _, s := range c.Subscriptions {
		var patterns []jen.Code
		for _, text := range s.Texts() {
			patterns = append(patterns, jen.Lit(text))
		}
		fields := []jen.Code{pair("Name", jen.Id(s.GoName)), pair("Patterns", jen.Index().String().Values(patterns...))}
		fields = append(fields, overrideField("Own", s.Settings)...)
		if len(s.Aliases) > 0 {
			fields = append(fields, pair("Aliases", names(s.Aliases)))
		}
		if s.Group != nil {
			fields = append(fields, pair("Group", jen.Lit(s.Group.Name.V)))
		}
		if s.Group != nil && len(s.Group.Aliases) > 0 {
			fields = append(fields, pair("GroupAliases", names(s.Group.Aliases)))
		}
		items = append(items, inDeclare("PatternSubscription").Custom(linesInBraces, fields...))
	}
	return jen.Dot("WithSubscriptions").Custom(linesInParens, items...)
}
