package templates

import (
	"testing"

	"github.com/dave/jennifer/jen"
)

func TestADescriptorShowsTheSettingsInEffect(t *testing.T) {
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
  ping: {}
`)
	emits(t, `
// OrderPlacedType describes order.placed to the runtime.
var OrderPlacedType = runtime.Define(runtime.Spec[OrderPlaced]{
	Name: "order.placed",
	Doc:  "Say \"placed\".",
	Settings: runtime.Settings{
		Retry:      retry.Policy{MaxAttempts: 6, Backoff: retry.Linear, BaseDelay: 250 * time.Millisecond, MaxDelay: time.Hour, Multiplier: 2, Jitter: 0},
		Timeout:    5 * time.Minute,
		SlowAfter:  10 * time.Second,
		MaxSnoozes: 10000,
		Breaker:    breaker.Policy{Threshold: 0.5, MinSamples: 4, Window: time.Minute, OpenFor: 30 * time.Second},
	},
	Priority:    runtime.PriorityHigh,
	PartitionBy: func(p OrderPlaced) string { return p.OrderID.String() },
	Shape:       "eae7a837b951",
	Schema:      `+"`"+`{"event":"order.placed","version":1,"partition_by":"order_id","payload":{"order_id":"uuid"}}`+"`"+`,
})
`, descriptor(c.Events[0]))
	emits(t, `
// PingType describes ping to the runtime.
var PingType = runtime.Define(runtime.Spec[Ping]{
	Name: "ping",
	Settings: runtime.Settings{
		Retry:      retry.Policy{MaxAttempts: 4, Backoff: retry.Exponential, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.1},
		Timeout:    30 * time.Second,
		SlowAfter:  10 * time.Second,
		MaxSnoozes: 10000,
		Breaker:    breaker.Policy{Threshold: 0.5, MinSamples: 4, Window: time.Minute, OpenFor: 30 * time.Second},
	},
	Shape:  "e3b0c44298fc",
	Schema: `+"`"+`{"event":"ping","version":1,"payload":{}}`+"`"+`,
})
`, descriptor(c.Events[1]))
}

func TestADescriptorListsTheDeclaredSubscriptionsWithTheirSettingsInEffect(t *testing.T) {
	c := parsed(t, `
events:
  order.placed:
    timeout: 5s
    subscriptions:
      send-receipt: {}
      charge-card: { timeout: 1m, retry: { max_attempts: 8, backoff: none } }
`)
	emits(t, `
[]runtime.DeclaredSubscription{
	{
		Name: OnOrderPlacedSendReceipt,
		Settings: runtime.Settings{
			Retry:      retry.Policy{MaxAttempts: 4, Backoff: retry.Exponential, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.1},
			Timeout:    5 * time.Second,
			SlowAfter:  10 * time.Second,
			MaxSnoozes: 10000,
			Breaker:    breaker.Policy{Threshold: 0.5, MinSamples: 4, Window: time.Minute, OpenFor: 30 * time.Second},
		},
	},
	{
		Name: OnOrderPlacedChargeCard,
		Settings: runtime.Settings{
			Retry:      retry.Policy{MaxAttempts: 8, Backoff: retry.None, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.1},
			Timeout:    time.Minute,
			SlowAfter:  10 * time.Second,
			MaxSnoozes: 10000,
			Breaker:    breaker.Policy{Threshold: 0.5, MinSamples: 4, Window: time.Minute, OpenFor: 30 * time.Second},
		},
	},
}
`, declared(c.Events[0]))
}

func TestKeysAreTexts(t *testing.T) {
	for fieldType, want := range map[string]string{
		"string": `func(p E) string { return p.Key }`,
		"bool":   `func(p E) string { return strconv.FormatBool(p.Key) }`,
		"int":    `func(p E) string { return strconv.Itoa(p.Key) }`,
		"int32":  `func(p E) string { return strconv.Itoa(int(p.Key)) }`,
		"int64":  `func(p E) string { return strconv.FormatInt(p.Key, 10) }`,
		"uint64": `func(p E) string { return strconv.FormatUint(p.Key, 10) }`,
		"uuid":   `func(p E) string { return p.Key.String() }`,
		"Size":   `func(p E) string { return string(p.Key) }`,
	} {
		t.Run(fieldType, func(t *testing.T) {
			c := parsed(t, `
types: { Size: { enum: [S] } }
events: { e: { partition_by: key, payload: { key: `+fieldType+` } } }
`)
			emits(t, "var key = "+want, jen.Var().Id("key").Op("=").Add(keyOf(c.Events[0], c.Events[0].PartitionBy)))
		})
	}
}
