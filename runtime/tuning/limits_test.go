package tuning_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/tuning"
)

// nothing is a handler.
func nothing(context.Context, runtime.Event[events.OrderPlaced]) error { return nil }

// limitsOf returns the limits in force of a subscription.
func (f *fixture) limitsOf(name string) []runtime.LimitUse {
	f.Helper()
	for _, s := range f.bus.Stats().Subscriptions {
		if s.Name == name {
			return s.Settings[events.OrderPlacedType.Name()].Limits
		}
	}
	f.Fatalf("there is no subscription %s", name)
	return nil
}

func TestLimitsOfSubscriptionsAreTuned(t *testing.T) {
	for edit, want := range map[string][]runtime.LimitUse{
		"limits: [bank]":            {{Limit: "bank"}},
		"limits: [bank, mail]":      {{Limit: "bank"}, {Limit: "mail"}},
		"limits: [mail]":            {{Limit: "mail"}},
		"limits: off":               nil,
		"limits: []":                nil,
		"max_snoozes: 5":            nil,
		"limits: [{ limit: mail }]": {{Limit: "mail"}},
		"limits: [{ limit: bank }]": {{Limit: "bank"}},
	} {
		f := newFixture(t)
		_, err := events.SubscribeOrderPlaced(f.bus, events.OnOrderPlacedChargeCard, nothing)
		f.must(err)
		f.edit("limits: [bank]", edit)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		if report.NeedsBuild != nil || slices.Contains(report.Tuned, "charge-card") == cmp.Equal(want, []runtime.LimitUse{{Limit: "bank"}}) {
			t.Errorf("%s: %+v", edit, report)
		}
		if diff := cmp.Diff(want, f.limitsOf("charge-card")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", edit, diff)
		}
	}
}

// The rest of the settings is tuned all the same.
func TestALimitThatTheProgramDoesNotHaveNeedsABuild(t *testing.T) {
	for _, tt := range []struct {
		replacements []string
		place, text  string
	}{
		{[]string{"  bank: {", "  new: { at_once: 1 }\n  bank: {", "limits: [bank]", "timeout: 1s\n        limits: [bank, new]"}, "new: { at", "limit new is new"},
		{[]string{"limits: [bank]", "timeout: 1s\n        limits: [bank, { limit: mail, by: customer.email }]"}, "customer.email", "limit mail of subscription charge-card counts by customer.email"},
	} {
		f := newFixture(t)
		_, err := events.SubscribeOrderPlaced(f.bus, events.OnOrderPlacedChargeCard, nothing)
		f.must(err)
		f.edit(tt.replacements...)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		want := tuning.Report{Tuned: []string{"charge-card"}, NeedsBuild: []string{f.at(tt.place) + ": " + tt.text}}
		if diff := cmp.Diff(want, report); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]runtime.LimitUse{{Limit: "bank"}}, f.limitsOf("charge-card")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestAChangedLimitNeedsABuild(t *testing.T) {
	for edit, want := range map[string]string{
		"at_once: 4 }":                              "",
		"at_once: 5 }":                              "limit bank is another one",
		"at_once: 4, rate: 5 per 1s }":              "limit bank is another one",
		"at_once: 4, hold: event }":                 "limit bank is another one",
		"at_once: 4, wait: 5s }":                    "limit bank is another one",
		"at_once: 4, wait: 5s, lax: true }":         "limit bank is another one",
		"at_once: 4, hold: attempt, lax: false }":   "",
		"at_once: 4, go_name: Other }":              "",
		"at_once: 4, rate: 5 per 1s, burst: 3000 }": "limit bank is another one",
	} {
		f := newFixture(t)
		f.edit("at_once: 4 }", edit)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		var all []string
		if want != "" {
			all = []string{f.at("bank: {") + ": " + want}
		}
		if diff := cmp.Diff(tuning.Report{NeedsBuild: all}, report); diff != "" {
			t.Errorf("%s (-want +got):\n%s", edit, diff)
		}
	}
	f := newFixture(t)
	f.edit("  bank: {", "  cash: {", "limits: [bank]", "limits: [cash]")
	report, err := tuning.Apply(f.bus, f.path)
	f.must(err)
	want := tuning.Report{NeedsBuild: []string{f.path + ": limit bank is gone", f.at("cash: {") + ": limit cash is new"}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
