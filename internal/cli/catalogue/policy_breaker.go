package catalogue

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// An attempt is a step of a schedule, as it is for an event that is the only one
// and always fails. It waits longer than the policy says if a single event can
// open the circuit breaker.
type attempt struct {
	retry.Step
	wait time.Duration // since the attempt before
	at   time.Duration // since the first attempt
}

// attemptsOf returns the schedule of a policy.
func attemptsOf(s catalog.Settings, p retry.Policy) []attempt {
	b := breaker.New(s.Breaker.Policy())
	var all []attempt
	var failed, now time.Time
	for _, step := range p.Schedule() {
		now = now.Add(step.Delay)
		permit, ok := b.Acquire(now, 1)
		if !ok {
			now = b.Status(now).Until
			permit, _ = b.Acquire(now, 1)
		}
		all = append(all, attempt{step, now.Sub(failed), now.Sub(time.Time{})})
		permit.Failure(now, "")
		failed = now
	}
	return all
}

// opensAlone reports whether a single event can open the breaker.
func opensAlone(s catalog.Settings) bool { return !s.Breaker.Off.V && s.Breaker.MinSamples.V == 1 }

// breakerNotes says what the circuit breaker does with a handler that fails.
func breakerNotes(s catalog.Settings) []string {
	b := s.Breaker
	if b.Off.V {
		return []string{"No circuit breaker: attempts are made however many events fail."}
	}
	opens := fmt.Sprintf("The circuit breaker opens for %s when more than %.4g%% of ", catalog.Short(b.OpenFor.V), b.Threshold.V*100)
	window := catalog.Short(b.Window.V)
	if opensAlone(s) {
		whose := "no event of the subscription is handled"
		if b.By.Written() {
			whose = "no event with this " + b.By.V + " is handled by the subscription"
		}
		return []string{
			opens + fmt.Sprintf("the events %swithin %s have failed, be it a single one.", oneKey(b), window),
			"While it is open " + whose + "; retries wait, too.",
		}
	}
	return []string{
		opens + fmt.Sprintf("at least %d events %swithin %s have failed.", b.MinSamples.V, oneKey(b), window),
		"Each event counts once, by its latest attempt: one that fails alone does not open it.",
	}
}

// oneKey says which events have a breaker in common; empty for all.
func oneKey(b catalog.Breaker) string {
	if !b.By.Written() {
		return ""
	}
	return "of one " + b.By.V + " "
}
