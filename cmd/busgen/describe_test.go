package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// described has an event with everything that describe shows, and a plain one.
const described = `version: 1
package: shop
events:
  order.placed:
    doc: A customer placed an order.
    priority: high
    expires_after: 1h
    partition_by: order_id
    payload:
      order_id: { type: uuid, doc: Identifies the order. }
      note: string?
    subscriptions:
      charge-card: { doc: Takes the money., retry: { max_attempts: 1 }, redrive: {} }
      audit: {}
  user.left: {}
`

func TestDescribeListsTheEvents(t *testing.T) {
	inFolder(t, map[string]string{"shop.yaml": described})
	busgen(t, "describe -c shop.yaml").wants(t, 0, `EVENT         FIELDS  POLICY                                        SUBSCRIPTIONS
order.placed       2  4× over 7s, 30s each, high, expires after 1h  charge-card, audit
user.left          0  4× over 7s, 30s each
`, "")
}

func TestDescribeShowsOneEventInFull(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	busgen(t, "describe order.placed").wants(t, 0, `order.placed
A customer placed an order.

policy       4× over 7s, 30s each, high, expires after 1h
in order by  order_id
declared at  events.yaml:4
in Go        OrderPlaced

FIELD     TYPE     DOC
order_id  uuid     Identifies the order.
note      string?

SUBSCRIPTION  POLICY                                                  DOC
charge-card   1×, 30s each, high, expires after 1h, redrive every 1h  Takes the money.
audit         4× over 7s, 30s each, high, expires after 1h
`, "")
	busgen(t, "describe user.left").wants(t, 0, `user.left

policy       4× over 7s, 30s each
declared at  events.yaml:15
in Go        UserLeft
`, "")
}

func TestDescribeShowsTheHistoryOfAnEvent(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": `version: 1
package: shop
events:
  order.placed:
    aliases: [shop.order]
    version: 3
    payload: { number: int }
    history:
      1: { doc: There was nothing to say. }
      2: { payload: { number: { type: string, doc: As it was. } } }
    subscriptions: { audit: { doc: Keeps the books., aliases: [books, log] } }
`})
	busgen(t, "describe order.placed").wants(t, 0, `order.placed

version      3
formerly     shop.order
policy       4× over 7s, 30s each
declared at  events.yaml:4
in Go        OrderPlaced

FIELD   TYPE
number  int

version 2
FIELD   TYPE    DOC
number  string  As it was.

version 1
There was nothing to say.

SUBSCRIPTION  POLICY                DOC
audit         4× over 7s, 30s each  Formerly books, log. Keeps the books.
`, "")
	var events []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe --json").stdout), &events); err != nil {
		t.Fatal(err)
	}
	e := events[0]
	if e.Version != 3 || e.Aliases[0] != "shop.order" || len(e.History) != 2 || e.History[0].Doc != "There was nothing to say." ||
		e.History[1].Payload[0].Type != "string" || e.Subscriptions[0].Aliases[1] != "log" {
		t.Errorf("%+v", e)
	}
}

func TestDescribeFitsTheScreen(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	t.Setenv("COLUMNS", "60")
	for line := range strings.Lines(busgen(t, "describe").stdout) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 60 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestDescribeAsJSONHasWhatTheManualNames(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described})
	var got []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe order.* --json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Settings["priority"] != (settingObject{"high", "events.yaml:6"}) {
		t.Fatalf("got %+v", got)
	}
	got[0].Settings = nil
	want := eventObject{
		Name: "order.placed", Doc: "A customer placed an order.", At: "events.yaml:4", Version: 1, PartitionBy: "order_id",
		Payload:       []fieldObject{{Name: "order_id", Type: "uuid", Doc: "Identifies the order."}, {Name: "note", Type: "string?", Optional: true}},
		Subscriptions: []declaredObject{{Name: "charge-card", Doc: "Takes the money."}, {Name: "audit"}},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeSaysWhenThereIsNothingToShow(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described, "broken.yaml": broken})
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"describe order.placd":    {statusNothing, "busgen: no event type matches order.placd: did you mean order.placed?\n"},
		"describe ui.*":           {statusNothing, "busgen: no event type matches ui.*\n"},
		"describe or*":            {statusTrouble, "`*` must be a whole segment"},
		"describe -c nope.yaml":   {statusTrouble, "there is no catalogue at nope.yaml"},
		"describe -c broken.yaml": {statusNo, "busgen: 2 findings in broken.yaml\n"},
		"describe a b":            {statusTrouble, "busgen describe takes one type or pattern, not 2"},
	} {
		busgen(t, command).wantsErrors(t, want.status, want.text)
	}
}
