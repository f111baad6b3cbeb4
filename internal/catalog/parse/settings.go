package parse

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/retry"
)

// The keys that say how events are delivered. They are the same in `defaults`,
// in a policy and in an event; a subscription has all but the last, which is
// about events among each other.
var (
	settingKeys      = append(slices.Clone(subscriptionKeys), "priority")
	subscriptionKeys = []string{"retry", "timeout", "slow_after", "slow_event_after", "expires_after", "hold_unknown", "max_snoozes", "breaker", "failure_throttle", "concurrency", "strict_order", "batch", "limits", "errors", "redrive"}
)

var (
	patience = span{least: time.Millisecond, most: retry.LimitDelay, orOff: true}
)

// builtin returns the settings of an event for which nothing is written.
func builtin() catalog.Settings {
	return catalog.Settings{
		Retry:          builtinRetry(),
		Timeout:        catalog.Value[time.Duration]{V: 30 * time.Second},
		SlowAfter:      catalog.Value[time.Duration]{V: 10 * time.Second},
		SlowEventAfter: catalog.Value[time.Duration]{V: 5 * time.Minute},
		HoldUnknown:    catalog.Value[time.Duration]{V: 7 * 24 * time.Hour},
		MaxSnoozes:     catalog.Value[int]{V: 10_000},
		Breaker:        builtinBreaker(),
		Concurrency:    catalog.Value[int]{V: 1},
		Batch:          builtinBatch(),
		Redrive:        catalog.BuiltinRedrive(),
		Priority:       catalog.Value[catalog.Priority]{V: catalog.Normal},
	}
}

// settings reads the settings that are written in o. The others stay zero, without a position.
func (r *reader) settings(o object) catalog.Settings {
	var s catalog.Settings
	if e, ok := o.entries["retry"]; ok {
		s.Retry = r.retry(e, "retry of "+o.what)
	}
	s.Timeout = r.duration(o, "timeout", patience)
	s.SlowAfter = r.duration(o, "slow_after", patience)
	s.SlowEventAfter = r.duration(o, "slow_event_after", patience)
	s.ExpiresAfter = r.duration(o, "expires_after", patience)
	s.HoldUnknown = r.duration(o, "hold_unknown", patience)
	s.Breaker = r.breaker(o)
	s.MaxSnoozes = r.countOrOff(o, "max_snoozes", limitSnoozes, "it is off or counts snoozes of one event")
	s.FailureThrottle = r.countOrOff(o, "failure_throttle", limitThrottle, "it is off or counts failures in a row")
	if e, ok := o.entries["concurrency"]; ok {
		s.Concurrency = r.count(e, o.what, 1, limitConcurrency, "it is how many handlers of one subscription run at once")
	}
	if e, ok := o.entries["strict_order"]; ok {
		s.StrictOrder = r.truth(e, o.what)
	}
	s.Batch = r.batch(o)
	s.Limits = r.limitUses(o)
	s.Errors = r.errorRules(o)
	s.Redrive = r.redrive(o)
	s.Priority = oneOf(r, o, "priority", catalog.PriorityWords, func(word string) (catalog.Priority, bool) {
		i := slices.Index(catalog.PriorityWords, word)
		return catalog.Priority(i), i >= 0
	})
	return s
}

// count reads a whole number between lo and hi.
func (r *reader) count(e entry, what string, lo, hi int, meaning string) catalog.Value[int] {
	v, ok := r.wholeNumber(e, what)
	if ok && (v.V < lo || v.V > hi) {
		r.report(r.place(e.value), rules.OutOfRange, "%s of %s is %d", e.name, what, v.V).
			Hint = meaning + " and must be between " + strconv.Itoa(lo) + " and " + strconv.Itoa(hi)
		return catalog.Value[int]{}
	}
	return v
}

// countOrOff reads a whole number from 1 on, or the word that stands for 0.
func (r *reader) countOrOff(settings object, key string, most int, meaning string) catalog.Value[int] {
	e, ok := settings.entries[key]
	switch {
	case !ok:
		return catalog.Value[int]{}
	case isOff(e):
		return catalog.Value[int]{V: 0, Pos: r.position(e.value)}
	case !isNumber(e.value):
		r.neitherOffNor(e, settings.what, "a whole number")
		return catalog.Value[int]{}
	}
	return r.count(e, settings.what, 1, most, meaning)
}

// limitConcurrency limits `concurrency`, as [runtime.WithConcurrency] does.
const limitConcurrency = 1024

// limitSnoozes limits `max_snoozes`. A larger value would have no effect.
const limitSnoozes = 1_000_000

// limits has the limits of a number.
type limits struct {
	least, most float64
	below       bool // most itself is too much
}

func (l limits) String() string {
	text := "between %v and %v"
	if l.below {
		text = "at least %v and less than %v"
	}
	return fmt.Sprintf(text, l.least, l.most)
}

func (l limits) allow(f float64) bool {
	return f >= l.least && (f < l.most || f == l.most && !l.below)
}

func (r *reader) fraction(o object, key string, within limits) catalog.Value[float64] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[float64]{}
	}
	v, ok := r.number(e, o.what)
	if ok && !within.allow(v.V) {
		r.report(r.place(e.value), rules.OutOfRange, "%s of %s is %s", key, o.what, e.value.Value).Hint = "it must be " + within.String()
		return catalog.Value[float64]{}
	}
	return v
}

// oneOf reads a setting that is one of a few words.
func oneOf[T any](r *reader, o object, key string, words []string, parse func(string) (T, bool)) catalog.Value[T] {
	e, ok := o.entries[key]
	if !ok {
		return catalog.Value[T]{}
	}
	text, ok := r.text(e.value, key+" of "+o.what)
	if !ok {
		return catalog.Value[T]{}
	}
	v, ok := parse(text.V)
	if !ok {
		f := r.report(r.place(e.value), rules.UnknownValue, "%s of %s is %q, which is not allowed", key, o.what, text.V)
		if f.Hint = diag.DidYouMean(text.V, words); f.Hint == "" {
			f.Hint = "use one of " + strings.Join(words, ", ")
		}
		return catalog.Value[T]{}
	}
	return catalog.Value[T]{V: v, Pos: text.Pos}
}
