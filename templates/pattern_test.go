package templates

import "testing"

func TestSubscriptionsForPatternsHaveAFunctionEach(t *testing.T) {
	c := parsed(t, `
events:
  order.placed: {}
  order.line.added: {}
  payment.due: { subscriptions: { bank: { group: chain } } }
subscriptions:
  audit: { doc: Writes every event down., pattern: "*", timeout: 1m }
  to-erp: { pattern: [order.placed, order.*.added], group: chain }
groups:
  chain: { aliases: [links] }
`)
	emits(t, `
// The subscriptions for patterns that the catalogue declares. They exist from
// Open on: each keeps its events until its function, or
// runtime.SubscribePattern with its pattern, is called.
const (
	// OnAudit is the subscription audit for *.
	//
	// Writes every event down.
	OnAudit string = "audit"

	// OnToErp is the subscription to-erp for order.placed and order.*.added.
	//
	// It is a member of group chain, which has one delivery of each event for all
	// of its members.
	OnToErp string = "to-erp"
)

// SubscribeAudit calls handler for every event that matches *, as the
// subscription audit. Distinguish the events with a type switch over the
// payload. Each is retried by the settings of its own type, with what the
// catalogue says of this subscription. See [runtime.SubscribeNamespace].
func SubscribeAudit(bus *runtime.Bus, handler runtime.Handler[AnyEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.SubscribeNamespace(bus, "*", OnAudit, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[AnyEvent])(ctx, *e.(*runtime.Event[AnyEvent]))
	}, opts)
}

// SubscribeToErp calls handler for every event that matches order.placed or
// order.*.added, as the subscription to-erp. Distinguish the events with a type
// switch over the payload. Each is retried by the settings of its own type. See
// [runtime.SubscribeNamespace].
func SubscribeToErp(bus *runtime.Bus, handler runtime.Handler[OrderEvent], opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	return bind.SubscribeNamespace(bus, "order.placed order.*.added", OnToErp, handler, func(ctx context.Context, handler, e any) error {
		return handler.(runtime.Handler[OrderEvent])(ctx, *e.(*runtime.Event[OrderEvent]))
	}, opts)
}
`, patternSubscriptions(c)...)
	emits(t, `
// Catalogue holds every event type of events.yaml.
var Catalogue = runtime.NewCatalogue(
	OrderPlacedType,
	OrderLineAddedType,
	PaymentDueType,
).WithSubscriptions(
	declare.PatternSubscription{
		Name:     OnAudit,
		Patterns: []string{"*"},
		Own: declare.Override{
			Timeout: new(time.Minute),
		},
	},
	declare.PatternSubscription{
		Name:         OnToErp,
		Patterns:     []string{"order.placed", "order.*.added"},
		Group:        "chain",
		GroupAliases: []string{"links"},
	},
)
`, catalogueVar(c))
}

func TestAnEventOfAnotherNamespaceThatOnceMatchedMakesThePayloadAnyEvent(t *testing.T) {
	c := parsed(t, `
events:
  order.placed: {}
  sale.made: { aliases: [order.sold] }
subscriptions:
  to-erp: { pattern: order.* }
`)
	if got := patternPayload(c, c.Subscriptions[0]); got != "AnyEvent" {
		t.Errorf("the payload is %s", got)
	}
}
