package settings

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

var (
	retryKeys      = []string{"max_attempts", "max_retries", "backoff", "base_delay", "max_delay", "multiplier", "jitter"}
	delaySpan      = text.Span{Least: 0, Most: retry.LimitDelay}
	multiplierSpan = text.Bounds{Least: 1, Most: retry.LimitMultiplier}
	jitterSpan     = text.Bounds{Least: 0, Most: retry.LimitJitter}
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
func (r *Settings) retry(e text.Entry, what string) catalog.Retry {
	o, _ := r.Object(e.Value, what, retryKeys...)
	return catalog.Retry{
		MaxAttempts: r.attempts(o),
		Backoff: text.OneOf(r.Reader, o, "backoff", retry.BackoffNames(), func(name string) (retry.Backoff, bool) {
			b, err := retry.ParseBackoff(name)
			return b, err == nil
		}),
		BaseDelay:  r.Duration(o, "base_delay", delaySpan),
		MaxDelay:   r.Duration(o, "max_delay", delaySpan),
		Multiplier: r.Fraction(o, "multiplier", multiplierSpan),
		Jitter:     r.Fraction(o, "jitter", jitterSpan),
	}
}

// attempts reads max_attempts, or max_retries, which does not count the first execution.
func (r *Settings) attempts(o text.Object) catalog.Value[int] {
	attempts, hasAttempts := o.Entries["max_attempts"]
	retries, hasRetries := o.Entries["max_retries"]
	switch {
	case hasAttempts && hasRetries:
		first, second := attempts, retries
		if r.Compare(r.Position(retries.Key), r.Position(attempts.Key)) < 0 {
			first, second = retries, attempts
		}
		r.Report(r.Place(second.Key), rules.Conflict, "%s has max_attempts and max_retries", o.What).
			See(r.Place(first.Key), "%s is here", first.Name).
			Hint = "keep one: max_attempts counts the first execution, max_retries does not"
		return catalog.Value[int]{}
	case hasRetries:
		v := r.Count(o, "max_retries", 0, retry.LimitAttempts-1, "it does not count the first execution")
		if v.Written() {
			v.V++
		}
		return v
	default:
		return r.Count(o, "max_attempts", 1, retry.LimitAttempts, "it counts executions including the first")
	}
}

var (
	breakerKeys   = []string{"threshold", "min_samples", "window", "open_for", "by"}
	windowSpan    = text.Span{Least: breaker.LeastWindow, Most: breaker.LimitWindow}
	openForSpan   = text.Span{Least: breaker.LeastOpenFor, Most: breaker.LimitOpenFor}
	thresholdSpan = text.Bounds{Least: 0, Most: 1, Below: true}
)

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
func (r *Settings) breaker(settings text.Object) catalog.Breaker {
	o, off := r.Switchable(settings, "breaker", breakerKeys...)
	b := catalog.Breaker{Off: off}
	b.Threshold = r.Fraction(o, "threshold", thresholdSpan)
	b.MinSamples = r.Count(o, "min_samples", 1, breaker.LimitSamples, "it counts events")
	b.Window = r.Duration(o, "window", windowSpan)
	b.OpenFor = r.Duration(o, "open_for", openForSpan)
	if e, ok := o.Entries["by"]; ok {
		b.By, _ = r.Text(e.Value, "by of "+o.What)
	}
	return b
}

// limitBatch limits the events of a batch, as [runtime.WithBatch] does.
const limitBatch = 1000

var (
	batchKeys = []string{"size", "wait"}
	batchSpan = text.Span{Least: time.Millisecond, Most: time.Hour, OrOff: true}
)

// builtinBatch is what package runtime does if nothing is written.
func builtinBatch() catalog.Batch {
	return catalog.Batch{
		Size: catalog.Value[int]{V: 100},
		Wait: catalog.Value[time.Duration]{V: 100 * time.Millisecond},
	}
}

// batch reads the size of batches and their wait.
func (r *Settings) batch(settings text.Object) (b catalog.Batch) {
	e, ok := settings.Entries["batch"]
	if !ok {
		return b
	}
	o, ok := r.Object(e.Value, "batch of "+settings.What, batchKeys...)
	if !ok {
		return b
	}
	b.Size = r.Count(o, "size", 1, limitBatch, "it is how many events a batch has at most")
	b.Wait = r.Duration(o, "wait", batchSpan)
	return b
}

var (
	redriveKeys  = []string{"reasons", "every", "max"}
	intervalSpan = text.Span{Least: time.Second, Most: retry.LimitDelay}
)

// limitRedrives limits `max` of a redrive.
const limitRedrives = 1000

// RedriveReasons lists the words that `reasons` takes: why a delivery became a dead letter, and how its last
// attempt failed. They are those of declare.Redrive.
func RedriveReasons() []string {
	return []string{
		"max_attempts", "permanent", "decode", "crash", "expired", "max_snoozes", "max_steps", "undo",
		"error", "panic", "goexit", "timeout", "interrupted",
	}
}

// redrive reads a mapping, which switches it on, or the word that switches it off.
func (r *Settings) redrive(settings text.Object) catalog.Redrive {
	o, off := r.Switchable(settings, "redrive", redriveKeys...)
	d := catalog.Redrive{Off: off}
	d.Reasons = r.reasons(o)
	d.Every = r.Duration(o, "every", intervalSpan)
	d.Max = r.Count(o, "max", 1, limitRedrives, "it counts how often one dead letter is tried again by itself")
	return d
}

func (r *Settings) reasons(o text.Object) catalog.Value[[]string] {
	e, ok := o.Entries["reasons"]
	if !ok {
		return catalog.Value[[]string]{}
	}
	what := "reasons of " + o.What
	if e.Value.Kind != yaml.SequenceNode {
		r.WrongKind(e.Value, what, "a list")
		return catalog.Value[[]string]{}
	}
	if len(e.Value.Content) == 0 {
		r.Report(r.Place(e.Value), rules.Reasons, "%s is an empty list", what).Hint = "list at least one reason, or remove the key: then all reasons count"
	}
	reasons := catalog.Value[[]string]{Pos: r.Position(e.Value)}
	first := map[string]*yaml.Node{}
	for _, item := range e.Value.Content {
		text, ok := r.Text(item, "one of "+what)
		switch {
		case !ok:
		case first[text.V] != nil:
			r.Report(r.Place(item), rules.Reasons, "%s names %s twice", what, diag.Label(text.V)).
				See(r.Place(first[text.V]), "it is here")
		case !slices.Contains(RedriveReasons(), text.V):
			f := r.Report(r.Place(item), rules.UnknownValue, "%s has %q, which is not a reason", what, text.V)
			f.Hint = cmp.Or(diag.DidYouMean(text.V, RedriveReasons()), "use one of "+strings.Join(RedriveReasons(), ", "))
		default:
			first[text.V] = item
			reasons.V = append(reasons.V, text.V)
		}
	}
	return reasons
}

// className matches error classes: a class must make a Go constant.
var className = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// errorRules reads `errors:`, in file order.
func (r *Settings) errorRules(settings text.Object) []*catalog.ErrorRule {
	var all []*catalog.ErrorRule
	for _, e := range r.MappingOf(settings, "errors") {
		what := "error class " + diag.Label(e.Name) + " of " + settings.What
		rule := r.errorRule(e, what)
		if !className.MatchString(e.Name) {
			r.Report(r.Place(e.Key), rules.BadName, "%s does not have a valid name", what).
				Hint = "begin with a lower-case letter and go on with lower-case letters, digits and single _ between them, as in card_declined"
			continue
		}
		r.declareClass(rule)
		all = append(all, rule)
	}
	return all
}

func (r *Settings) errorRule(e text.Entry, what string) *catalog.ErrorRule {
	class := catalog.Value[string]{V: e.Name, Pos: r.Position(e.Key)}
	rule := &catalog.ErrorRule{Class: class, GoName: "Error" + r.names.GoName(e.Name)}
	rule.Permanent = catalog.Value[bool]{Pos: r.Position(e.Value)}
	n := e.Value
	switch {
	case n.Kind == yaml.MappingNode:
		o, _ := r.Object(n, what, "retry")
		if retry, ok := r.Required(o, "retry", "write permanent, or retry with what is different for these errors"); ok {
			rule.Retry = r.retry(retry, "retry of "+what)
		}
	case n.ShortTag() == "!!str" && n.Value == catalog.Permanent:
		rule.Permanent.V = true
	case n.ShortTag() == "!!str":
		f := r.Report(r.Place(n), rules.UnknownValue, "%s is %q, which is not allowed", what, n.Value)
		f.Hint = cmp.Or(diag.DidYouMean(n.Value, []string{catalog.Permanent}), "write permanent, or a mapping with retry")
	default:
		r.WrongKind(n, what, "permanent or a mapping")
	}
	return rule
}

// declareClass records a class with the first place that names it.
func (r *Settings) declareClass(rule *catalog.ErrorRule) {
	i := slices.IndexFunc(r.classes, func(c *catalog.ErrorClass) bool { return c.Name.V == rule.Class.V })
	switch {
	case i < 0:
		r.classes = append(r.classes, &catalog.ErrorClass{Name: rule.Class, GoName: rule.GoName})
	case r.Compare(rule.Class.Pos, r.classes[i].Name.Pos) < 0:
		r.classes[i].Name.Pos = rule.Class.Pos
	}
}

// ErrorClasses returns all classes in the order in which they are named.
func (r *Settings) ErrorClasses() []*catalog.ErrorClass {
	slices.SortFunc(r.classes, func(a, b *catalog.ErrorClass) int { return r.Compare(a.Name.Pos, b.Name.Pos) })
	return r.classes
}
