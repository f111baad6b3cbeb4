package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

func TestARenamedEventKeepsItsOldName(t *testing.T) {
	const head = "version: 1\npackage: p\nevents:\n"
	for name, test := range map[string]struct{ before, want string }{
		"in an empty mapping": {
			"  a.done: {}\n", "  b.done: { aliases: [a.done] }\n",
		},
		"in braces, at its place": {
			"  a.done: { doc: Yes., timeout: 5s }\n", "  b.done: { doc: Yes., aliases: [a.done], timeout: 5s }\n",
		},
		"in braces that are not formatted": {
			"  a.done: {timeout: 5s, doc: Yes.}\n", "  b.done: { aliases: [a.done], timeout: 5s, doc: Yes.}\n",
		},
		"behind what comes before it": {
			"  a.done:\n    doc: |\n      Yes,\n\n      it is.\n    # who\n    owner: me\n\n    # how long\n    timeout: 5s\n",
			"  b.done:\n    doc: |\n      Yes,\n\n      it is.\n    # who\n    owner: me\n    aliases: [a.done]\n\n    # how long\n    timeout: 5s\n",
		},
		"at its place, where nothing is formatted": {
			"    a.done:\n        doc: Yes.\n        timeout: 5s\n", "    b.done:\n        doc: Yes.\n        aliases: [a.done]\n        timeout: 5s\n",
		},
		"at the end": {
			"  a.done:\n    doc: Yes. # really\n\n  c.done: {}\n", "  b.done:\n    doc: Yes. # really\n    aliases: [a.done]\n\n  c.done: {}\n",
		},
		"behind others": {
			"  a.done:\n    aliases: [x.done, 'y.done']\n", "  b.done:\n    aliases: [x.done, 'y.done', a.done]\n",
		},
		"in an empty list": {
			"  a.done:\n    aliases: []\n", "  b.done:\n    aliases: [a.done]\n",
		},
		"on a line of its own": {
			"  a.done:\n    aliases:\n      - x.done # of old\n    timeout: 5s\n", "  b.done:\n    aliases:\n      - x.done # of old\n      - a.done\n    timeout: 5s\n",
		},
		"and has it back": {
			"  a.done: { aliases: [x.done, b.done] }\n", "  b.done: { aliases: [x.done, a.done] }\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := edit.RenameEvent(one(head+test.before), "a.done", "b.done")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(head+test.want, string(change.Files[0].Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestARenamedSubscriptionKeepsItsOldName(t *testing.T) {
	source := `version: 1
package: p
events:
  a.done:
    subscriptions:
      # by mail
      send-receipt: { timeout: 5s }
      charge-card:
        doc: Takes the money.
        retry: { max_attempts: 3 }
  b.done: { subscriptions: { ship: {} } }
`
	for _, test := range []struct{ from, old, want string }{
		{"send-receipt", "      send-receipt: { timeout: 5s }", "      mail: { aliases: [send-receipt], timeout: 5s }"},
		{"charge-card", "      charge-card:\n        doc: Takes the money.\n", "      mail:\n        doc: Takes the money.\n        aliases: [charge-card]\n"},
		{"ship", "ship: {}", "mail: { aliases: [ship] }"},
	} {
		change, err := edit.RenameSubscription(one(source), test.from, "mail")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.Replace(source, test.old, test.want, 1), string(change.Files[0].Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.from, diff)
		}
	}
}

const inside = `version: 1
package: p
types:
  Currency: { enum: [EUR, USD] }
  Region: { enum: [EUR, NA] }
  Size:
    enum:
      small: { number: 1 } # EUR
      EUR: 2
  Payment:
    one_of:
      card: { fields: { currency: Currency, holder: { fields: { name: string } } } }
      cash: { fields: { name: string, of: { type: Currency, default: EUR } } }
events:
  order.placed:
    partition_by: name
    dedupe_by: name
    payload:
      name: string
      currency: { type: "Currency?", default: EUR }
      size: { type: "Size?", default: 2 }
      ship_to:
        fields:
          name: string
          geo: { type: "[]{}", fields: { name: string, in: { type: "Currency?", default: EUR } } }
      payment: Payment
      region: { type: "Region?", default: EUR }
      all: "map[string]Currency"
      text: { type: "string?", default: EUR }
    examples:
      - { name: EUR, currency: EUR, ship_to: { name: x, geo: [{ name: y, in: EUR }] }, payment: { type: card, currency: EUR, holder: { name: z } }, region: EUR, all: { EUR: EUR } }
      - { name: a, size: 2, ship_to: { name: x, geo: [] }, payment: { type: cash, name: z, of: USD }, all: {} }
`

func TestAFieldInsideIsRenamed(t *testing.T) {
	for path, want := range map[string]*strings.Replacer{
		"order.placed.name":             strings.NewReplacer("partition_by: name", "partition_by: title", "dedupe_by: name", "dedupe_by: title", "      name: string\n      currency", "      title: { type: string, was: name }\n      currency", "- { name:", "- { title:"),
		"order.placed.ship_to.name":     strings.NewReplacer("          name: string\n", "          title: { type: string, was: name }\n", "ship_to: { name:", "ship_to: { title:"),
		"order.placed.ship_to.geo.name": strings.NewReplacer("fields: { name: string, in", "fields: { title: { type: string, was: name }, in", "geo: [{ name", "geo: [{ title"),
		"Payment.card.holder.name":      strings.NewReplacer("holder: { fields: { name: string", "holder: { fields: { title: { type: string, was: name }", "holder: { name", "holder: { title"),
		"Payment.cash.name":             strings.NewReplacer("cash: { fields: { name: string", "cash: { fields: { title: { type: string, was: name }", "type: cash, name", "type: cash, title"),
	} {
		change, err := edit.RenameField(one(inside), path, "title")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Replace(inside), string(change.Files[0].Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}
}

// The old name of a field is kept in every way in which a field can be written.
func TestARenamedFieldKeepsItsOldName(t *testing.T) {
	const head = "version: 1\npackage: p\nevents:\n  a.done:\n"
	for name, test := range map[string]struct{ before, want string }{
		"a type":                             {"    payload:\n      a: string # as written\n", "    payload:\n      b: { type: string, was: a } # as written\n"},
		"a type that needs quotes in braces": {"    payload:\n      a: string?\n", "    payload:\n      b: { type: \"string?\", was: a }\n"},
		"a type in quotes":                   {"    payload:\n      a: '[]string'\n", "    payload:\n      b: { type: '[]string', was: a }\n"},
		"a type in braces":                   {"    payload: { a: \"[]string?\", c: int }\n", "    payload: { b: { type: \"[]string?\", was: a }, c: int }\n"},
		"a type below":                       {"    payload:\n      a:\n        string\n", "    payload:\n      b:\n        { type: string, was: a }\n"},
		"a type in JSON":                     {"    payload: {\"a\": \"string\"}\n", "    payload: {\"b\": { type: \"string\", was: a }}\n"},
		"a field in braces":                  {"    payload:\n      a: { type: int, doc: \"A, b.\", min: 1 }\n", "    payload:\n      b: { type: int, doc: \"A, b.\", was: a, min: 1 }\n"},
		"one that is not formatted":          {"    payload:\n      a: {min: 1,  type: int}\n", "    payload:\n      b: {min: 1,  type: int, was: a}\n"},
		"one in several lines":               {"    payload:\n      a: { type: int,\n        doc: Yes. }\n", "    payload:\n      b: { type: int,\n        doc: Yes., was: a }\n"},
		"one with a doc in several lines":    {"    payload:\n      a: { type: int, doc: \"Yes,\n        it is.\" }\n", "    payload:\n      b: { type: int, was: a, doc: \"Yes,\n        it is.\" }\n"},
		"a struct in place in braces":        {"    payload:\n      a: { fields: { x: int } }\n", "    payload:\n      b: { was: a, fields: { x: int } }\n"},
		"a block":                            {"    payload:\n      a:\n        type: int\n        doc: Yes.\n\n        # at least\n        min: 1\n      c: int\n", "    payload:\n      b:\n        type: int\n        doc: Yes.\n        was: a\n\n        # at least\n        min: 1\n      c: int\n"},
		"a block of a struct in place":       {"    payload:\n      a:\n        fields:\n          x: int\n", "    payload:\n      b:\n        was: a\n        fields:\n          x: int\n"},
		"a former name":                      {"    payload:\n      a: { type: int, was: x }\n", "    payload:\n      b: { type: int, was: [x, a] }\n"},
		"former names":                       {"    payload:\n      a: { type: int, was: [x, \"y\"] }\n", "    payload:\n      b: { type: int, was: [x, \"y\", a] }\n"},
		"former names on lines of their own": {"    payload:\n      a:\n        type: int\n        was:\n          - x\n          - y\n", "    payload:\n      b:\n        type: int\n        was:\n          - x\n          - y\n          - a\n"},
		"the name that it had":               {"    payload:\n      a: { type: int, was: b }\n", "    payload:\n      b: { type: int, was: a }\n"},
		"one of those it had":                {"    payload:\n      a: { type: int, was: [x, b] }\n", "    payload:\n      b: { type: int, was: [x, a] }\n"},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := edit.RenameField(one(head+test.before), "a.done.a", "b")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(head+test.want, string(change.Files[0].Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for to, want := range map[string]string{
		"gone": "gone is the name of field gone of payload of event a.done, and is reserved there",
		"old":  "former name old of field c of payload of event a.done is also the name of field old",
	} {
		_, err := edit.RenameField(one(head+"    reserved: [gone]\n    payload: { a: int, c: { type: int, was: old } }\n"), "a.done.a", to)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", to, err)
		}
	}
}

// The name in the catalogue, and so the one in Go, is not always the one in JSON.
func TestTheNameInJSONChangesOnlyWithTheFieldThatHasNoneOfItsOwn(t *testing.T) {
	const head, tail = "version: 1\npackage: p\njson_names: camel\nevents:\n  a.done:\n    partition_by: a_b\n    payload:\n", "    examples:\n      - { aB: x }\n"
	for name, test := range map[string]struct{ before, want, kept, remark string }{
		"made by json_names": {"      a_b: string\n" + tail, "      c_d: { type: string, was: aB }\n    examples:\n      - { cD: x }\n", "      c_d: { type: string, json: aB }\n" + tail,
			"Stored events are read by its old name in JSON too, which is kept under was.\n"},
		"written": {"      a_b: { type: string, json: aB }\n" + tail, "      c_d: { type: string, json: aB }\n" + tail, "      c_d: { type: string, json: aB }\n" + tail, "Its name in JSON stays aB.\n"},
	} {
		for want, rename := range map[string]func(*edit.Catalogue, string, string) (*edit.Change, error){test.want: edit.RenameField, test.kept: edit.RenameFieldInGo} {
			change, err := rename(one(head+test.before), "a.done.a_b", "c_d")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Replace(head, "by: a_b", "by: c_d", 1)+want, string(change.Files[0].Text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if want == test.want && change.Remark != test.remark {
				t.Errorf("%s: %s", name, change.Remark)
			}
		}
	}
	change, err := edit.RenameField(one("version: 1\npackage: p\nevents:\n  a.done: { payload: { a: { type: int, was: 'a [b]' } } }\n"), "a.done.a", "b")
	if err != nil || !strings.Contains(string(change.Files[0].Text), "was: ['a [b]', a]") {
		t.Errorf("%v %+v", err, change)
	}
}

func TestTheNameOnTheWireChangesOnlyWithTheEventThatHasNoneOfItsOwn(t *testing.T) {
	const head = "version: 1\npackage: p\npolicies:\n  a.done: { timeout: 1s }\nevents:\n"
	for before, test := range map[string]struct{ want, kept, remark string }{
		"  a.done: { owner: me }\n":                        {"  a.made: { owner: me, aliases: [a.done] }\n", "  a.made: { owner: me, wire: a.done }\n", ""},
		"  a.done:\n    doc: Yes.\n    version: 1\n":       {"  a.made:\n    doc: Yes.\n    aliases: [a.done]\n    version: 1\n", "  a.made:\n    doc: Yes.\n    wire: a.done\n    version: 1\n", ""},
		"  a.done: { wire: Größe/1, aliases: [a.done] }\n": {"  a.made: { wire: Größe/1, aliases: [a.done] }\n", "  a.made: { wire: Größe/1, aliases: [a.done] }\n", "Its name on the wire stays Größe/1.\n"},
	} {
		for want, rename := range map[string]func(*edit.Catalogue, string, string) (*edit.Change, error){test.want: edit.RenameEvent, test.kept: edit.RenameEventInGo} {
			change, err := rename(one(head+before), "a.done", "a.made")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Replace(head, "a.done", "a.made", 1)+want, string(change.Files[0].Text)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", before, diff)
			}
			if want == test.want && change.Remark != test.remark {
				t.Errorf("%s: %s", before, change.Remark)
			}
		}
	}
}

func TestAValueOfAnEnumIsRenamed(t *testing.T) {
	for name, want := range map[string]*strings.Replacer{
		"Currency": strings.NewReplacer("[EUR, USD]", "[EURO, USD]", `"Currency?", default: EUR`, `"Currency?", default: EURO`, "Currency, default: EUR", "Currency, default: EURO",
			"currency: EUR", "currency: EURO", "in: EUR }", "in: EURO }", "{ EUR: EUR }", "{ EUR: EURO }"),
		"Size": strings.NewReplacer("      EUR: 2", "      EURO: 2"),
	} {
		change, err := edit.RenameValue(one(inside), name, "EUR", "EURO")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Replace(inside), string(change.Files[0].Text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAPathToAnUnknownPartCannotBeRenamed(t *testing.T) {
	field := func(path string) error { _, err := edit.RenameField(one(inside), path, "x"); return err }
	valueOf := func(enum, from string) error { _, err := edit.RenameValue(one(inside), enum, from, "x"); return err }
	subscription := func(from string) error { _, err := edit.RenameSubscription(one(inside), from, "x"); return err }
	for _, test := range []struct {
		err   error
		want  string
		names int
	}{
		{field("order.placed.ship_to.street"), "there is no field street in order.placed.ship_to", 2},
		{field("order.placed.payment.card"), "there is no struct in place payment in order.placed", 0},
		{field("Payment.card.name"), "there is no field name in Payment.card", 2},
		{field("Currency.EUR"), "there is no event or type with fields Currency", 5},
		{valueOf("Currency", "JPY"), "there is no value JPY in Currency", 2},
		{valueOf("Payment", "card"), "there is no enum Payment", 3},
		{subscription("ship"), "there is no declared subscription ship", 0},
	} {
		var missing *edit.NotFoundError
		if !errors.As(test.err, &missing) || test.err.Error() != test.want || len(missing.Names) != test.names {
			t.Errorf("got %v with %+v, want %s", test.err, missing, test.want)
		}
	}
}

// What was formatted before is formatted afterwards.
func TestAFormattedCatalogueStaysFormatted(t *testing.T) {
	source, err := edit.Format([]byte(inside))
	if err != nil {
		t.Fatal(err)
	}
	change, err := edit.RenameEvent(one(string(source)), "order.placed", "order.sent")
	if err != nil {
		t.Fatal(err)
	}
	again, err := edit.Format(change.Files[0].Text)
	if diff := cmp.Diff(string(change.Files[0].Text), string(again)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
