package parse_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
)

// listed writes settings as lines: key value line.
func listed(s catalog.Settings) (lines []string) {
	for _, setting := range s.List() {
		line := fmt.Sprintf("%s %v", setting.Key, setting.Value)
		if setting.Pos.Line > 0 {
			line += fmt.Sprint(" ", setting.Pos.Line)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSettingsAreListedInAFixedOrderWithTheirLines(t *testing.T) {
	c := parsed(t, steered)
	want := []string{
		"timeout 30s", "slow_after off 21", "slow_event_after 5m", "expires_after 24h 12", "hold_unknown 7d", "max_snoozes off 22",
		"retry.max_attempts 4", "retry.backoff exponential", "retry.base_delay 1s", "retry.max_delay 30s", "retry.multiplier 2", "retry.jitter 0.1",
		"breaker.threshold 0.25 5", "breaker.min_samples 20 23", "breaker.window 2m 5", "breaker.open_for 5s 23",
		"concurrency 1",
		"errors.bad_input as any other 26", "errors.unreachable permanent 27", "errors.card_declined permanent 17",
		"redrive.reasons [timeout crash] 6", "redrive.every 2h 6", "redrive.max 7 24",
		"priority normal",
	}
	if diff := cmp.Diff(want, listed(c.Events[0].Settings)); diff != "" {
		t.Errorf("order.placed (-want +got):\n%s", diff)
	}
	want = []string{
		"timeout 30s", "slow_after 5s 4", "slow_event_after 5m", "expires_after 24h 12", "hold_unknown 7d", "max_snoozes 10 13",
		"retry.max_attempts 4", "retry.backoff exponential", "retry.base_delay 1s", "retry.max_delay 30s", "retry.multiplier 2", "retry.jitter 0.1",
		"breaker off 14", "concurrency 1",
		"errors.card_declined permanent 17", "errors.unreachable.base_delay 10s 8", "errors.unreachable.jitter 0 18", "errors.bad_input permanent 9",
		"redrive off 15",
		"priority normal",
	}
	if diff := cmp.Diff(want, listed(c.Events[1].Settings)); diff != "" {
		t.Errorf("order.paid (-want +got):\n%s", diff)
	}
	if got := builtInBut(t, func(s *catalog.Settings) { s.Redrive.Off.V = false }).List(); got[len(got)-4].Value != "all" {
		t.Errorf("a redrive of all reasons is listed as %v", got[len(got)-4])
	}
}
