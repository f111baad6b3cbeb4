package templates

import (
	"testing"
	"time"
)

func TestSettingsLeaveOutWhatIsOff(t *testing.T) {
	c := parsed(t, `
events:
  order.placed:
    slow_after: 5s
    slow_event_after: 10m
    expires_after: 2d
    max_snoozes: 60
    breaker: { threshold: 0.25, min_samples: 20, window: 5m, open_for: 1m30s }
    failure_throttle: 10
    errors:
      card_declined: permanent
      unreachable: { retry: { max_retries: 8, backoff: linear, base_delay: 10s, max_delay: 5m, multiplier: 1.5, jitter: 0 } }
      like_any_other: { retry: {} }
    redrive: { reasons: [timeout, crash], every: 1h, max: 3 }
  ping:
    slow_after: off
    slow_event_after: off
    max_snoozes: off
    breaker: off
    redrive: {}
`)
	emits(t, `
runtime.Settings{
	Retry:           retry.Policy{MaxAttempts: 4, Backoff: retry.Exponential, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.1},
	Timeout:         30 * time.Second,
	SlowAfter:       5 * time.Second,
	SlowEventAfter:  10 * time.Minute,
	ExpiresAfter:    48 * time.Hour,
	MaxSnoozes:      60,
	Breaker:         breaker.Policy{Threshold: 0.25, MinSamples: 20, Window: 5 * time.Minute, OpenFor: 90 * time.Second},
	FailureThrottle: 10,
	Errors: []runtime.ErrorRule{
		{Class: ErrorCardDeclined, Permanent: true},
		{Class: ErrorUnreachable, Retry: []retry.Option{retry.MaxAttempts(9), retry.WithBackoff(retry.Linear), retry.BaseDelay(10 * time.Second), retry.MaxDelay(5 * time.Minute), retry.Multiplier(1.5), retry.Jitter(0)}},
		{Class: ErrorLikeAnyOther},
	},
	Redrive: runtime.Redrive{Reasons: []string{"timeout", "crash"}, Every: time.Hour, Max: 3},
}
`, settings(c.Events[0].Settings))
	emits(t, `
runtime.Settings{
	Retry:          retry.Policy{MaxAttempts: 4, Backoff: retry.Exponential, BaseDelay: time.Second, MaxDelay: 30 * time.Second, Multiplier: 2, Jitter: 0.1},
	Timeout:        30 * time.Second,
	SlowEventAfter: runtime.Forever,
	Breaker:        breaker.Policy{Off: true, Threshold: 0.5, MinSamples: 4, Window: time.Minute, OpenFor: 30 * time.Second},
	Redrive:        runtime.Redrive{Every: time.Hour, Max: 3},
}
`, settings(c.Events[1].Settings))
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
