package edit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/edit"
)

func TestANewVersionKeepsTheOldPayload(t *testing.T) {
	tests := map[string]struct{ before, after string }{
		"the first change": {`version: 1
package: events
events:
  order.placed:
    doc: A customer placed an order.
    timeout: 1m
    # What it carries.
    payload:
      order_id: uuid # of the shop

      # In cents.
      total:
        type: int64
        min: 1
    examples:
      - { order_id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8, total: 5 }
    subscriptions:
      ship: {}

  # Another.
  order.paid: {}
`, `version: 1
package: events
events:
  order.placed:
    doc: A customer placed an order.
    version: 2
    timeout: 1m
    # What it carries.
    payload:
      order_id: uuid # of the shop

      # In cents.
      total:
        type: int64
        min: 1
    examples:
      - { order_id: 6ba7b810-9dad-11d1-80b4-00c04fd430c8, total: 5 }
    history:
      1:
        payload:
          order_id: uuid # of the shop

          # In cents.
          total:
            type: int64
            min: 1
    subscriptions:
      ship: {}

  # Another.
  order.paid: {}
`},
		"another change": {`version: 1
package: events
events:
  order.placed:
    version: 2
    payload: { order_id: uuid }
    history:
      1: dropped
    # subscriptions:
    #   ship: {}

  order.paid: {}
`, `version: 1
package: events
events:
  order.placed:
    version: 3
    payload: { order_id: uuid }
    history:
      1: dropped
      2:
        payload: { order_id: uuid }
    # subscriptions:
    #   ship: {}

  order.paid: {}
`},
		"an event with a comment at its end": {`version: 1
package: events
events:
  order.placed:
    payload:
      order_id: uuid
      # total: int64
    # subscriptions: {}
`, `version: 1
package: events
events:
  order.placed:
    version: 2
    payload:
      order_id: uuid
      # total: int64
    history:
      1:
        payload:
          order_id: uuid
          # total: int64
    # subscriptions: {}
`},
		"an event without a payload": {`version: 1
package: events
events:
    order.placed:
        doc: Placed.
`, `version: 1
package: events
events:
    order.placed:
        doc: Placed.
        version: 2
        history:
          1: {}
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			change, err := edit.AddVersion(&edit.Catalogue{Files: []edit.File{{Name: "events.yaml", Text: []byte(test.before)}}}, "order.placed")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.after, string(change.Files[0].Text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAVersionOfAnEventInBracesIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"the event":   "version: 1\npackage: events\nevents:\n  order.placed: { payload: { a: int } }\n",
		"its history": "version: 1\npackage: events\nevents:\n  order.placed:\n    version: 2\n    history: { 1: {} }\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := edit.AddVersion(&edit.Catalogue{Files: []edit.File{{Name: "events.yaml", Text: []byte(text)}}}, "order.placed")
			if want := "events.yaml:4: event order.placed is written in { }: write each of its keys on a line of its own first"; err == nil || err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}
