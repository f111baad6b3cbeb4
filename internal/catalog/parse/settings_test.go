package parse_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/settings"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// steered sets everything that is not a plain number of the retry policy, in
// several places.
const steered = `version: 1
package: events
defaults:
  slow_after: 5s
  breaker: { threshold: 0.25, window: 2m }
  redrive: { reasons: [timeout, crash], every: 2h }
  errors:
    unreachable: { retry: { base_delay: 10s } }
    bad_input: permanent
policies:
  order.*:
    expires_after: 1d
    max_snoozes: 10
    breaker: off
    redrive: off
    errors:
      card_declined: permanent
      unreachable: { retry: { jitter: 0 } }
events:
  order.placed:
    slow_after: off
    max_snoozes: off
    breaker: { min_samples: 20, open_for: 5s }
    redrive: { max: 7 }
    errors:
      bad_input: { retry: {} }
      unreachable: permanent
    subscriptions:
      charge-card:
        expires_after: off
        redrive: { reasons: [panic] }
        errors: { unreachable: { retry: { max_attempts: 9 } } }
  order.paid: {}
  user.created: {}
`

func TestTheBuiltInSettingsAreThoseOfTheRuntime(t *testing.T) {
	want := catalog.BuiltinPlain() // which TestTheReferenceShowsTheDefaultsOfSettings knows by number
	want.Retry = catalog.Retry{
		MaxAttempts: catalog.Value[int]{V: 4},
		Backoff:     catalog.Value[retry.Backoff]{V: retry.Exponential},
		BaseDelay:   catalog.Value[time.Duration]{V: time.Second},
		MaxDelay:    catalog.Value[time.Duration]{V: 30 * time.Second},
		Multiplier:  catalog.Value[float64]{V: 2},
		Jitter:      catalog.Value[float64]{V: 0.1},
	}
	want.Breaker = catalog.Breaker{
		Threshold:  catalog.Value[float64]{V: 0.5},
		MinSamples: catalog.Value[int]{V: 4},
		Window:     catalog.Value[time.Duration]{V: time.Minute},
		OpenFor:    catalog.Value[time.Duration]{V: 30 * time.Second},
	}
	want.Batch = catalog.Batch{Size: catalog.Value[int]{V: 100}, Wait: catalog.Value[time.Duration]{V: 100 * time.Millisecond}}
	want.Redrive = catalog.Redrive{
		Off:   catalog.Value[bool]{V: true},
		Every: catalog.Value[time.Duration]{V: time.Hour},
		Max:   catalog.Value[int]{V: 3},
	}
	got := builtInBut(t, func(*catalog.Settings) {})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings of an event without any (-want +got):\n%s", diff)
	}
	d := declare.DefaultSettings()
	if got.Policy() != d.Retry || got.Breaker.Policy() != d.Breaker || got.Timeout.V != d.Timeout || got.SlowAfter.V != d.SlowAfter ||
		got.ExpiresAfter.V != d.ExpiresAfter || got.MaxSnoozes.V != d.MaxSnoozes || d.Errors != nil || d.Redrive.Every != 0 {
		t.Errorf("they are not those of the runtime: %+v", d)
	}
}

func TestTheLimitOfSnoozesIsInheritedAndCanBeSwitchedOff(t *testing.T) {
	c := parsed(t, `version: 1
package: events
defaults: { max_snoozes: 50 }
policies: { order.*: { max_snoozes: off } }
events:
  order.placed: { subscriptions: { ship: { max_snoozes: 7 }, bill: {} } }
  user.created: {}
`)
	placed := c.Events[0]
	for i, want := range map[*catalog.Settings]int{
		&placed.Settings: 0, &placed.Subscriptions[0].Settings: 7, &placed.Subscriptions[1].Settings: 0, &c.Events[1].Settings: 50,
	} {
		if i.MaxSnoozes.V != want {
			t.Errorf("the limit is %d, want %d", i.MaxSnoozes.V, want)
		}
	}
}

func TestASettingThatIsOffStaysOffUntilItIsSetAgain(t *testing.T) {
	c := parsed(t, steered)
	placed, paid, created := c.Events[0].Settings, c.Events[1].Settings, c.Events[2].Settings
	type row struct {
		SlowAfter, ExpiresAfter time.Duration
		MaxSnoozes              int
		Breaker                 breaker.Policy
		Redrive                 string
	}
	rowOf := func(s catalog.Settings) row {
		redrive := "off"
		if !s.Redrive.Off.V {
			redrive = fmt.Sprintf("%v every %v, %d times", s.Redrive.Reasons.V, s.Redrive.Every.V, s.Redrive.Max.V)
		}
		return row{s.SlowAfter.V, s.ExpiresAfter.V, s.MaxSnoozes.V, s.Breaker.Policy(), redrive}
	}
	quarter := breaker.Default().With(breaker.Threshold(0.25), breaker.Window(2*time.Minute))
	for _, tt := range []struct {
		name string
		got  catalog.Settings
		want row
	}{
		{"a subscription, over an event that switches on again", c.Events[0].Subscriptions[0].Settings,
			row{0, 0, 0, quarter.With(breaker.MinSamples(20), breaker.OpenFor(5*time.Second)), "[panic] every 2h0m0s, 7 times"}},
		{"an event over a policy that switches off", placed,
			row{0, 24 * time.Hour, 0, quarter.With(breaker.MinSamples(20), breaker.OpenFor(5*time.Second)), "[timeout crash] every 2h0m0s, 7 times"}},
		{"a policy over the defaults", paid, row{5 * time.Second, 24 * time.Hour, 10, breaker.Policy{Off: true}, "off"}},
		{"the defaults", created, row{5 * time.Second, 0, 10_000, quarter, "[timeout crash] every 2h0m0s, 3 times"}},
	} {
		got := rowOf(tt.got)
		if got.Breaker.Off && tt.want.Breaker.Off {
			got.Breaker, tt.want.Breaker = breaker.Policy{}, breaker.Policy{}
		}
		if got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
	for name, pos := range map[string]diag.Position{
		"breaker off":               paid.Breaker.Off.Pos,
		"breaker on":                placed.Breaker.Off.Pos,
		"threshold":                 placed.Breaker.Threshold.Pos,
		"redrive off":               paid.Redrive.Off.Pos,
		"reasons":                   placed.Redrive.Reasons.Pos,
		"slow_after off":            placed.SlowAfter.Pos,
		"max_snoozes of the policy": paid.MaxSnoozes.Pos,
		"expires_after, switched":   c.Events[0].Subscriptions[0].Settings.ExpiresAfter.Pos,
	} {
		want := map[string]diag.Position{
			"breaker off": at(14, 14), "breaker on": at(23, 14), "threshold": at(5, 25), "redrive off": at(15, 14), "reasons": at(6, 23),
			"slow_after off": at(21, 17), "max_snoozes of the policy": at(13, 18), "expires_after, switched": at(30, 24),
		}[name]
		if pos != want {
			t.Errorf("%s is at %v, want %v", name, pos, want)
		}
	}
}

func TestErrorClassesAreInheritedOneByOneTheMostSpecificFirst(t *testing.T) {
	c := parsed(t, steered)
	words := func(s catalog.Settings) (all []string) {
		for _, rule := range s.Errors {
			text := rule.Class.V + " permanent"
			if !rule.Permanent.V {
				text = fmt.Sprintf("%s %+v", rule.Class.V, retry.Policy{}.With(rule.Retry.Options()...))
			}
			all = append(all, text)
		}
		return all
	}
	with := func(opts ...retry.Option) string { return fmt.Sprintf(" %+v", retry.Policy{}.With(opts...)) }
	for name, tt := range map[string]struct{ got, want []string }{
		"the defaults": {words(c.Events[2].Settings), []string{
			"unreachable" + with(retry.BaseDelay(10*time.Second)), "bad_input permanent"}},
		"a policy": {words(c.Events[1].Settings), []string{
			"card_declined permanent", "unreachable" + with(retry.BaseDelay(10*time.Second), retry.Jitter(0)), "bad_input permanent"}},
		"an event": {words(c.Events[0].Settings), []string{
			"bad_input" + with(), "unreachable permanent", "card_declined permanent"}},
		"a subscription, over a rule that is permanent": {words(c.Events[0].Subscriptions[0].Settings), []string{
			"unreachable" + with(retry.MaxAttempts(9)), "bad_input" + with(), "card_declined permanent"}},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	merged := c.Events[1].Settings.Errors[1].Retry
	if merged.BaseDelay.Pos != at(8, 41) || merged.Jitter.Pos != at(18, 39) || merged.MaxAttempts.Pos != (diag.Position{}) {
		t.Errorf("the rule of unreachable comes from %v, %v and %v", merged.BaseDelay.Pos, merged.Jitter.Pos, merged.MaxAttempts.Pos)
	}
}

func TestAnErrorClassIsAConstantWhereverItIsNamedFirst(t *testing.T) {
	c := parsed(t, steered)
	var got []string
	for _, class := range c.ErrorClasses {
		got = append(got, fmt.Sprintf("%s %s %v", class.Name.V, class.GoName, class.Name.Pos))
	}
	want := []string{
		"unreachable ErrorUnreachable shop.yaml:8:5",
		"bad_input ErrorBadInput shop.yaml:9:5",
		"card_declined ErrorCardDeclined shop.yaml:17:7",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("error classes (-want +got):\n%s", diff)
	}
}

func TestReasonsAreThoseThatTheRuntimeKnows(t *testing.T) {
	s := declare.DefaultSettings()
	s.Redrive = declare.Redrive{Reasons: settings.RedriveReasons(), Every: time.Hour, Max: 1}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}
