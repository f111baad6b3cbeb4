package catalogue

import (
	"encoding/json"
	"strings"
	"testing"
)

// What an event does that fails alone is drawn, and what opens the breaker said.
func TestPolicyDrawsWhatTheBreakerDoesToALoneEvent(t *testing.T) {
	const head = "version: 1\npackage: events\nevents:\n  a.b:\n    retry: { max_attempts: 7, jitter: 0 }\n"
	for name, test := range map[string]struct {
		breaker string
		want    []string
		not     string
		alone   []float64
	}{
		"the built-in one never opens": {"", []string{
			"1 ─1s─ 2 ───2s─── 3 ─────4s───── 4 ───────8s─────── 5 ─────────16s───────── 6 ───────────30s─────────── 7 ✕",
			"A dead letter after 1m1s of waiting and 7 attempts",
			"The circuit breaker opens for 30s when more than 50% of at least 4 events within 1m have failed.",
			"one that fails alone does not open it.",
		}, "WITH BREAKER", []float64{0, 1, 3, 7, 15, 31, 61}},
		"one sample is enough": {"    breaker: { min_samples: 1, open_for: 10s }\n", []string{
			"WITH BREAKER", "      4     4s          7s           30s",
			"─10s─", "─16s─", "A dead letter after 1m26s of waiting and 7 attempts",
			"The circuit breaker opens for 10s when more than 50% of the events within 1m have failed, be it a single one",
		}, "─4s─", []float64{0, 10, 20, 30, 40, 56, 86}},
		"none": {"    breaker: off\n", []string{"No circuit breaker"}, "opens", []float64{0, 1, 3, 7, 15, 31, 61}},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, map[string]string{"events.yaml": head + test.breaker})
			t.Setenv("COLUMNS", "200")
			text := busgen(t, "policy").Stdout
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in\n%s", want, text)
				}
			}
			if strings.Contains(text, test.not) {
				t.Errorf("%q is in\n%s", test.not, text)
			}
			var objects []policyObject
			if err := json.Unmarshal([]byte(busgen(t, "policy --json").Stdout), &objects); err != nil {
				t.Fatal(err)
			}
			for i, want := range test.alone {
				if got := objects[0].Schedule[i].Alone; got != want {
					t.Errorf("attempt %d is made at %v, want %v", i+1, got, want)
				}
			}
		})
	}
}
