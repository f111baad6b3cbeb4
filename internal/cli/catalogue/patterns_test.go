package catalogue

import (
	"encoding/json"
	"strings"
	"testing"
)

// withPatterns declares subscriptions for patterns.
const withPatterns = `version: 1
package: shop
events:
  order.placed: { wire: OrderPlaced, subscriptions: { receipt: {} } }
  order.paid: {}
subscriptions:
  audit: { doc: Writes every event down., pattern: "*", timeout: 1m }
  to-erp: { aliases: [erp], pattern: [order.paid, OrderPlaced], group: books, concurrency: 2 }
groups:
  books: {}
`

func TestDescribeListsSubscriptionsForPatterns(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": withPatterns})
	busgen(t, "describe").Wants(t, 0, `EVENT         FIELDS  POLICY                SUBSCRIPTIONS
order.placed       0  4× over 7s, 30s each  receipt, audit, to-erp
order.paid         0  4× over 7s, 30s each  audit, to-erp

SUBSCRIPTION  PATTERN                 EVENTS  DOC
audit         *                            2  Writes every event down.
to-erp        order.paid OrderPlaced       2  Formerly erp. In group books.
`, "")
	busgen(t, "describe order.paid").Wants(t, 0, `order.paid

policy       4× over 7s, 30s each
declared at  events.yaml:5
in Go        OrderPaid

SUBSCRIPTION  POLICY                           DOC
audit         4× over 7s, 1m each              For *. Writes every event down.
to-erp        4× over 7s, 30s each, 2 at once  For order.paid OrderPlaced. Formerly erp. In group books.
`, "")
	var all []eventObject
	if err := json.Unmarshal([]byte(busgen(t, "describe --json").Stdout), &all); err != nil {
		t.Fatal(err)
	}
	if got := all[1].Subscriptions; len(got) != 2 || strings.Join(got[1].Pattern, " ") != "order.paid OrderPlaced" || got[1].Group != "books" {
		t.Errorf("subscriptions: %+v", got)
	}
}

func TestPolicyShowsWhereASettingOfASubscriptionForAPatternComesFrom(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": withPatterns})
	out := busgen(t, "policy audit").Stdout
	if !strings.Contains(out, "order.placed → audit") || !strings.Contains(out, "events.yaml:7") {
		t.Error(out)
	}
}

func TestASubscriptionForAPatternIsExportedAndImported(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": withPatterns})
	busgen(t, "export asyncapi --out shop.json").Wants(t, 0, "wrote shop.json\n", "")
	out := busgen(t, "import shop.json").Stdout
	for _, want := range []string{
		"  audit:\n    doc: Writes every event down.\n    pattern: '*'\n    timeout: 1m\n",
		"  to-erp:\n    pattern: [order.paid, OrderPlaced]\n    group: books\n    concurrency: 2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is not in\n%s", want, out)
		}
	}
}
