package parse

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/retry"
)

// limitKeys are the keys of an entry of `limits:`.
var limitKeys = []string{"doc", "go_name", "at_once", "rate", "burst", "hold", "wait", "lax"}

// What a limit may allow, as [runtime.Limit] has it.
const (
	limitAtOnce = 1_000_000
	limitRate   = 1_000_000 // and a burst
	limitRefill = 3660 * 24 * time.Hour
)

var (
	perSpan  = span{least: time.Millisecond, most: 366 * 24 * time.Hour}
	waitSpan = span{least: time.Millisecond, most: retry.LimitDelay}
)

// limitSection reads `limits:` of all files.
func (r *Settings) limitSection() []*catalog.Limit {
	var all []*catalog.Limit
	for _, e := range r.parts.sections("limits", "limit") {
		l := r.limit(e)
		r.limits[e.name] = l // also a broken one: a use of it is no second fault
		if r.names.checkName(e.name, e.key, "limit "+diag.Label(e.name), "bank-api") {
			all = append(all, l)
		}
	}
	return all
}

func (r *Settings) limit(e entry) *catalog.Limit {
	what := "limit " + diag.Label(e.name)
	before := len(r.findings)
	o, ok := r.object(e.value, what, limitKeys...)
	keysOK := len(r.findings) == before
	l := &catalog.Limit{Name: catalog.Value[string]{V: e.name, Pos: r.position(e.key)}, Doc: r.doc(e.key, o)}
	l.GoName = "Limit" + r.names.ownGoName(o, r.names.goName(e.name))
	if !ok {
		return l
	}
	if e, ok := o.entries["at_once"]; ok {
		l.AtOnce = r.count(e, o.what, 1, limitAtOnce, "it is how many may be at work at once")
	}
	l.Rate = r.rate(o)
	l.Hold = oneOf(r.Reader, o, "hold", catalog.HoldWords, func(word string) (string, bool) {
		return word, word == catalog.HoldAttempt || word == catalog.HoldEvent
	})
	if l.Hold.V == "" {
		l.Hold.V = catalog.HoldAttempt
	}
	if l.Wait = r.duration(o, "wait", waitSpan); l.Wait.V == unreadable {
		l.Wait = catalog.Value[time.Duration]{}
	}
	if e, ok := o.entries["lax"]; ok {
		l.Lax = r.truth(e, o.what)
	}
	r.checkLimit(o, l, keysOK)
	return l
}

// checkLimit reports keys that mean nothing without another one.
func (r *Settings) checkLimit(o object, l *catalog.Limit, keysOK bool) {
	_, hasAtOnce := o.entries["at_once"]
	_, hasRate := o.entries["rate"]
	_, hasWait := o.entries["wait"]
	if !hasAtOnce && !hasRate {
		if keysOK { // else one of them may be misspelt
			r.report(r.place(o.node), rules.Limit, "%s does not say what it allows", o.what).
				Hint = "add how many may be at work at once, as in at_once: 3, or how many may begin within a time, as in rate: 100 per 1m"
		}
		return
	}
	if e, ok := o.entries["burst"]; ok && !hasRate {
		r.report(r.place(e.key), rules.Limit, "%s has a burst but no rate", o.what).
			Hint = "add a rate, as in rate: 100 per 1m, or remove the burst"
	}
	if e, ok := o.entries["hold"]; ok && !hasAtOnce {
		r.report(r.place(e.key), rules.Limit, "%s says how long a place is held, but has no places", o.what).
			Hint = "remove it: hold belongs to at_once"
	}
	if l.Lax.V && !hasWait {
		r.report(r.place(o.entries["lax"].key), rules.Limit, "%s is lax but waits as long as it takes", o.what).
			Hint = "say after which time a delivery goes on without it, as in wait: 30s"
	}
}

var (
	rateSyntax  = regexp.MustCompile(`^(-?(?:0|[1-9]\d*))[ \t]+per[ \t]+(\S+)$`)
	otherRate   = regexp.MustCompile(`^(\d+)\s*(?:/|per|a|an|every)\s*(?:1\s*)?(ms|s|m|h|d|sec|min|millisecond|second|minute|hour|day)s?$`)
	unitOfWords = map[string]string{"millisecond": "1ms", "sec": "1s", "second": "1s", "min": "1m", "minute": "1m", "hour": "1h", "day": "1d", "d": "1d"}
)

// rate reads a rate with its burst.
func (r *Settings) rate(o object) (rate catalog.Rate) {
	if e, ok := o.entries["burst"]; ok {
		rate.Burst = r.count(e, o.what, 1, limitRate, "it is how many may begin at the same moment")
	}
	e, ok := o.entries["rate"]
	if !ok {
		return rate
	}
	n, what := e.value, "rate of "+o.what
	if isNumber(n) {
		r.report(r.place(n), rules.BadDuration, "%s does not say within which time", what).
			Hint = "write " + n.Value + " per 1s for each second, or " + n.Value + " per 1m for each minute"
		return rate
	}
	written, ok := r.text(n, what)
	if !ok {
		return rate
	}
	m := rateSyntax.FindStringSubmatch(written.V)
	var per time.Duration
	if ok = m != nil; ok {
		per, ok = parseDuration(m[2])
	}
	if !ok {
		r.report(r.place(n), rules.BadDuration, "%s is %q, which is not a rate", what, written.V).Hint = rateHint(written.V)
		return rate
	}
	count, err := strconv.Atoi(m[1])
	switch {
	case err != nil || count < 1 || count > limitRate:
		r.report(r.place(n), rules.OutOfRange, "%s is %s", what, written.V).
			Hint = "it must be between 1 and " + strconv.Itoa(limitRate)
	case per < perSpan.least || per > perSpan.most:
		r.report(r.place(n), rules.OutOfRange, "%s is per %s", what, m[2]).Hint = "the time must be " + perSpan.String()
	default:
		rate.Count = catalog.Value[int]{V: count, Pos: written.Pos}
		rate.Per = catalog.Value[time.Duration]{V: per, Pos: written.Pos}
		if float64(rate.Burst.V)*float64(per)/float64(count) > float64(limitRefill) {
			r.report(r.place(o.entries["burst"].value), rules.Limit, "burst of %s is %d: with a rate of %s it takes more than ten years until it is there again",
				o.what, rate.Burst.V, rate).
				See(r.place(n), "the rate is here").
				Hint = "lower the burst"
		}
	}
	return rate
}

// rateHint says how to write what is written in another way.
func rateHint(text string) string {
	if m := otherRate.FindStringSubmatch(strings.ToLower(text)); m != nil {
		unit, ok := unitOfWords[m[2]]
		if !ok {
			unit = "1" + m[2]
		}
		return "write " + m[1] + " per " + unit
	}
	return "write a number and a time with its unit, as in 100 per 1m"
}

// limitUses reads `limits` of settings: a list of names, each alone or with the field by which it counts.
func (r *Settings) limitUses(settings object) catalog.Value[[]*catalog.LimitUse] {
	e, ok := settings.entries["limits"]
	switch {
	case !ok:
		return catalog.Value[[]*catalog.LimitUse]{}
	case isOff(e):
		return catalog.Value[[]*catalog.LimitUse]{Pos: r.position(e.value)}
	case e.value.Kind != yaml.SequenceNode:
		f := r.neitherOffNor(e, settings.what, "a list of limits")
		if known := r.limits[e.value.Value]; known != nil && e.value.Kind == yaml.ScalarNode {
			f.Hint = "write limits: [" + e.value.Value + "]"
		}
		return catalog.Value[[]*catalog.LimitUse]{Pos: r.position(e.value)}
	}
	what := "limits of " + settings.what
	uses := catalog.Value[[]*catalog.LimitUse]{Pos: r.position(e.value)}
	first := map[*catalog.Limit]*yaml.Node{}
	for _, item := range e.value.Content {
		use, name := r.limitUse(item, what)
		switch {
		case use == nil:
		case first[use.Limit] != nil:
			r.report(r.place(name), rules.Limit, "%s has limit %s twice", what, diag.Label(name.Value)).
				See(r.place(first[use.Limit]), "it is here").
				Hint = "remove one of them, or declare a second limit"
		default:
			first[use.Limit] = name
			uses.V = append(uses.V, use)
		}
	}
	return uses
}

// limitUse reads bank, or { limit: mail, by: customer.email }. It returns the use and where the limit is named, or
// nil after a finding.
func (r *Settings) limitUse(item *yaml.Node, what string) (*catalog.LimitUse, *yaml.Node) {
	use := &catalog.LimitUse{Pos: r.position(item)}
	name := item
	if item.Kind == yaml.MappingNode {
		o, _ := r.object(item, "an entry of "+what, "limit", "by")
		e, ok := r.required(o, "limit", "name the limit: { limit: bank, by: customer_id }")
		if !ok {
			return nil, nil
		}
		name = e.value
		if e, ok := o.entries["by"]; ok {
			if use.By, ok = r.text(e.value, "by of "+o.what); !ok {
				return nil, nil
			}
		}
	}
	text, ok := r.text(name, "an entry of "+what)
	if !ok {
		return nil, nil
	}
	if use.Limit = r.limits[text.V]; use.Limit == nil {
		r.unknownLimit(name, text.V, what)
		return nil, nil
	}
	return use, name
}

func (r *Settings) unknownLimit(at *yaml.Node, name, what string) {
	if r.parts.incomplete {
		return
	}
	f := r.report(r.place(at), rules.Limit, "%s has %s, which is not declared", what, diag.Label(name))
	if r.mayGuess() {
		var names []string
		for known := range r.limits {
			names = append(names, known)
		}
		slices.Sort(names)
		f.Hint = diag.DidYouMean(name, names)
	}
	if f.Hint == "" {
		f.Hint = "declare it under limits at the top of a file, as in limits: { " + diag.Label(name) + ": { at_once: 3 } }"
	}
}
