package examples_test

import (
	"testing"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/templates"
)

func TestTheGeneratedCodeIsWhatTheCatalogueSays(t *testing.T) {
	c, findings, err := catalog.Load("events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	files, err := templates.Files(c)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := emit.Compare("generated", files)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.UpToDate() {
		t.Errorf("examples/generated is stale: run go generate ./examples")
	}
}

// The budgets count executions, the first included.
func TestEveryFamilyOfEventsHasItsRetryBudget(t *testing.T) {
	budgets := []struct {
		pattern  string
		attempts int
		backoff  retry.Backoff
	}{
		{"order.*", 3, retry.Exponential},
		{"payment.*", 5, retry.Linear},
		{"user.registered", 3, retry.Exponential},
		{"user.email_changed", 3, retry.Exponential},
		{"user.deletion_requested", 10, retry.Exponential},
		{"ml.run.*", 5, retry.Exponential},
		{"ml.trial.*", 3, retry.Exponential},
		{"ui.command.*", 2, retry.None},
		{"system.*", 3, retry.Exponential},
	}
	for _, event := range events.Catalogue.Types() {
		found := false
		for _, want := range budgets {
			if !glob.MustParse(want.pattern).Match(event.Name()) {
				continue
			}
			found = true
			if got := event.Retry(); got.MaxAttempts != want.attempts || got.Backoff != want.backoff {
				t.Errorf("%s: %d attempts, %v; want %d, %v", event.Name(), got.MaxAttempts, got.Backoff, want.attempts, want.backoff)
			}
		}
		if !found {
			t.Errorf("%s has no budget in this test", event.Name())
		}
	}
}
