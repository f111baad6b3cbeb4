package parse_test

import (
	"go/token"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
)

// subscribed declares subscriptions that set nothing, one thing, and much.
const subscribed = `version: 1
package: events
defaults: { retry: { jitter: 0 } }
events:
  order.placed:
    priority: high
    timeout: 20s
    retry: { max_attempts: 6 }
    subscriptions:
      send-receipt: {}
      "charge_card.v2":
        doc: |
          Takes the money.
        timeout: 10s
        retry: { max_retries: 0, jitter: 0.2 }
  order.paid: { subscriptions: {} }
  order.line.added: { subscriptions: { sku.count: { retry: { base_delay: 0s } } } }
`

func TestSubscriptionsAreReadInFileOrder(t *testing.T) {
	c := parsed(t, subscribed)
	type declared struct {
		name, goName, doc string
		pos               diag.Position
	}
	var got []declared
	for _, e := range c.Events {
		for _, s := range e.Subscriptions {
			got = append(got, declared{s.Name.V, s.GoName, s.Doc, s.Name.Pos})
		}
	}
	want := []declared{
		{"send-receipt", "OnOrderPlacedSendReceipt", "", at(10, 7)},
		{"charge_card.v2", "OnOrderPlacedChargeCardV2", "Takes the money.", at(11, 7)},
		{"sku.count", "OnOrderLineAddedSKUCount", "", at(17, 40)},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(declared{})); diff != "" {
		t.Errorf("subscriptions (-want +got):\n%s", diff)
	}
}

func TestASubscriptionWithoutSettingsHasThoseOfItsEvent(t *testing.T) {
	placed := parsed(t, subscribed).Events[0]
	if diff := cmp.Diff(placed.Settings, placed.Subscriptions[0].Settings); diff != "" {
		t.Errorf("settings (-event +subscription):\n%s", diff)
	}
}

func TestASubscriptionOverridesItsEventFieldByField(t *testing.T) {
	placed := parsed(t, subscribed).Events[0]
	want := builtInBut(t, func(s *catalog.Settings) {
		s.MaxAttempts = catalog.Value[int]{V: 1, Pos: at(15, 31)}
		s.Jitter = catalog.Value[float64]{V: 0.2, Pos: at(15, 42)}
		s.Timeout = catalog.Value[time.Duration]{V: 10 * time.Second, Pos: at(14, 18)}
		s.Priority = catalog.Value[catalog.Priority]{V: catalog.High, Pos: at(6, 15)}
	})
	if diff := cmp.Diff(want, placed.Subscriptions[1].Settings); diff != "" {
		t.Errorf("settings of the subscription (-want +got):\n%s", diff)
	}
	if placed.Settings.MaxAttempts.V != 6 || placed.Settings.Timeout.V != 20*time.Second {
		t.Errorf("the event has the settings of its subscription: %+v", placed.Settings)
	}
}

// The alphabet, once more and in other words than in the package: whatever is
// in it makes a constant, and everything else is refused.
func TestANameIsRefusedOrMakesAnExportedConstant(t *testing.T) {
	allowed := func(name string) bool {
		return len(name) <= 200 && name != "" && name[0] >= 'a' && name[0] <= 'z' &&
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" &&
			!regexp.MustCompile(`[-_.]([-_.]|$)`).MatchString(name)
	}
	names := rapid.OneOf(
		rapid.StringMatching(`[a-z][a-z0-9]{0,9}([-_.][a-z0-9]{1,9}){0,3}`),
		rapid.StringMatching(`[a-cA-C0-2._-]{0,5}`),
		rapid.StringMatching(`[a-z]{195,205}`),
	)
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: events\nevents: { a: { subscriptions: { \""+name+"\": {} } } }\n"))
		if (c != nil) != allowed(name) {
			t.Fatalf("%q: got %v", name, findings)
		}
		if c == nil {
			return
		}
		s := c.Events[0].Subscriptions[0]
		if s.Name.V != name || !token.IsIdentifier(s.GoName) || !token.IsExported(s.GoName) {
			t.Errorf("%q became %+v", name, s)
		}
	})
}
