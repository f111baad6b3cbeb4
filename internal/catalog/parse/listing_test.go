package parse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/setting"
)

// listed writes settings as lines: key value line. It leaves out plain settings that are built in.
func listed(s catalog.Settings) (lines []string) {
	for _, one := range s.List() {
		line := fmt.Sprintf("%s %v", one.Key, one.Value)
		if one.Pos.Line > 0 {
			line += fmt.Sprint(" ", one.Pos.Line)
		} else if slices.ContainsFunc(setting.Plain, func(row *setting.Row) bool { return row.Key == one.Key }) {
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSettingsAreListedInAFixedOrderWithTheirLines(t *testing.T) {
	c := parsed(t, steered)
	want := []string{
		"priority normal", "slow_after off 21", "expires_after 24h 12", "max_snoozes off 22",
		"retry.max_attempts 4", "retry.backoff exponential", "retry.base_delay 1s", "retry.max_delay 30s", "retry.multiplier 2", "retry.jitter 0.1",
		"errors.bad_input as any other 26", "errors.unreachable permanent 27", "errors.card_declined permanent 17",
		"breaker.threshold 0.25 5", "breaker.min_samples 20 23", "breaker.window 2m 5", "breaker.open_for 5s 23",
		"redrive.reasons [timeout crash] 6", "redrive.every 2h 6", "redrive.max 7 24",
	}
	if diff := cmp.Diff(want, listed(c.Events[0].Settings)); diff != "" {
		t.Errorf("order.placed (-want +got):\n%s", diff)
	}
	want = []string{
		"priority normal", "slow_after 5s 4", "expires_after 24h 12", "max_snoozes 10 13",
		"retry.max_attempts 4", "retry.backoff exponential", "retry.base_delay 1s", "retry.max_delay 30s", "retry.multiplier 2", "retry.jitter 0.1",
		"errors.card_declined permanent 17", "errors.unreachable.base_delay 10s 8", "errors.unreachable.jitter 0 18", "errors.bad_input permanent 9",
		"breaker off 14",
		"redrive off 15",
	}
	if diff := cmp.Diff(want, listed(c.Events[1].Settings)); diff != "" {
		t.Errorf("order.paid (-want +got):\n%s", diff)
	}
	if got := builtInBut(t, func(s *catalog.Settings) { s.Redrive.Off.V = false }).List(); got[len(got)-3].Value != "all" {
		t.Errorf("a redrive of all reasons is listed as %v", got[len(got)-3])
	}
}
