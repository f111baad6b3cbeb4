package events_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
)

func TestARedriveOfASubscriptionForAPatternReplacesThatOfTheEventAsAWhole(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
events:
  order.placed: { redrive: { reasons: [crash], every: 2h, max: 9 }, retry: { max_attempts: 7, jitter: 0 } }
subscriptions:
  audit: { pattern: "*", redrive: { max: 5 }, retry: { max_attempts: 2 } }
  other: { pattern: "*" }
`))
	if findings != nil {
		t.Fatal(findings)
	}
	event := c.Events[0]
	audit, other := c.Subscriptions[0].For(event), c.Subscriptions[1].For(event)
	if d := audit.Redrive; d.Off.V || d.Max.V != 5 || d.Every.V != time.Hour || d.Reasons.V != nil {
		t.Errorf("its own: %+v", d)
	}
	if d := other.Redrive; d.Max.V != 9 || d.Every.V != 2*time.Hour {
		t.Errorf("that of the event: %+v", d)
	}
	if audit.MaxAttempts.V != 2 || audit.Jitter.V != 0 || !audit.Jitter.Written() {
		t.Errorf("a retry is replaced field by field: %+v", audit.Retry)
	}
}
