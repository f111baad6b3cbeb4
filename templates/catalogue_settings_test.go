package templates

import (
	"testing"
	"time"
)

func TestAnOverrideHasWhatIsWritten(t *testing.T) {
	c := parsed(t, `
limits: { bank: { at_once: 3 } }
events:
  order.placed:
    timeout: 1m
    slow_after: 5s
    slow_event_after: 10m
    hold_unknown: 2d
    expires_after: 2d
    max_snoozes: 60
    breaker: { threshold: 0.25, min_samples: 20, window: 5m, open_for: 1m30s }
    concurrency: 4
    strict_order: true
    batch: { size: 7, wait: off }
    limits: [bank]
    priority: normal
    errors:
      card_declined: permanent
      unreachable: { retry: { max_retries: 8, backoff: linear, base_delay: 10s, max_delay: 5m, multiplier: 1.5, jitter: 0 } }
      like_any_other: { retry: {} }
    redrive: { reasons: [timeout, crash], every: 1h, max: 3 }
    partition_by: id
    payload: { id: uuid }
  ping:
    timeout: off
    slow_after: off
    slow_event_after: off
    hold_unknown: off
    max_snoozes: off
    breaker: off
    redrive: {}
    limits: off
`)
	emits(t, `
declare.Override{
	Concurrency:    new(4),
	StrictOrder:    new(true),
	Timeout:        new(time.Minute),
	SlowAfter:      new(5 * time.Second),
	SlowEventAfter: new(10 * time.Minute),
	ExpiresAfter:   new(48 * time.Hour),
	HoldUnknown:    new(48 * time.Hour),
	MaxSnoozes:     new(60),
	Breaker:        []breaker.Option{breaker.On(), breaker.Threshold(0.25), breaker.MinSamples(20), breaker.Window(5 * time.Minute), breaker.OpenFor(90 * time.Second)},
	BatchSize:      new(7),
	BatchWait:      new(time.Duration(0)),
	Limits:         []declare.LimitUse{{Limit: "bank"}},
	Errors: []declare.ErrorRule{
		{Class: "card_declined", Permanent: true},
		{Class: "unreachable", Retry: []retry.Option{retry.MaxAttempts(9), retry.WithBackoff(retry.Linear), retry.BaseDelay(10 * time.Second), retry.MaxDelay(5 * time.Minute), retry.Multiplier(1.5), retry.Jitter(0)}},
		{Class: "like_any_other"},
	},
	Redrive: declare.RedriveOverride{Off: new(false), Reasons: []string{"timeout", "crash"}, Every: new(time.Hour), Max: new(3)},
}
`, override(c.Events[0].Own))
	emits(t, `
declare.Override{
	Timeout:        new(time.Duration(0)),
	SlowAfter:      new(time.Duration(0)),
	SlowEventAfter: new(runtime.Forever),
	HoldUnknown:    new(time.Duration(0)),
	MaxSnoozes:     new(0),
	Breaker:        []breaker.Option{breaker.Off()},
	Limits:         []declare.LimitUse{},
	Redrive:        declare.RedriveOverride{Off: new(false)},
}
`, override(c.Events[1].Own))
}

func TestDefaultsAndPoliciesAreWrittenOnce(t *testing.T) {
	c := parsed(t, `
defaults: { timeout: 20s }
policies:
  order.*: { retry: { max_attempts: 6 } }
  "*": { priority: low }
events:
  order.placed: {}
`)
	emits(t, `
// catalogueSettings are the settings that events share: the defaults, and those
// of policies. A policy overrides the defaults, a more specific policy a less
// specific one, and an event overrides all of them, field by field.
var catalogueSettings = bind.CatalogueSettings{
	Defaults: declare.Override{
		Timeout: new(20 * time.Second),
	},
	Policies: []bind.Policy{
		{
			Pattern: "order.*",
			Settings: declare.Override{
				Retry: []retry.Option{retry.MaxAttempts(6)},
			},
		},
		{
			Pattern:  "*",
			Priority: new(runtime.PriorityLow),
		},
	},
}
`, shared(c))
	emits(t, `
// catalogueSettings are the settings that events share: the defaults, and those
// of policies. A policy overrides the defaults, a more specific policy a less
// specific one, and an event overrides all of them, field by field.
var catalogueSettings = bind.CatalogueSettings{}
`, shared(parsed(t, "events: { e: { timeout: 1s } }\n")))
	if got := shared(parsed(t, "types: { T: { enum: [a] } }\n")); got != nil {
		t.Error("a package without events has settings that they share")
	}
}

func TestErrorClassesAreConstants(t *testing.T) {
	c := parsed(t, `
defaults: { errors: { unreachable: { retry: {} } } }
events:
  order.placed: { errors: { card_declined: permanent, unreachable: permanent } }
`)
	emits(t, `
// The error classes for which the catalogue has rules. Register each with
// [runtime.WithErrorClass], which says which errors belong to it: without that,
// its rules never apply.
const (
	ErrorUnreachable  string = "unreachable"
	ErrorCardDeclined string = "card_declined"
)
`, errorClasses(c))
}

func TestDurationsAreWrittenInTheirLargestWholeUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                       "0",
		1:                       "time.Nanosecond",
		1500:                    "1500 * time.Nanosecond",
		20 * time.Microsecond:   "20 * time.Microsecond",
		1500 * time.Millisecond: "1500 * time.Millisecond",
		time.Second:             "time.Second",
		90 * time.Second:        "90 * time.Second",
		5 * time.Minute:         "5 * time.Minute",
		90 * time.Minute:        "90 * time.Minute",
		30 * 24 * time.Hour:     "720 * time.Hour",
	} {
		emits(t, want, duration(d))
	}
}
