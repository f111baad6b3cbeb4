package catalogue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const limited = `version: 1
package: shop
limits:
  bank: { doc: The bank is slow., at_once: 3 }
  mail: { rate: 100 per 1m }
defaults: { limits: [bank] }
events:
  order.placed:
    payload: { email: string }
    subscriptions:
      send-receipt: { limits: [bank, { limit: mail, by: email }] }
      audit: { limits: off }
`

func TestPolicyShowsLimits(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": limited})
	for command, want := range map[string][]string{
		"policy order.placed": {"limits bank events.yaml:6"},
		"policy send-receipt": {"limits bank, mail by email events.yaml:11",
			"Limit bank: 3 at once. The bank is slow. Limit mail by email: 100 per 1m for each email."},
		"policy audit": {"limits off events.yaml:12"},
	} {
		out := strings.Join(strings.Fields(busgen(t, command).Stdout), " ")
		for _, line := range want {
			if !strings.Contains(out, line) {
				t.Errorf("%s lacks %q:\n%s", command, line, out)
			}
		}
	}
	var objects []policyObject
	if err := json.Unmarshal([]byte(busgen(t, "policy send-receipt --json").Stdout), &objects); err != nil {
		t.Fatal(err)
	}
	want := settingObject{[]any{"bank", "mail by email"}, "events.yaml:11"}
	if diff := cmp.Diff(want, objects[0].Settings["limits"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDescribeShowsLimits(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": limited})
	busgen(t, "describe order.placed").Wants(t, 0, `order.placed

policy       4× over 7s, 30s each, limit bank
limit bank   3 at once
declared at  events.yaml:8
in Go        OrderPlaced

FIELD  TYPE
email  string

SUBSCRIPTION  POLICY
send-receipt  4× over 7s, 30s each, limits bank and mail
audit         4× over 7s, 30s each
`, "")
}
