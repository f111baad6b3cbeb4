package tuning_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/tuning"
)

const defaultDelay = "base_delay: 1s  "

func TestANewScheduleAppliesFromTheNextFailureOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.edit("jitter: 0.2 ", "jitter: 0 ", defaultDelay, "base_delay: 10s ")
		_, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		times := f.failing()
		time.Sleep(time.Second)
		f.edit("jitter: 0.2 ", "jitter: 0 ", defaultDelay, "base_delay: 1m ", "    max_attempts: 3\n    backoff: exponential", "    max_attempts: 5\n    backoff: linear")
		_, err = tuning.Apply(f.bus, f.path)
		f.must(err)
		f.must(f.bus.WaitIdle(t.Context()))
		// The retry that waited keeps its time; linear delays of 2, 3 and 4 times a minute follow.
		want := []time.Duration{0, 10 * time.Second, 130 * time.Second, 310 * time.Second, 550 * time.Second}
		if diff := cmp.Diff(want, times()); diff != "" {
			t.Errorf("executions (-want +got):\n%s", diff)
		}
	})
}

func TestAnUnchangedFileTunesNothingAndNeedsNoBuild(t *testing.T) {
	f := newFixture(t)
	report, err := tuning.Apply(f.bus, f.path)
	f.must(err)
	if diff := cmp.Diff(tuning.Report{}, report); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTunedTypesAndSubscriptionsAreReported(t *testing.T) {
	for edit, want := range map[string]string{
		"priority: high\n    timeout: 2s>priority: high\n    timeout: 3s":   "ui.command.cart_changed ui.command.checkout_submitted",
		"slow_after: 4m>slow_after: off":                                    "ml.run.started ml.run.finished ml.run.failed",
		"slow_after: 4m>slow_event_after: off":                              "ml.run.started ml.run.finished ml.run.failed",
		"slow_after: 4m>hold_unknown: off":                                  "ml.run.started ml.run.finished ml.run.failed",
		"expires_after: 10s>expires_after: off":                             "ui.command.cart_changed ui.command.checkout_submitted",
		"breaker: off >breaker: { open_for: 1s }":                           "ui.command.cart_changed ui.command.checkout_submitted",
		"max_snoozes: 5>max_snoozes: 6":                                     "charge-card",
		"batch: { size: 100, wait: 200ms }>batch: { size: 100, wait: off }": "keep-books",
		"batch: { size: 100, wait: 200ms }>concurrency: 2":                  "keep-books",
		"text_too_long: permanent>text_too_long: { retry: {} }":             "print-gift-card",
		"[timeout, crash], every>[crash], every":                            "ml.run.started ml.run.finished ml.run.failed",
		"doc: Writes to the customer.>timeout: 1s":                          "send-receipt",
		"base_delay: 1m, max_delay: 12h>max_delay: 12h":                     "user.deletion_requested",
		"doc: A customer placed an order.>doc: Other.":                      "",
	} {
		f := newFixture(t)
		old, replacement, _ := strings.Cut(edit, ">")
		f.edit(old, replacement)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		if got := strings.Join(report.Tuned, " "); got != want || report.NeedsBuild != nil {
			t.Errorf("%s: tuned are %q, want %q; needing a build: %q", edit, got, want, report.NeedsBuild)
		}
	}
}

func TestAChangeOfCompiledCodeNeedsABuild(t *testing.T) {
	type difference struct{ place, text string }
	tests := []struct {
		old, replacement string
		want             []difference
	}{
		{"  order.shipped:\n", "  order.sent: {}\n  order.shipped:\n", []difference{
			{"order.sent: {}", "event type order.sent is new"},
		}},
		{"  order.cancelled:\n", "  order.canceled:\n", []difference{
			{"", "event type order.cancelled is gone"},
			{"order.canceled:", "event type order.canceled is new"},
		}},
		{"carrier:       { type: Carrier, doc: Who delivers", "carrier: { type: string, doc: Who delivers", []difference{
			{"order.shipped:\n", "event type order.shipped has another payload, partition key or dedupe key"},
		}},
		{"enum: [DHL, UPS, PostNL]", "enum: [DHL, UPS]", []difference{
			{"order.shipped:\n", "event type order.shipped has another payload, partition key or dedupe key"},
		}},
		{"partition_by: user_id\n    slow", "slow", []difference{
			{"user.deletion_requested:\n", "event type user.deletion_requested has another payload, partition key or dedupe key"},
		}},
		{"    dedupe_by: reference\n", "", []difference{
			{"payment.captured:\n", "event type payment.captured has another payload, partition key or dedupe key"},
		}},
		{"priority: high\n    payload", "payload", []difference{
			{"low\n    slow_after: off", "event type system.disk_filled has another priority"},
		}},
		{"priority: high\n    timeout", "timeout", []difference{
			{"", "event type ui.command.cart_changed has another priority"},
			{"", "event type ui.command.checkout_submitted has another priority"},
		}},
		{"      send-receipt:", "      send-invoice:", []difference{
			{"order.placed:\n", "subscription send-receipt of event type order.placed is no longer declared"},
			{"send-invoice:", "subscription send-invoice of event type order.placed is newly declared"},
		}},
		{"text_too_long: permanent", "text_too_long: permanent, smudged: permanent", []difference{
			{"smudged:", "error class smudged is new: no error is of this class before the program registers it"},
		}},
		{"{ type: uuid, doc: Identifies the order everywhere. }", "uuid", nil},
		{"  nightly-report:\n", "  report-of-the-day:\n", []difference{
			{"report-of-the-day:\n", "schedule report-of-the-day of event type report.requested is new"},
			{"report.requested:\n", "schedule nightly-report of event type report.requested is gone"},
		}},
		{`"0 3 * * *"`, `"0 4 * * *"`, []difference{{"nightly-report:\n", "schedule nightly-report of event type report.requested has other times"}}},
		{"time_zone: Europe/Berlin", "time_zone: Europe/Paris", []difference{{"nightly-report:\n", "schedule nightly-report of event type report.requested has other times"}}},
		{"missed: once ", "missed: skip ", []difference{{"nightly-report:\n", "schedule nightly-report of event type report.requested has another rule for missed times"}}},
		{"payload: { days: 1 }", "payload: { days: 7 }", []difference{{"nightly-report:\n", "schedule nightly-report of event type report.requested has another payload"}}},
		{"    doc: The sales of the day, for everybody who gets up early.\n", "", nil},
	}
	for _, tt := range tests {
		f := newFixture(t)
		f.edit(tt.old, tt.replacement)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		var want []string
		for _, d := range tt.want {
			want = append(want, f.at(d.place)+": "+d.text)
		}
		if diff := cmp.Diff(want, report.NeedsBuild); diff != "" {
			t.Errorf("%q for %q (-want +got):\n%s", tt.replacement, tt.old, diff)
		}
	}
}

func TestSettingsAreTunedAlthoughOtherChangesNeedABuild(t *testing.T) {
	f := newFixture(t)
	f.edit("max_snoozes: 5", "max_snoozes: 6", "  order.shipped:\n", "  order.sent: {}\n  order.shipped:\n")
	report, err := tuning.Apply(f.bus, f.path)
	f.must(err)
	if len(report.Tuned) != 1 || len(report.NeedsBuild) != 1 {
		t.Errorf("got %+v", report)
	}
}

func TestACatalogueWithFindingsTunesNothing(t *testing.T) {
	f := newFixture(t)
	f.edit("max_snoozes: 5", "max_snoozes: seldom", "jitter: 0.2 ", "jitter: 2  ")
	_, err := tuning.Apply(f.bus, f.path)
	var found *tuning.FindingsError
	if !errors.As(err, &found) {
		t.Fatalf("got %v", err)
	}
	want := &tuning.FindingsError{Path: f.path, Findings: []tuning.Finding{
		{f.at("2  "), "jitter of retry of defaults is 2; it must be between 0 and 0.5", "out-of-range"},
		{f.at("seldom"), `max_snoozes of subscription charge-card of event order.placed is "seldom", which is not allowed; write off or a whole number`, "unknown-value"},
	}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := err.Error(); !strings.Contains(text, "is not applied") || !strings.Contains(text, "\n"+f.at("seldom")+": max_snoozes of") {
		t.Errorf("the error reads\n%s", text)
	}
	if _, err := tuning.Apply(f.bus, filepath.Join(t.TempDir(), "nowhere.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a file: %v", err)
	}
}

func TestSettingsThatConflictWithOptionsOfASubscriptionAreRefused(t *testing.T) {
	f := newFixture(t)
	subscribe(f, "patient", runtime.WithRetry(retry.BaseDelay(4*time.Minute)))
	f.edit("max_delay: 5m ", "max_delay: 1m ")
	_, err := tuning.Apply(f.bus, f.path)
	if err == nil || !strings.Contains(err.Error(), f.path) || !strings.Contains(err.Error(), "patient") {
		t.Errorf("got %v", err)
	}
}

func TestATunedConcurrencyIsReported(t *testing.T) {
	f := newFixture(t)
	f.edit("max_snoozes: 5", "concurrency: 3")
	report, err := tuning.Apply(f.bus, f.path)
	f.must(err)
	if diff := cmp.Diff(tuning.Report{Tuned: []string{"charge-card"}}, report); diff != "" {
		t.Errorf("before the start (-want +got):\n%s", diff)
	}
	_, err = events.SubscribeOrderPlaced(f.bus, events.OnOrderPlacedChargeCard, func(context.Context, runtime.Event[events.OrderPlaced]) error { return nil })
	f.must(err)
	f.must(f.bus.Start(t.Context()))
	f.edit("max_snoozes: 5", "concurrency: 4")
	report, err = tuning.Apply(f.bus, f.path)
	f.must(err)
	want := tuning.Report{Tuned: []string{"charge-card"}, NeedsRestart: []string{"subscription charge-card has concurrency 3, and 4 after a restart"}}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("in a bus that runs (-want +got):\n%s", diff)
	}
}

func TestAnotherGroupOfASubscriptionNeedsABuild(t *testing.T) {
	f := newFixture(t)
	f.edit("max_snoozes: 5", "group: chain", "send-receipt: { doc", "send-receipt: { group: chain, timeout: 77s, doc")
	report, err := tuning.Apply(f.bus, f.path)
	f.must(err)
	want := []string{
		f.at("charge-card:") + ": subscription charge-card of event type order.placed is in group chain, and is by itself in the program",
		f.at("send-receipt:") + ": subscription send-receipt of event type order.placed is in group chain, and is by itself in the program",
	}
	if diff := cmp.Diff(want, report.NeedsBuild); diff != "" {
		t.Errorf("needs a build (-want +got):\n%s", diff)
	}
	if !slices.Contains(report.Tuned, "send-receipt") {
		t.Errorf("tuned %q", report.Tuned)
	}
}

func TestATunedStrictOrderIsReported(t *testing.T) {
	f := newFixture(t)
	_, err := events.SubscribeOrderPlaced(f.bus, events.OnOrderPlacedChargeCard, func(context.Context, runtime.Event[events.OrderPlaced]) error { return nil })
	f.must(err)
	apply := func(text string, want ...string) {
		t.Helper()
		f.edit("max_snoozes: 5", text)
		report, err := tuning.Apply(f.bus, f.path)
		f.must(err)
		if diff := cmp.Diff(want, report.NeedsRestart); diff != "" || len(report.Tuned) != 1 {
			t.Errorf("%s: tuned %q, needs a restart (-want +got):\n%s", text, report.Tuned, diff)
		}
	}
	apply("strict_order: true")
	f.must(f.bus.Start(t.Context()))
	apply("strict_order: true")
	apply("max_snoozes: 6", "subscription charge-card has a strict order, and none after a restart")
	f.must(f.bus.Tune(runtime.Tuning{})) // as it was built
}
