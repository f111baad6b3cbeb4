package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

const shop = `# The shop.
version: 1
package: shop

lint: { event-doc: { except: [order.placed, "Money", order.*] } }

policies:
  order.placed: { timeout: 5s }   # for it alone
  order.*:      { timeout: 6s }

types:
  # Money is counted in cents.
  Money:
    fields: { amount: int64, tax: "Money?", tip: Money|null, by_month: "map[string][]Money" }
  Moneybag: { fields: { all: '[]Money' } }

events:
  order.placed:
    partition_by: order_id   # an order at a time
    payload:
      order_id:  uuid        # order_id of order.placed
      total:     Money?
      previous:  { type: "Money?", doc: Money of the last order. }
  order.paid:
    payload: { order_id: uuid, bag: Moneybag }
`

// one is a catalogue of one file.
func one(text string) *edit.Catalogue {
	return &edit.Catalogue{Files: []edit.File{{Name: "events.yaml", Text: []byte(text)}}}
}

func TestRename(t *testing.T) {
	for name, test := range map[string]struct {
		rename func() (*edit.Change, error)
		places int
		want   *strings.Replacer
	}{
		"an event, and where it is meant alone": {
			func() (*edit.Change, error) { return edit.RenameEvent(one(shop), "order.placed", "order.accepted") }, 4,
			strings.NewReplacer("[order.placed,", "[order.accepted,", "  order.placed: {", "  order.accepted: {", "  order.placed:\n", "  order.accepted:\n    aliases: [order.placed]\n"),
		},
		"a type, and the fields that are of it": {
			func() (*edit.Change, error) { return edit.RenameType(one(shop), "Money", "Amount") }, 8,
			strings.NewReplacer(`"Money"`, `"Amount"`, "  Money:\n", "  Amount:\n", `"Money?"`, `"Amount?"`, "[]Money", "[]Amount", "Money|null", "Amount|null", "Money?\n", "Amount?\n"),
		},
		"a field of a payload": {
			func() (*edit.Change, error) { return edit.RenameField(one(shop), "order.placed.order_id", "id") }, 3,
			strings.NewReplacer("partition_by: order_id", "partition_by: id", "      order_id:  uuid ", "      id:  { type: uuid, was: order_id } "),
		},
		"a field of a type": {
			func() (*edit.Change, error) { return edit.RenameField(one(shop), "Moneybag.all", "coins") }, 2,
			strings.NewReplacer("{ all: '[]Money'", "{ coins: { type: '[]Money', was: all }"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := test.rename()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want.Replace(shop), string(change.Files[0].Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if change.Places != test.places {
				t.Errorf("%d places, want %d", change.Places, test.places)
			}
		})
	}
}

// A field of a type is renamed in the examples of all events that carry it, and
// one of the same name that is not of the type is left alone.
func TestAFieldIsRenamedInExamples(t *testing.T) {
	source := `version: 1
package: p
types:
  Money: { fields: { amount: int64 } }
  Card: { fields: { limit: Money, amount: int } }
  Method: { discriminator: kind, one_of: { card: Card, cash: { fields: { amount: int } } } }
events:
  order.placed:
    payload: { amount: int, total: Money, all: "[]Money", by: "map[string]Money", method: Method, odd: json }
    examples:
    - amount: 1
      total: { amount: 2 }
      all: [{ amount: 3 }]
      by: { amount: { "amount": 4 } }
      method: { kind: card, limit: { amount: 5 }, amount: 6 }
      odd: { amount: 7 }
    - { amount: 1, total: { amount: 2 }, all: [], by: {}, method: { kind: cash, amount: 8 }, odd: null }
`
	change, err := edit.RenameField(one(source), "Money.amount", "cents")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"{ amount: int64 }", "{ cents: { type: int64, was: amount } }", "total: { amount: 2 }", "total: { cents: 2 }", "{ amount: 3 }", "{ cents: 3 }",
		`{ "amount": 4 }`, `{ "cents": 4 }`, "limit: { amount: 5 }", "limit: { cents: 5 }",
	).Replace(source)
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	change, err = edit.RenameField(one(source), "order.placed.amount", "count")
	if err != nil {
		t.Fatal(err)
	}
	want = strings.NewReplacer("payload: { amount: int,", "payload: { count: { type: int, was: amount },", "- amount: 1", "- count: 1", "{ amount: 1,", "{ count: 1,").Replace(source)
	if diff := cmp.Diff(want, string(change.Files[0].Text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnUnknownNameCannotBeRenamed(t *testing.T) {
	for _, test := range []struct {
		rename func() (*edit.Change, error)
		want   string
		names  int
	}{
		{func() (*edit.Change, error) { return edit.RenameEvent(one(shop), "order.sent", "order.gone") }, "there is no event order.sent", 2},
		{func() (*edit.Change, error) { return edit.RenameType(one(shop), "Price", "Cost") }, "there is no type Price", 2},
		{func() (*edit.Change, error) { return edit.RenameField(one(shop), "order.paid.total", "sum") }, "there is no field total in order.paid", 2},
		{func() (*edit.Change, error) { return edit.RenameField(one(shop), "Price.total", "sum") }, "there is no event or type with fields Price", 4},
	} {
		_, err := test.rename()
		var missing *edit.NotFoundError
		if !errors.As(err, &missing) || err.Error() != test.want || len(missing.Names) != test.names {
			t.Errorf("got %v with %+v, want %s", err, missing, test.want)
		}
	}
}

func TestARenamingThatBreaksTheCatalogueIsRefused(t *testing.T) {
	for _, test := range []struct {
		rename func() (*edit.Change, error)
		want   string
	}{
		{func() (*edit.Change, error) { return edit.RenameEvent(one(shop), "order.placed", "order.paid") }, `key "order.paid" is already in events`},
		{func() (*edit.Change, error) { return edit.RenameEvent(one(shop), "order.placed", "Order.Placed") }, "Order.Placed cannot be the name of an event"},
		{func() (*edit.Change, error) { return edit.RenameType(one(shop), "Money", "money") }, "type money does not have a valid name"},
		{func() (*edit.Change, error) {
			return edit.RenameField(one(shop), "order.placed.total", "order_id")
		}, `key "order_id" is already in payload`},
		{func() (*edit.Change, error) {
			return edit.RenameField(one(shop), "order.placed.total", "validate")
		}, "makes the Go name Validate"},
	} {
		if change, err := test.rename(); err == nil || !strings.Contains(err.Error(), test.want) || change != nil {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestANameThatIsWrittenWithEscapesIsLeftToAPerson(t *testing.T) {
	source := "version: 1\npackage: p\nevents:\n  \"a.d\\u006fne\": {}\n"
	if _, err := edit.RenameEvent(one(source), "a.done", "b.done"); err == nil || !strings.Contains(err.Error(), "line 4 of events.yaml: a.done is written in a way that cannot be edited") {
		t.Errorf("got %v", err)
	}
}

// several is a catalogue of two files.
func several(root, payments string) *edit.Catalogue {
	return &edit.Catalogue{Files: []edit.File{{Name: "shop/events.yaml", Text: []byte(root)}, {Name: "shop/payments.yaml", Text: []byte(payments)}}}
}

func TestANameIsEditedInAllFilesOfTheCatalogue(t *testing.T) {
	const root = `version: 1
package: shop
include: [payments.yaml]
lint: { event-doc: { except: [payment.done, Money] } }
policies: { payment.done: { timeout: 5s } }
events: { order.placed: { payload: { total: Money }, examples: [{ total: { amount: 1 } }] } }
`
	const payments = `version: 1
types: { Money: { fields: { amount: int64 } } } # in cents
events: { payment.done: { payload: { paid: "[]Money" }, version: 2, history: { 1: { payload: { paid: Money } } } } }
`
	for name, test := range map[string]struct {
		rename func(c *edit.Catalogue) (*edit.Change, error)
		want   *strings.Replacer
		places int
	}{
		"an event": {func(c *edit.Catalogue) (*edit.Change, error) {
			return edit.RenameEvent(c, "payment.done", "payment.made")
		}, strings.NewReplacer("payment.done: { payload", "payment.made: { aliases: [payment.done], payload", "payment.done", "payment.made"), 4},
		"a type":  {func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameType(c, "Money", "Coins") }, strings.NewReplacer("Money", "Coins"), 5},
		"a field": {func(c *edit.Catalogue) (*edit.Change, error) { return edit.RenameField(c, "Money.amount", "cents") }, strings.NewReplacer("amount: int64", "cents: { type: int64, was: amount }", "amount", "cents"), 3},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := test.rename(several(root, payments))
			if err != nil {
				t.Fatal(err)
			}
			want := []edit.File{{Name: "shop/events.yaml", Text: []byte(test.want.Replace(root))}, {Name: "shop/payments.yaml", Text: []byte(test.want.Replace(payments))}}
			if diff := cmp.Diff(want, change.Files); diff != "" || change.Places != test.places {
				t.Errorf("%d places (-want +got):\n%s", change.Places, diff)
			}
		})
	}
	if _, err := edit.RenameEvent(several(root, payments), "payment.done", "order.placed"); err == nil || !strings.Contains(err.Error(), "event order.placed is declared in two files") {
		t.Errorf("got %v", err)
	}
}
