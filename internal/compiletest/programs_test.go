package compiletest

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

func TestTheRightProgramCompiles(t *testing.T) {
	short.Visit(t, "it compiles programs")
	shop := newShop(t)
	requireNone(t, shop.compile(t, shop.files))
}

func TestAWrongProgramDoesNotCompile(t *testing.T) {
	short.Visit(t, "it compiles programs")
	shop := newShop(t)
	tests := map[string]struct {
		from, to string   // the change that makes it wrong
		says     []string // parts of the compiler's message
	}{
		"a payload field has a value of another type": {
			from: `OrderID: id,`, to: `OrderID: 42,`,
			says: []string{"42", "uuid.UUID", "struct literal"},
		},
		"an enum field is given a text that was computed": {
			from: `Currency: events.CurrencyEUR}`, to: `Currency: note}`,
			says: []string{"note", "string", "events.Currency"},
		},
		"an enum value is misspelt": {
			from: `events.CurrencyEUR}`, to: `events.CurrencyEURO}`,
			says: []string{"undefined: events.CurrencyEURO"},
		},
		"an optional field is given a plain value": {
			from: `&note,`, to: `note,`,
			says: []string{"note", "string", "*string"},
		},
		"a header has a value of another type": {
			from: `events.WithRequestID(id)`, to: `events.WithRequestID(note)`,
			says: []string{"note", "string", "uuid.UUID", "events.WithRequestID"},
		},
		"a header is misspelt": {
			from: `events.WithRequestID(id)`, to: `events.WithRequestId(id)`,
			says: []string{"undefined: events.WithRequestId"},
		},
		"a payload field is unknown": {
			from: `Note:    &note`, to: `Notes:   &note`,
			says: []string{"unknown field Notes", "events.OrderPlaced"},
		},
		"the payload is that of another event": {
			from: `events.PublishOrderPlaced(`, to: `events.PublishOrderCancelled(`,
			says: []string{"order", "events.OrderPlaced", "events.OrderCancelled", "events.PublishOrderCancelled"},
		},
		"the payloads of a batch are those of another event": {
			from: `events.OrderCancelledType, orders)`, to: `events.OrderCancelledType, []events.UserCreated{})`,
			says: []string{"[]events.UserCreated", "[]events.OrderCancelled", "does not match"},
		},
		"a published event is misspelt": {
			from: `events.PublishOrderPlaced(`, to: `events.PublishOrderPlacd(`,
			says: []string{"undefined: events.PublishOrderPlacd"},
		},
		"a subscribed event is misspelt": {
			from: `events.SubscribeOrderPlaced(`, to: `events.SubscribeOrderPlacd(`,
			says: []string{"undefined: events.SubscribeOrderPlacd"},
		},
		"the handler takes the payload of another event": {
			from: `events.SubscribeOrderPlaced(bus, "send-receipt", sendReceipt)`,
			to:   `events.SubscribeOrderPaid(bus, "send-receipt", sendReceipt)`,
			says: []string{"sendReceipt", "Event[events.OrderPlaced]", "Handler[events.OrderPaid]"},
		},
		"the name of a subscription is a text": {
			from: `events.OnOrderCancelledRestock, restock)`, to: `"restok", restock)`,
			says: []string{`"restok"`, "events.OrderCancelledSubscription"},
		},
		"the name of a subscription is a text that was computed": {
			from: `events.OnOrderCancelledRestock, restock)`, to: `other.OnOrderCancelledRestock.String(), restock)`,
			says: []string{"string", "events.OrderCancelledSubscription"},
		},
		"the name of a subscription is misspelt": {
			from: `events.OnOrderCancelledRestock, restock)`, to: `events.OnOrderCancelledRestok, restock)`,
			says: []string{"undefined: events.OnOrderCancelledRestok"},
		},
		"the name of a subscription is that of another event": {
			from: `events.OnOrderCancelledRestock, restock)`, to: `events.OnUserCreatedGreet, restock)`,
			says: []string{"events.UserCreatedSubscription", "events.OrderCancelledSubscription"},
		},
		"the name of a subscription is that of another package": {
			from: `events.OnOrderCancelledRestock, restock)`, to: `other.OnOrderCancelledRestock, restock)`,
			says: []string{"other.OrderCancelledSubscription", "events.OrderCancelledSubscription"},
		},
		"the handler has no error result": {
			from: `"send-receipt", sendReceipt)`,
			to:   `"send-receipt", func(context.Context, runtime.Event[events.OrderPlaced]) {})`,
			says: []string{"func(context.Context, runtime.Event[events.OrderPlaced]) {}", "Handler[events.OrderPlaced]"},
		},
		"the handler takes no context": {
			from: `"send-receipt", sendReceipt)`,
			to:   `"send-receipt", func(runtime.Event[events.OrderPlaced]) error { return nil })`,
			says: []string{"func(runtime.Event[events.OrderPlaced]) error", "Handler[events.OrderPlaced]"},
		},
		"the handler of a namespace takes one event of it only": {
			from: `"audit", audit)`, to: `"audit", sendReceipt)`,
			says: []string{"Event[events.OrderPlaced]", "Handler[events.OrderEvent]"},
		},
		"the handler of a namespace switches over an event outside of it": {
			from: `case events.OrderPlaced:`, to: `case events.UserCreated: case events.OrderPlaced:`,
			says: []string{"impossible type switch case", "events.OrderEvent", "events.UserCreated"},
		},
		"the handler of a namespace switches over a misspelt event": {
			from: `case events.OrderCancelled:`, to: `case events.OrderCanceled: case events.OrderCancelled:`,
			says: []string{"undefined: events.OrderCanceled"},
		},
		"a handler reads a field that the payload does not have": {
			from: `e.Payload.Total.Amount`, to: `e.Payload.Totals.Amount`,
			says: []string{"e.Payload.Totals undefined", "events.OrderPlaced has no field or method Totals"},
		},
		"a union is given a struct that is none of its variants": {
			from: `Payment: events.Card{LastFour: "4242"}`, to: `Payment: events.Money{}`,
			says: []string{"events.Money", "events.Payment", "missing method isPayment"},
		},
		"a union is given a text": {
			from: `Payment: events.Card{LastFour: "4242"}`, to: `Payment: "cash"`,
			says: []string{"string", "events.Payment", "missing method isPayment"},
		},
		"a variant is forgotten": {
			from: `return events.VisitPayment(p, onCard, onCash)`, to: `_ = onCash; return events.VisitPayment(p, onCard)`,
			says: []string{"not enough arguments", "func(events.PaymentCash) R"},
		},
		"the functions of variants are mixed up": {
			from: `events.VisitPayment(p, onCard, onCash)`, to: `events.VisitPayment(p, onCash, onCard)`,
			says: []string{"func(events.PaymentCash) string", "func(events.Card) R"},
		},
		"an optional field with a default is read as if it were always there": {
			from: `paid.RetriesOrDefault()`, to: `paid.Retries + 1`,
			says: []string{"paid.Retries", "*int"},
		},
		"a type of the program poses as an event of a namespace": {
			from: `note := "leave it at the door"`,
			to:   `note := "leave it at the door"; var _ events.OrderEvent = struct{ events.UserCreated }{}`,
			says: []string{"events.OrderEvent", "missing method isOrderEvent"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wrong, line := change(t, shop.files, "program.go", test.from, test.to)
			requireOne(t, shop.compile(t, wrong), "program.go", line, test.says...)
		})
	}
}

func TestAWrongTestDoesNotCompile(t *testing.T) {
	shop := newShop(t)
	tests := map[string]struct {
		from, to string   // the change that makes it wrong
		says     []string // parts of the compiler's message
	}{
		"what was published is asked for by a type that is no event's": {
			from: `eventstest.Published[events.OrderPlaced](kit)`, to: `eventstest.Published[events.Money](kit)`,
			says: []string{"events.Money", "events.AnyEvent", "missing method isAnyEvent"},
		},
		"dead letters are asked for by a type that is no event's": {
			from: `eventstest.DeadLetters[events.OrderPaid](kit)`, to: `eventstest.DeadLetters[string](kit)`,
			says: []string{"string", "events.AnyEvent"},
		},
		"what was published is taken for another event": {
			from: `eventstest.Published[events.OrderCancelled](kit)`, to: `eventstest.Published[events.UserCreated](kit)`,
			says: []string{"Event[events.UserCreated]", "Event[events.OrderCancelled]", "requireCancelled"},
		},
		"something is published that is no payload": {
			from: `kit.Publish(eventstest.SampleOrderPlaced())`, to: `kit.Publish("order.placed")`,
			says: []string{"string", "Payload", "missing method Validate"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			wrong, line := change(t, shop.files, "tests.go", test.from, test.to)
			requireOne(t, shop.compile(t, wrong), "tests.go", line, test.says...)
		})
	}
}

// shop is the right program, with a test, and the compiled packages that it imports.
type shop struct {
	files    map[string]string
	compiled map[string]string
}

func newShop(t *testing.T) shop {
	t.Helper()
	program, err := os.ReadFile("testdata/program.go")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("testdata/tests.go")
	if err != nil {
		t.Fatal(err)
	}
	eventsFiles, kitFiles := generatedWithKit(t)
	events, found := compile(t, eventsPath, eventsFiles, nil)
	requireNone(t, found)
	otherFiles := map[string]string{} // the same in another package
	for name, text := range eventsFiles {
		otherFiles[name] = strings.Replace(text, "\npackage events\n", "\npackage other\n", 1)
	}
	other, found := compile(t, otherPath, otherFiles, nil)
	requireNone(t, found)
	compiled := map[string]string{eventsPath: events, otherPath: other}
	compiled[eventsPath+"/eventstest"], found = compile(t, eventsPath+"/eventstest", kitFiles, compiled)
	requireNone(t, found)
	return shop{files: map[string]string{"program.go": string(program), "tests.go": string(tests)}, compiled: compiled}
}

func (s shop) compile(t *testing.T, files map[string]string) []complaint {
	t.Helper()
	_, found := compile(t, "example.com/shop", files, s.compiled)
	return found
}
