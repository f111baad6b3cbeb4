package tuning_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/tuning"
)

// nothing is a handler.
func nothing(context.Context, runtime.Event[events.OrderPlaced]) error { return nil }

// limitsOf returns the limits in force of a subscription.
func (f *fixture) limitsOf(name string) []declare.LimitUse {
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
	for edit, want := range map[string][]declare.LimitUse{
		"limits: [bank]":            {{Limit: "bank"}},
		"limits: [bank, mail]":      {{Limit: "bank"}, {Limit: "mail"}},
		"limits: [mail]":            {{Limit: "mail"}},
		"limits: off":               nil,
		"limits: []":                nil,
		"slow_after: 5s":            nil,
		"limits: [{ limit: mail }]": {{Limit: "mail"}},
		"limits: [{ limit: bank }]": {{Limit: "bank"}},
	} {
		f := newFixture(t)
		_, err := events.SubscribeOrderPlaced(f.bus, events.OnOrderPlacedChargeCard, nothing)
		f.must(err)
		f.edit("limits: [bank]", edit)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		if report.NeedsBuild != nil || slices.Contains(report.Tuned, "charge-card") == cmp.Equal(want, []declare.LimitUse{{Limit: "bank"}}) {
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
		if diff := cmp.Diff([]declare.LimitUse{{Limit: "bank"}}, f.limitsOf("charge-card")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestTheNumbersOfALimitAreTuned(t *testing.T) {
	for edit, want := range map[string]struct {
		tuned []string
		build string
	}{
		"at_once: 4 }":                 {},
		"at_once: 4, go_name: Other }": {},
		"at_once: 5 }":                 {tuned: []string{"limit bank"}},
		"rate: 5 per 1s }":             {build: "has no at_once, but one in the program"},
		"at_once: 4, rate: 5 per 1s }": {build: "has a rate, and none in the program"},
	} {
		f := newFixture(t)
		f.edit("at_once: 4 }", edit)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		all := tuning.Report{Tuned: want.tuned}
		if want.build != "" {
			all.NeedsBuild = []string{f.at("bank: {") + ": limit bank " + want.build}
		}
		if diff := cmp.Diff(all, report); diff != "" {
			t.Errorf("%s (-want +got):\n%s", edit, diff)
		}
	}
}

// The bank has room for four in the program.
func TestTheWatcherTunesALimitOfTheRunningBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.watch()
		bank, err := f.bus.Limiter(events.LimitBank)
		f.must(err)
		var begun atomic.Int32
		for range 9 {
			go bank.Do(t.Context(), func(ctx context.Context) error { begun.Add(1); <-ctx.Done(); return nil })
		}
		for _, tt := range []struct {
			edit string
			want int32
		}{{"at_once: 4 }", 4}, {"at_once: 6 }", 6}, {"at_once: 5 }", 6}, {"at_once: 8 }", 8}} {
			f.edit("at_once: 4 }", tt.edit)
			time.Sleep(2 * time.Second)
			if n := begun.Load(); n != tt.want {
				t.Errorf("with %s %d have begun, want %d", tt.edit, n, tt.want)
			}
		}
		f.wantLog("INFO limit bank", "INFO limit bank", "INFO limit bank")
	})
}

func TestALimitThatIsNewOrGoneNeedsABuild(t *testing.T) {
	f := newFixture(t)
	f.edit("  bank: {", "  cash: {", "limits: [bank]", "limits: [cash]")
	report, err := tuning.Apply(f.bus, f.path)
	f.must(err)
	want := tuning.Report{NeedsBuild: []string{f.path + ": limit bank is gone", f.at("cash: {") + ": limit cash is new"}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
