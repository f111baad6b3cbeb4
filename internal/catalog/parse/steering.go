package parse

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/breaker"
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

var (
	breakerKeys   = []string{"threshold", "min_samples", "window", "open_for"}
	windowSpan    = span{least: breaker.LeastWindow, most: breaker.LimitWindow}
	openForSpan   = span{least: breaker.LeastOpenFor, most: breaker.LimitOpenFor}
	thresholdSpan = limits{least: 0, most: 1, below: true}
)

// limitThrottle limits `failure_throttle`. A larger value would have no effect.
const limitThrottle = breaker.LimitSamples

func builtinBreaker() catalog.Breaker {
	p := breaker.Default()
	return catalog.Breaker{
		Off:        catalog.Value[bool]{V: p.Off},
		Threshold:  catalog.Value[float64]{V: p.Threshold},
		MinSamples: catalog.Value[int]{V: p.MinSamples},
		Window:     catalog.Value[time.Duration]{V: p.Window},
		OpenFor:    catalog.Value[time.Duration]{V: p.OpenFor},
	}
}

// breaker reads the thresholds, or the word that switches it off. Thresholds
// switch it on, should it be off where they are inherited.
func (r *Settings) breaker(settings object) catalog.Breaker {
	o, off := r.switchable(settings, "breaker", breakerKeys...)
	b := catalog.Breaker{Off: off}
	b.Threshold = r.fraction(o, "threshold", thresholdSpan)
	if e, ok := o.entries["min_samples"]; ok {
		b.MinSamples = r.count(e, o.what, 1, breaker.LimitSamples, "it counts events")
	}
	b.Window = r.duration(o, "window", windowSpan)
	b.OpenFor = r.duration(o, "open_for", openForSpan)
	return b
}

// limitBatch limits the events of a batch, as [runtime.WithBatch] does.
const limitBatch = 1000

var (
	batchKeys = []string{"size", "wait"}
	batchSpan = span{least: time.Millisecond, most: time.Hour, orOff: true}
)

// builtinBatch is what package runtime does if nothing is written.
func builtinBatch() catalog.Batch {
	return catalog.Batch{Size: catalog.Value[int]{V: 100}, Wait: catalog.Value[time.Duration]{V: 100 * time.Millisecond}}
}

// batch reads the size of batches and their wait.
func (r *Settings) batch(settings object) (b catalog.Batch) {
	e, ok := settings.entries["batch"]
	if !ok {
		return b
	}
	o, ok := r.object(e.value, "batch of "+settings.what, batchKeys...)
	if !ok {
		return b
	}
	if e, ok := o.entries["size"]; ok {
		b.Size = r.count(e, o.what, 1, limitBatch, "it is how many events a batch has at most")
	}
	b.Wait = r.duration(o, "wait", batchSpan)
	return b
}

var (
	redriveKeys  = []string{"reasons", "every", "max"}
	intervalSpan = span{least: time.Second, most: retry.LimitDelay}
)

// limitRedrives limits `max` of a redrive.
const limitRedrives = 1000

// RedriveReasons lists the words that `reasons` takes: why a delivery became a dead letter, and how its last
// attempt failed. They are those of runtime.Redrive.
func RedriveReasons() []string {
	return []string{
		"max_attempts", "permanent", "decode", "crash", "expired", "max_snoozes",
		"error", "panic", "goexit", "timeout", "interrupted",
	}
}

// redrive reads a mapping, which switches it on, or the word that switches it off.
func (r *Settings) redrive(settings object) catalog.Redrive {
	o, off := r.switchable(settings, "redrive", redriveKeys...)
	d := catalog.Redrive{Off: off}
	d.Reasons = r.reasons(o)
	d.Every = r.duration(o, "every", intervalSpan)
	if e, ok := o.entries["max"]; ok {
		d.Max = r.count(e, o.what, 1, limitRedrives, "it counts how often one dead letter is tried again by itself")
	}
	return d
}

func (r *Settings) reasons(o object) catalog.Value[[]string] {
	e, ok := o.entries["reasons"]
	if !ok {
		return catalog.Value[[]string]{}
	}
	what := "reasons of " + o.what
	if e.value.Kind != yaml.SequenceNode {
		r.wrongKind(e.value, what, "a list")
		return catalog.Value[[]string]{}
	}
	if len(e.value.Content) == 0 {
		r.report(r.place(e.value), rules.Reasons, "%s is an empty list", what).Hint = "list at least one reason, or remove the key: then all reasons count"
	}
	reasons := catalog.Value[[]string]{Pos: r.position(e.value)}
	first := map[string]*yaml.Node{}
	for _, item := range e.value.Content {
		text, ok := r.text(item, "one of "+what)
		switch {
		case !ok:
		case first[text.V] != nil:
			r.report(r.place(item), rules.Reasons, "%s names %s twice", what, diag.Label(text.V)).
				See(r.place(first[text.V]), "it is here")
		case !slices.Contains(RedriveReasons(), text.V):
			f := r.report(r.place(item), rules.UnknownValue, "%s has %q, which is not a reason", what, text.V)
			if f.Hint = diag.DidYouMean(text.V, RedriveReasons()); f.Hint == "" {
				f.Hint = "use one of " + strings.Join(RedriveReasons(), ", ")
			}
		default:
			first[text.V] = item
			reasons.V = append(reasons.V, text.V)
		}
	}
	return reasons
}
