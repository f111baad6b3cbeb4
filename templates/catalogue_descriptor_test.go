package templates

import "testing"

func TestADescriptorHasTheSettingsOfTheEventItself(t *testing.T) {
	c := parsed(t, `
policies:
  order.*: { retry: { max_attempts: 6, backoff: linear, base_delay: 250ms, jitter: 0 } }
events:
  order.placed:
    doc: Say "placed".
    priority: high
    timeout: 5m
    partition_by: order_id
    retry: { max_delay: 1h }
    payload: { order_id: uuid }
  ping: { wire: heartbeat }
`)
	emits(t, `
// OrderPlacedType describes order.placed to the runtime.
var OrderPlacedType = (*runtime.EventType[OrderPlaced])(bind.Describe((*OrderPlaced)(nil), &bind.Description{
	Name:   "order.placed",
	Doc:    "Say \"placed\".",
	Shared: &catalogueSettings,
	Own: declare.Override{
		Retry:   []retry.Option{retry.MaxDelay(time.Hour)},
		Timeout: new(5 * time.Minute),
	},
	Priority:    new(runtime.PriorityHigh),
	PartitionBy: "OrderID",
	Shape:       "eae7a837b951",
	Schema:      schemaOfOrderPlaced,
}))
`, descriptor(c.Events[0]))
	emits(t, `
// PingType describes heartbeat to the runtime.
var PingType = (*runtime.EventType[Ping])(bind.Describe((*Ping)(nil), &bind.Description{
	Name:   "heartbeat",
	Label:  "ping",
	Shared: &catalogueSettings,
	Shape:  "e3b0c44298fc",
	Schema: schemaOfPing,
}))
`, descriptor(c.Events[1]))
}

func TestADescriptorListsTheDeclaredSubscriptionsWithTheirOwnSettings(t *testing.T) {
	c := parsed(t, `
events:
  order.placed:
    timeout: 5s
    subscriptions:
      send-receipt: {}
      charge-card: { timeout: 1m, retry: { max_attempts: 8, backoff: none } }
`)
	emits(t, `
[]bind.Declaration{
	{Name: OnOrderPlacedSendReceipt.name},
	{
		Name: OnOrderPlacedChargeCard.name,
		Own: declare.Override{
			Retry:   []retry.Option{retry.MaxAttempts(8), retry.WithBackoff(retry.None)},
			Timeout: new(time.Minute),
		},
	},
}
`, declared(c.Events[0]))
}
