package parse

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/retry"
)

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
