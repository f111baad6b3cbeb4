package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

var refunded = edit.Event{
	Name: "order.refunded", Doc: "The money went back: all of it.", PartitionBy: "order_id", DedupeBy: "order_id", AwaitBy: "order_id",
	Fields:        []edit.Field{{Name: "order_id", Type: "uuid"}, {Name: "lines", Type: "[]string"}, {Name: "note", Type: "string?", Doc: "Why."}},
	Subscriptions: []string{"tell-customer"},
}

const refundedText = `  order.refunded:
    doc: 'The money went back: all of it.'
    partition_by: order_id
    dedupe_by: order_id
    await_by: order_id
    payload:
      order_id: uuid
      lines: '[]string'
      note:
        type: string?
        doc: Why.
    subscriptions:
      tell-customer: {}
`

func TestAnEventIsAddedBehindItsRelatives(t *testing.T) {
	for name, test := range map[string]struct {
		before string
		event  edit.Event
		after  string
	}{
		"behind the last of its namespace": {
			"version: 1\npackage: p\nevents:\n  order.placed: {} # first\n    # still order.placed\n  # the user\n  user.left: {}\n# the end\n", refunded,
			"version: 1\npackage: p\nevents:\n  order.placed: {} # first\n    # still order.placed\n" + refundedText + "  # the user\n  user.left: {}\n# the end\n",
		},
		"at the end of the events": {
			"package: p\nevents:\n  user.left: {}\n\n# which version\nversion: 1\n", refunded,
			"package: p\nevents:\n  user.left: {}\n" + refundedText + "\n# which version\nversion: 1\n",
		},
		"at the end of the file, which lacks a line end": {
			"version: 1\npackage: p\nevents:\n  user.left: {}", edit.Event{Name: "order.gone"},
			"version: 1\npackage: p\nevents:\n  user.left: {}\n  order.gone: {}\n",
		},
		"with a blank line if others have one": {
			"version: 1\npackage: p\nevents:\n\n  a.x: {}\n\n  a.y:\n    doc: Y.\n\n  b.z: {}\n", edit.Event{Name: "a.new", Doc: "5"},
			"version: 1\npackage: p\nevents:\n\n  a.x: {}\n\n  a.y:\n    doc: Y.\n\n  a.new:\n    doc: \"5\"\n\n  b.z: {}\n",
		},
		"indented like the others": {
			"version: 1\npackage: p\nevents:\n      a.x: {}\n", edit.Event{Name: "a.new", Doc: "New.\nReally."},
			"version: 1\npackage: p\nevents:\n      a.x: {}\n      a.new:\n        doc: \"New.\\nReally.\"\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			change, err := edit.AddEvent(one(test.before), test.event)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(change.Files[0].Text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEventThatDoesNotFitIsRefused(t *testing.T) {
	for want, event := range map[string]edit.Event{
		"there is an event user.left already, in line 4 of events.yaml": {Name: "user.left"},
		"event User does not have a valid name":                         {Name: "User"},
		`unknown type "strng" in field note`:                            {Name: "a.b", Fields: []edit.Field{{Name: "note", Type: "strng"}}},
		`partition_by of event a.b names "x"`:                           {Name: "a.b", PartitionBy: "x"},
		`"x: y" of payload of event a.b does not have a valid name`:     {Name: "a.b", Fields: []edit.Field{{Name: "x: y", Type: "int"}}},
		"subscription Audit of event a.b does not have a valid name":    {Name: "a.b", Subscriptions: []string{"Audit"}},
	} {
		_, err := edit.AddEvent(one("version: 1\npackage: p\nevents:\n  user.left: {}\n"), event)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := edit.AddEvent(one("version: 1\npackage: p\nevents: { a.b: {} }\n"), refunded); err == nil || !strings.Contains(err.Error(), "its events are in { }") {
		t.Errorf("got %v", err)
	}
}

func TestAnEventIsAddedWhereItsRelativesAre(t *testing.T) {
	const root, payments = "version: 1\npackage: shop\ninclude: [payments.yaml]\n", "version: 1\nevents:\n  payment.done: {}\n"
	for event, want := range map[string]edit.File{
		"payment.failed": {Name: "shop/payments.yaml", Text: []byte(payments + "  payment.failed: {}\n")},
		"order.placed":   {Name: "shop/events.yaml", Text: []byte(root + "\nevents:\n  order.placed: {}\n")},
		"started":        {Name: "shop/events.yaml", Text: []byte(root + "\nevents:\n  started: {}\n")},
	} {
		change, err := edit.AddEvent(several(root, payments), edit.Event{Name: event})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]edit.File{want}, change.Files); diff != "" {
			t.Errorf("%s (-want +got):\n%s", event, diff)
		}
	}
}
