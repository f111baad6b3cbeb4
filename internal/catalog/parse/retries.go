package parse

import (
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	retryKeys      = []string{"max_attempts", "max_retries", "backoff", "base_delay", "max_delay", "multiplier", "jitter"}
	delaySpan      = span{least: 0, most: retry.LimitDelay}
	multiplierSpan = limits{least: 1, most: retry.LimitMultiplier}
	jitterSpan     = limits{least: 0, most: retry.LimitJitter}
)

func builtinRetry() catalog.Retry {
	p := retry.Default()
	return catalog.Retry{
		MaxAttempts: catalog.Value[int]{V: p.MaxAttempts},
		Backoff:     catalog.Value[retry.Backoff]{V: p.Backoff},
		BaseDelay:   catalog.Value[time.Duration]{V: p.BaseDelay},
		MaxDelay:    catalog.Value[time.Duration]{V: p.MaxDelay},
		Multiplier:  catalog.Value[float64]{V: p.Multiplier},
		Jitter:      catalog.Value[float64]{V: p.Jitter},
	}
}

// retry reads what is written under a key `retry`.
func (r *Settings) retry(e entry, what string) catalog.Retry {
	o, _ := r.object(e.value, what, retryKeys...)
	return catalog.Retry{
		MaxAttempts: r.attempts(o),
		Backoff: oneOf(r.Reader, o, "backoff", retry.BackoffNames(), func(name string) (retry.Backoff, bool) {
			b, err := retry.ParseBackoff(name)
			return b, err == nil
		}),
		BaseDelay:  r.duration(o, "base_delay", delaySpan),
		MaxDelay:   r.duration(o, "max_delay", delaySpan),
		Multiplier: r.fraction(o, "multiplier", multiplierSpan),
		Jitter:     r.fraction(o, "jitter", jitterSpan),
	}
}

// attempts reads max_attempts, or max_retries, which does not count the first
// execution.
func (r *Settings) attempts(o object) catalog.Value[int] {
	attempts, hasAttempts := o.entries["max_attempts"]
	retries, hasRetries := o.entries["max_retries"]
	switch {
	case hasAttempts && hasRetries:
		first, second := attempts, retries
		if r.compare(r.position(retries.key), r.position(attempts.key)) < 0 {
			first, second = retries, attempts
		}
		r.report(r.place(second.key), rules.Conflict, "%s has max_attempts and max_retries", o.what).
			See(r.place(first.key), "%s is here", first.name).
			Hint = "keep one: max_attempts counts the first execution, max_retries does not"
		return catalog.Value[int]{}
	case hasRetries:
		v := r.count(retries, o.what, 0, retry.LimitAttempts-1, "it does not count the first execution")
		if v.Written() {
			v.V++
		}
		return v
	case hasAttempts:
		return r.count(attempts, o.what, 1, retry.LimitAttempts, "it counts executions including the first")
	}
	return catalog.Value[int]{}
}
