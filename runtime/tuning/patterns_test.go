package tuning_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/tuning"
)

// The example's catalogue with a subscription for patterns more, as generated code declares it.
func withPattern(t *testing.T) (*runtime.Bus, string) {
	t.Helper()
	const name = "run-watcher"
	var types []runtime.Definition
	for _, t := range events.Catalogue.Types() {
		types = append(types, t)
	}
	catalogue := runtime.NewCatalogue(types...).WithLimits(events.Catalogue.Limits()...).
		WithSubscriptions(declare.PatternSubscription{Name: name, Patterns: []string{"ml.run.*"}, Own: declare.Override{
			Retry:   []retry.Option{retry.MaxAttempts(7)},
			Timeout: new(time.Minute),
			Errors:  []declare.ErrorRule{{Class: "rate_limited", Retry: []retry.Option{retry.BaseDelay(time.Minute)}}},
		}})
	bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "bus.db"), catalogue)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus, filepath.Join(t.TempDir(), "events.yaml")
}

const patternEntry = `
subscriptions:
  run-watcher: { pattern: ml.run.*, timeout: 1m, retry: { max_attempts: 7 }, errors: { rate_limited: { retry: { base_delay: 1m } } } }
`

func TestASubscriptionForAPatternIsTunedByTheFile(t *testing.T) {
	source, err := os.ReadFile("../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		old, new     string
		tuned, needs string
	}{
		"as it is":                        {"x", "x", "", ""},
		"another timeout":                 {"timeout: 1m", "timeout: 2m", "run-watcher", ""},
		"fewer settings":                  {", timeout: 1m", "", "run-watcher", ""},
		"another error":                   {"base_delay: 1m", "base_delay: 2m", "run-watcher", ""},
		"a breaker and a redrive":         {"timeout: 1m", "timeout: 1m, breaker: off, redrive: { max: 2 }, slow_event_after: off, limits: [bank]", "run-watcher", ""},
		"a limit by a field without code": {"timeout: 1m", "timeout: 1m, limits: [{ limit: bank, by: run_id }]", "", "limit bank of subscription run-watcher for ml.run.started counts by run_id"},
		"another pattern":                 {"pattern: ml.run.*", "pattern: ml.*", "", "subscription run-watcher is for ml.*, and for [ml.run.*] in the program"},
		"another name":                    {"run-watcher", "run-viewer", "", "subscription run-watcher is no longer declared; subscription run-viewer is newly declared"},
	} {
		t.Run(name, func(t *testing.T) {
			bus, path := withPattern(t)
			text := strings.Replace(string(source), "\ngroups:", patternEntry+"\ngroups:", 1)
			if test.old != "x" {
				text = strings.ReplaceAll(text, patternEntry, strings.ReplaceAll(patternEntry, test.old, test.new))
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			report, err := tuning.Apply(bus, path)
			if err != nil {
				t.Fatal(err)
			}
			var needs []string
			for _, line := range report.NeedsBuild {
				needs = append(needs, line[strings.Index(line, ": ")+2:])
			}
			if diff := cmp.Diff([]string{test.tuned, test.needs}, []string{strings.Join(report.Tuned, " "), strings.Join(needs, "; ")}); diff != "" {
				t.Errorf("tuned, and needing a build (-want +got):\n%s", diff)
			}
		})
	}
}
