package parse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

const underOverlays = `version: 1
package: events
limits:
  bank: { at_once: 4, rate: 100 per 1m }
  mail: { at_once: 1 }
defaults: { timeout: 10s, retry: { max_attempts: 3 } }
policies:
  order.*: { timeout: 20s }
events:
  order.placed: { wire: OrderPlaced, payload: { id: string }, subscriptions: { charge: { group: chain }, receipt: { timeout: 5s } } }
  user.left: { retry: { max_attempts: 2 }, errors: { busy: permanent } }
subscriptions:
  audit: { pattern: "*", concurrency: 2 }
groups: { chain: {} }
`

func overlaid(t *testing.T, overlays ...string) (*catalog.Catalogue, string) {
	t.Helper()
	var over []parse.Overlay
	for i, text := range overlays {
		over = append(over, parse.Overlay{File: []string{"a.yaml", "b.yaml"}[i], Text: []byte(text)})
	}
	c, findings := parse.TextWith(parse.Memory{}, "events.yaml", []byte(underOverlays), over...)
	if findings == nil {
		return c, ""
	}
	return nil, findings.Error()
}

func TestAnOverlayReplacesWhatStandsInTheSamePlace(t *testing.T) {
	c, findings := overlaid(t, `version: 1
limits: { bank: { rate: 10 per 1m, burst: 1 } }
defaults: { timeout: 1m }
policies: { user.*: { slow_after: off } }
events:
  order.placed: { subscriptions: { receipt: { timeout: 7s }, charge: { concurrency: 8 } } }
subscriptions: { audit: { timeout: 2m } }
`, `version: 1
defaults: { timeout: 2m, retry: { jitter: 0 } }
policies: { order.*: { retry: { max_attempts: 9 } } }
events: { order.placed: { subscriptions: { receipt: { timeout: 8s } } } }
`)
	if findings != "" {
		t.Fatal(findings)
	}
	placed, left := c.Events[0], c.Events[1]
	charge, receipt, audit := placed.Subscriptions[0].Settings, placed.Subscriptions[1].Settings, c.Subscriptions[0].For(left)
	for what, test := range map[string]struct{ got, want any }{
		"the policy of the catalogue wins over the defaults of an overlay": {placed.Settings.Timeout.V, 20 * time.Second},
		"the last overlay wins in one place":                               {left.Settings.Timeout.V, 2 * time.Minute},
		"a policy that both have is one":                                   {placed.Settings.MaxAttempts.V, 9},
		"what no overlay sets stays":                                       {left.Settings.MaxAttempts.V, 2},
		"a policy of the overlay alone":                                    {left.Settings.SlowAfter.V, time.Duration(0)},
		"a subscription of an event":                                       {receipt.Timeout.V, 8 * time.Second},
		"another setting of a subscription":                                {charge.Concurrency.V, 8},
		"a subscription for a pattern":                                     {audit.Timeout.V, 2 * time.Minute},
		"what stays of that":                                               {audit.Concurrency.V, 2},
		"a field of retry":                                                 {charge.Jitter.V, 0.0},
		"a rate":                                                           {c.Limits[0].Rate.String(), "10 per 1m"},
		"a burst":                                                          {c.Limits[0].Rate.Burst.V, 1},
		"the places of that limit":                                         {c.Limits[0].AtOnce.V, 4},
		"where it is written":                                              {receipt.Timeout.Pos.File, "b.yaml"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %v, want %v", what, test.got, test.want)
		}
	}
}

func TestATypoInAnOverlayIsAFinding(t *testing.T) {
	for overlay, want := range map[string]string{
		"events: { order.plcaed: { timeout: 1s } }":                                       `a.yaml:2:11: the catalogue has no event order.plcaed; did you mean "order.placed"? [overlay]`,
		"events: { OrderPlaced: { timeout: 1s } }":                                        `a.yaml:2:11: the catalogue has no event OrderPlaced; `,
		"events: { order.placed: { subscriptions: { recipt: { timeout: 1s } } } }":        `did you mean "receipt"? [overlay]`,
		"events: { order.placed: { timeuot: 1s } }":                                       `unknown key "timeuot" in event order.placed of the overlay; did you mean "timeout"? [unknown-key]`,
		"events: { order.placed: { payload: {} } }":                                       `unknown key "payload" in event order.placed of the overlay`,
		"events: { order.placed: { priority: high } }":                                    `a.yaml:2:27: event order.placed of the overlay has a priority, which a program cannot change while it runs; set it in the catalogue [overlay]`,
		"events: { order.placed: { subscriptions: { charge: { batch: { size: 2 } } } } }": `has batches, and members of a group handle events one by one; remove it [group]`,
		"subscriptions: { adit: {} }":                                                     `did you mean "audit"? [overlay]`,
		"subscriptions: { receipt: {} }":                                                  "the catalogue has no subscription for patterns that is called receipt",
		"subscriptions: { audit: { pattern: x } }":                                        `unknown key "pattern"`,
		"limits: { bnk: { at_once: 1 } }":                                                 `did you mean "bank"? [overlay]`,
		"limits: { mail: { burst: 1 } }":                                                  `has a burst but no rate`,
		"limits: { mail: { lax: true } }":                                                 `is lax but waits as long as it takes`,
		"limits: { mail: { hold: event } }":                                               `unknown key "hold"`,
		"policies: { ordr.*: { timeout: 1s } }":                                           `a.yaml:2:13: policy ordr.* matches no event`,
		"policies: { \"*.placed\": { timeout: 1s } }":                                     "are equally specific and both match event order.placed",
		"policies: { \"o*\": { timeout: 1s } }":                                           "is not a pattern",
		"defaults: { timeout: 5 }":                                                        "a.yaml:2:22: timeout of defaults of the overlay has no unit",
		"defaults: { retry: { base_delay: 2m } }":                                         "is longer than its max_delay",
		"defaults: { limits: [bnk] }":                                                     `which is not declared; did you mean "bank"? [limit]`,
		"types: {}":                                                                       `unknown key "types" in the overlay a.yaml`,
		"package: events":                                                                 `unknown key "package" in the overlay a.yaml`,
		"events: []":                                                                      "events of the overlay a.yaml must be a mapping, not a list",
		"version: 2":                                                                      "version 2 of the catalogue language is not known",
	} {
		text := "version: 1\n" + overlay + "\n"
		if strings.HasPrefix(overlay, "version") {
			text = overlay
		}
		if c, got := overlaid(t, text); c != nil || !strings.Contains(got, want) {
			t.Errorf("%s\ngot  %s\nwant %s", overlay, got, want)
		}
	}
	for _, text := range []string{"", "a\n", "- x\n", "version: 1\n---\nversion: 1\n", "\xff", "root:x:0:0:\nsecret: y\n"} {
		if c, got := overlaid(t, text); c != nil || strings.Contains(got, "secret: y") {
			t.Errorf("%q: %s", text, got)
		}
	}
	if c, got := overlaid(t, "version: 1\n"); c == nil {
		t.Errorf("one that sets nothing: %s", got)
	}
}

func TestTheOverlayInTheReferenceIsRight(t *testing.T) {
	all := blocks(t)
	for i, b := range all {
		if b.info != "yaml production.yaml" {
			continue
		}
		c, findings := parse.TextWith(included(t), "events.yaml", []byte(all[i-1].text), parse.Overlay{File: "production.yaml", Text: []byte(b.text)})
		if findings != nil {
			t.Fatal(findings)
		}
		if s := c.Events[0].Subscriptions[0].Settings; s.Timeout.V != 30*time.Second || s.Concurrency.V != 8 || c.Events[1].Settings.Timeout.V != time.Minute {
			t.Errorf("%+v", s)
		}
		return
	}
	t.Error("there is none")
}

func FuzzOverlay(f *testing.F) {
	for _, text := range []string{"defaults: { timeout: 1m }", "limits: { bank: { rate: 10 per 1m, burst: 1 } }", "events: { order.placed: { subscriptions: { receipt: {} } } }", "policies: { order.*: { batch: { size: 2 } } }", "subscriptions: { audit: { redrive: {} } }"} {
		f.Add("version: 1\n" + text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, findings := parse.TextWith(parse.Memory{}, "events.yaml", []byte(underOverlays), parse.Overlay{File: "a.yaml", Text: []byte(text)})
		if (c == nil) != (len(findings) > 0) {
			t.Errorf("a catalogue: %v, findings: %v", c != nil, findings)
		}
	})
}
