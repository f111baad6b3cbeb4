package catalog

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/retry"
)

// The keys that say how events are delivered. They are the same in `defaults`,
// in a policy and in an event.
var (
	settingKeys = []string{"retry", "timeout", "priority"}
	retryKeys   = []string{"max_attempts", "max_retries", "backoff", "base_delay", "max_delay", "multiplier", "jitter"}
)

// The limits of a timeout. There is no "never": a handler that hangs must not
// hold its event for ever.
const (
	minTimeout = time.Millisecond
	maxTimeout = retry.LimitDelay
)

// unreadable stands for a duration that is written but wrong. It is never in
// a finished Catalogue; it only keeps one mistake from causing findings about
// values that would have been inherited without it.
const unreadable = time.Duration(math.MinInt64)

// builtin returns the settings of an event for which nothing is written.
func builtin() Settings {
	p := retry.Default()
	return Settings{
		MaxAttempts: Value[int]{V: p.MaxAttempts},
		Backoff:     Value[retry.Backoff]{V: p.Backoff},
		BaseDelay:   Value[time.Duration]{V: p.BaseDelay},
		MaxDelay:    Value[time.Duration]{V: p.MaxDelay},
		Multiplier:  Value[float64]{V: p.Multiplier},
		Jitter:      Value[float64]{V: p.Jitter},
		Timeout:     Value[time.Duration]{V: 30 * time.Second},
		Priority:    Value[Priority]{V: Normal},
	}
}

// overlay returns s with everything replaced that is written in over.
func (s Settings) overlay(over Settings) Settings {
	replace(&s.MaxAttempts, over.MaxAttempts)
	replace(&s.Backoff, over.Backoff)
	replace(&s.BaseDelay, over.BaseDelay)
	replace(&s.MaxDelay, over.MaxDelay)
	replace(&s.Multiplier, over.Multiplier)
	replace(&s.Jitter, over.Jitter)
	replace(&s.Timeout, over.Timeout)
	replace(&s.Priority, over.Priority)
	return s
}

// replace asks whether a value is written, not whether it is zero: a jitter
// of 0 is a choice.
func replace[T any](dst *Value[T], v Value[T]) {
	if v.written() {
		*dst = v
	}
}

func (v Value[T]) written() bool { return v.Pos != Position{} }

// settings reads the settings that are written in o. The others stay zero,
// without a position.
func (r *reader) settings(o object) Settings {
	var s Settings
	if e, ok := o.entries["retry"]; ok {
		r.retry(e, "retry of "+o.what, &s)
	}
	s.Timeout = r.duration(o, "timeout", minTimeout, maxTimeout)
	s.Priority = oneOf(r, o, "priority", []string{"normal", "high", "low"}, func(name string) (Priority, bool) {
		p, ok := map[string]Priority{"normal": Normal, "high": High, "low": Low}[name]
		return p, ok
	})
	return s
}

func (r *reader) retry(e entry, what string, s *Settings) {
	o, _ := r.object(e.value, what, retryKeys...)
	s.MaxAttempts = r.attempts(o)
	s.Backoff = oneOf(r, o, "backoff", retry.BackoffNames(), func(name string) (retry.Backoff, bool) {
		b, err := retry.ParseBackoff(name)
		return b, err == nil
	})
	s.BaseDelay = r.duration(o, "base_delay", 0, retry.LimitDelay)
	s.MaxDelay = r.duration(o, "max_delay", 0, retry.LimitDelay)
	s.Multiplier = r.fraction(o, "multiplier", 1, retry.LimitMultiplier)
	s.Jitter = r.fraction(o, "jitter", 0, retry.LimitJitter)
}

// attempts reads max_attempts, or max_retries, which does not count the first
// execution.
func (r *reader) attempts(o object) Value[int] {
	attempts, hasAttempts := o.entries["max_attempts"]
	retries, hasRetries := o.entries["max_retries"]
	switch {
	case hasAttempts && hasRetries:
		first, second := attempts, retries
		if comparePositions(r.position(retries.key), r.position(attempts.key)) < 0 {
			first, second = retries, attempts
		}
		r.report(r.place(second.key), RuleConflict, "%s has max_attempts and max_retries", o.what).
			see(r.place(first.key), "%s is here", first.name).
			Hint = "keep one: max_attempts counts the first execution, max_retries does not"
		return Value[int]{}
	case hasRetries:
		v := r.count(retries, o.what, 0, retry.LimitAttempts-1, "it does not count the first execution")
		if v.written() {
			v.V++
		}
		return v
	case hasAttempts:
		return r.count(attempts, o.what, 1, retry.LimitAttempts, "it counts executions including the first")
	}
	return Value[int]{}
}

func (r *reader) count(e entry, what string, lo, hi int, meaning string) Value[int] {
	v, ok := r.wholeNumber(e, what)
	if ok && (v.V < lo || v.V > hi) {
		r.report(r.place(e.value), RuleOutOfRange, "%s of %s is %d", e.name, what, v.V).
			Hint = meaning + " and must be between " + strconv.Itoa(lo) + " and " + strconv.Itoa(hi)
		return Value[int]{}
	}
	return v
}

func (r *reader) fraction(o object, key string, lo, hi float64) Value[float64] {
	e, ok := o.entries[key]
	if !ok {
		return Value[float64]{}
	}
	v, ok := r.number(e, o.what)
	if ok && !(v.V >= lo && v.V <= hi) {
		r.report(r.place(e.value), RuleOutOfRange, "%s of %s is %s", key, o.what, e.value.Value).
			Hint = "it must be between " + strconv.FormatFloat(lo, 'g', -1, 64) + " and " + strconv.FormatFloat(hi, 'g', -1, 64)
		return Value[float64]{}
	}
	return v
}

// oneOf reads a setting that is one of a few words.
func oneOf[T any](r *reader, o object, key string, words []string, parse func(string) (T, bool)) Value[T] {
	e, ok := o.entries[key]
	if !ok {
		return Value[T]{}
	}
	text, ok := r.text(e.value, key+" of "+o.what)
	if !ok {
		return Value[T]{}
	}
	v, ok := parse(text.V)
	if !ok {
		f := r.report(r.place(e.value), RuleUnknownValue, "%s of %s is %q", key, o.what, text.V)
		if f.Hint = didYouMean(text.V, words); f.Hint == "" {
			f.Hint = "it is one of " + strings.Join(words, ", ")
		}
		return Value[T]{}
	}
	return Value[T]{V: v, Pos: text.Pos}
}

func (r *reader) duration(o object, key string, lo, hi time.Duration) Value[time.Duration] {
	e, ok := o.entries[key]
	if !ok {
		return Value[time.Duration]{}
	}
	n := e.value
	broken := Value[time.Duration]{V: unreadable, Pos: r.position(n)}
	if isNumber(n) {
		r.report(r.place(n), RuleBadDuration, "%s of %s has no unit", key, o.what).
			Hint = "write " + n.Value + "s for seconds or " + n.Value + "ms for milliseconds"
		return broken
	}
	text, ok := r.text(n, key+" of "+o.what)
	if !ok {
		return broken
	}
	d, ok := parseDuration(text.V)
	switch {
	case !ok:
		r.report(r.place(n), RuleBadDuration, "%s of %s is %q, which is not a duration", key, o.what, text.V).
			Hint = "write a number with its unit, such as 500ms, 30s, 5m, 1h30m or 7d"
	case d < lo || d > hi:
		r.report(r.place(n), RuleOutOfRange, "%s of %s is %s", key, o.what, text.V).
			Hint = "it must be between " + lo.String() + " and 30d"
	default:
		return Value[time.Duration]{V: d, Pos: text.Pos}
	}
	return broken
}

// durationSyntax is Go's notation for durations, with days in front of it.
var durationSyntax = regexp.MustCompile(`^([-+]?)(?:(\d+)d)?((?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*)$`)

// parseDuration reads 1h30m, 7d or 1d12h. A day has 24 hours. A duration that
// is too long for Go becomes one above every limit, because it is well written.
func parseDuration(s string) (d time.Duration, ok bool) {
	const day, tooLong = 24 * time.Hour, retry.LimitDelay + 1
	m := durationSyntax.FindStringSubmatch(s)
	if m == nil || m[2]+m[3] == "" {
		return 0, false
	}
	days, daysErr := strconv.ParseUint("0"+m[2], 10, 16) // the 0 stands for none
	d, err := time.ParseDuration("0s" + m[3])
	if daysErr != nil || err != nil {
		d = tooLong
	} else {
		d = time.Duration(days)*day + min(d, tooLong)
	}
	if m[1] == "-" {
		d = -d
	}
	return d, true
}
