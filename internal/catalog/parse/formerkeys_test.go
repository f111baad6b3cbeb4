package parse_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
)

func TestAKeyMayHaveItsFormerName(t *testing.T) {
	c := parsed(t, `version: 1
package: events
defaults: { brake: 7 }
policies:
  order.*: { brake: off }
events:
  order.placed: { subscriptions: { ship: { brake: 9 } } }
  user.created: {}
`)
	placed := c.Events[0]
	for what, got := range map[string]struct {
		setting catalog.Value[int]
		want    int
	}{
		"policy": {placed.Settings.FailureThrottle, 0}, "subscription": {placed.Subscriptions[0].Settings.FailureThrottle, 9},
		"defaults": {c.Events[1].Settings.FailureThrottle, 7},
	} {
		if got.setting.V != got.want || !got.setting.Written() {
			t.Errorf("%s: got %+v, want %d", what, got.setting, got.want)
		}
	}
	var got []string
	for _, key := range c.FormerKeys {
		got = append(got, key.Key.Pos.String()+" "+key.Key.V+" of "+key.Of+": "+key.Present)
	}
	want := []string{
		"shop.yaml:7:44 brake of subscription ship of event order.placed: failure_throttle",
		"shop.yaml:3:13 brake of defaults: failure_throttle",
		"shop.yaml:5:14 brake of policy order.*: failure_throttle",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the keys with former names (-want +got):\n%s", diff)
	}
}
