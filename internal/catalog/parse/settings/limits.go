package settings

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/catalog/parse/types"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/runtime/declare"
)

// limitKeys are the keys of an entry of `limits:`.
var limitKeys = []string{"doc", "go_name", "at_once", "rate"}

// What a limit may allow, as [declare.Limit] has it.
const (
	limitAtOnce = 1_000_000
	limitRate   = 1_000_000
)

var perSpan = text.Span{Least: time.Millisecond, Most: 366 * 24 * time.Hour}

// ReadLimits reads `limits:` of all files.
func (r *Settings) ReadLimits() []*catalog.Limit {
	var all []*catalog.Limit
	for _, e := range r.parts.Sections("limits", "limit") {
		l := r.limit(e)
		r.limits[e.Name] = l // also a broken one: a use of it is no second fault
		if r.names.CheckName(e.Name, e.Key, "limit "+diag.Label(e.Name), "bank-api") {
			all = append(all, l)
		}
	}
	return all
}

func (r *Settings) limit(e text.Entry) *catalog.Limit {
	what := "limit " + diag.Label(e.Name)
	before := len(r.Findings)
	o, ok := r.Object(e.Value, what, limitKeys...)
	keysOK := len(r.Findings) == before
	l := &catalog.Limit{Limit: declare.Limit{Name: e.Name, Doc: r.Doc(e.Key, o)}, Pos: r.Position(e.Key)}
	l.GoName = "Limit" + r.names.OwnGoName(o, r.names.GoName(e.Name))
	if !ok {
		return l
	}
	l.AtOnce = r.Count(o, "at_once", 1, limitAtOnce, "it is how many may be at work at once").V
	r.rate(o, l)
	_, hasAtOnce := o.Entries["at_once"]
	_, hasRate := o.Entries["rate"]
	if !hasAtOnce && !hasRate && keysOK { // else one of them may be misspelt
		r.Report(r.Place(o.Node), rules.Limit, "%s does not say what it allows", o.What).
			Hint = "add how many may be at work at once, as in at_once: 3, or how many may begin within a time, as in rate: 100 per 1m"
	}
	return l
}

var (
	rateSyntax  = regexp.MustCompile(`^(-?(?:0|[1-9]\d*))[ \t]+per[ \t]+(\S+)$`)
	otherRate   = regexp.MustCompile(`^(\d+)\s*(?:/|per|a|an|every)\s*(?:1\s*)?(ms|s|m|h|d|sec|min|millisecond|second|minute|hour|day)s?$`)
	unitOfWords = map[string]string{"millisecond": "1ms", "sec": "1s", "second": "1s", "min": "1m", "minute": "1m", "hour": "1h", "day": "1d", "d": "1d"}
)

// rate reads the rate of a limit.
func (r *Settings) rate(o text.Object, l *catalog.Limit) {
	e, ok := o.Entries["rate"]
	if !ok {
		return
	}
	n, what := e.Value, "rate of "+o.What
	if text.IsNumber(n) {
		r.Report(r.Place(n), rules.BadDuration, "%s does not say within which time", what).
			Hint = "write " + n.Value + " per 1s for each second, or " + n.Value + " per 1m for each minute"
		return
	}
	written, ok := r.Text(n, what)
	if !ok {
		return
	}
	m := rateSyntax.FindStringSubmatch(written.V)
	var per time.Duration
	if ok = m != nil; ok {
		per, ok = text.ParseDuration(m[2])
	}
	if !ok {
		r.Report(r.Place(n), rules.BadDuration, "%s is %q, which is not a rate", what, written.V).Hint = rateHint(written.V)
		return
	}
	count, err := strconv.Atoi(m[1])
	switch {
	case err != nil || count < 1 || count > limitRate:
		r.Report(r.Place(n), rules.OutOfRange, "%s is %s", what, written.V).
			Hint = "it must be between 1 and " + strconv.Itoa(limitRate)
	case per < perSpan.Least || per > perSpan.Most:
		r.Report(r.Place(n), rules.OutOfRange, "%s is per %s", what, m[2]).Hint = "the time must be " + perSpan.String()
	default:
		l.Rate, l.Per = count, per
	}
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
func (r *Settings) limitUses(settings text.Object) catalog.Value[[]*catalog.LimitUse] {
	e, ok := settings.Entries["limits"]
	switch {
	case !ok:
		return catalog.Value[[]*catalog.LimitUse]{}
	case text.IsOff(e):
		return catalog.Value[[]*catalog.LimitUse]{Pos: r.Position(e.Value)}
	case e.Value.Kind != yaml.SequenceNode:
		f := r.NeitherOffNor(e, settings.What, "a list of limits")
		if known := r.limits[e.Value.Value]; known != nil && e.Value.Kind == yaml.ScalarNode {
			f.Hint = "write limits: [" + e.Value.Value + "]"
		}
		return catalog.Value[[]*catalog.LimitUse]{Pos: r.Position(e.Value)}
	}
	what := "limits of " + settings.What
	uses := catalog.Value[[]*catalog.LimitUse]{Pos: r.Position(e.Value)}
	first := map[*catalog.Limit]*yaml.Node{}
	for _, item := range e.Value.Content {
		use, name := r.limitUse(item, what)
		switch {
		case use == nil:
		case first[use.Limit] != nil:
			r.Report(r.Place(name), rules.Limit, "%s has limit %s twice", what, diag.Label(name.Value)).
				See(r.Place(first[use.Limit]), "it is here").
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
	use := &catalog.LimitUse{Pos: r.Position(item)}
	name := item
	if item.Kind == yaml.MappingNode {
		o, _ := r.Object(item, "an entry of "+what, "limit", "by")
		e, ok := r.Required(o, "limit", "name the limit: { limit: bank, by: customer_id }")
		if !ok {
			return nil, nil
		}
		name = e.Value
		if e, ok := o.Entries["by"]; ok {
			if use.By, ok = r.Text(e.Value, "by of "+o.What); !ok {
				return nil, nil
			}
		}
	}
	text, ok := r.Text(name, "an entry of "+what)
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
	if r.parts.Incomplete {
		return
	}
	f := r.Report(r.Place(at), rules.Limit, "%s has %s, which is not declared", what, diag.Label(name))
	if r.MayGuess() {
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

// LimitKeys finds the fields by which limits and breakers count, when the settings are inherited: those of the defaults and
// of policies must fit the payload of each event that has them. A use that does not is reported once.
func (r *Policies) LimitKeys() {
	faults := map[diag.Position]*keyFault{}
	var order []*keyFault
	for _, e := range r.declared.Events {
		known := map[string]bool{}
		note := func(by catalog.Value[string], rule *diag.Rule, what string, group *catalog.Group) {
			if !by.Written() {
				return
			}
			fields, fault := fieldAt(e, by.V)
			if fault == nil && rule == rules.Breaker {
				fault = breakerFault(e, fields, group)
			}
			switch before := faults[by.Pos]; {
			case fault == nil:
				if !known[by.V] {
					known[by.V] = true
					e.LimitKeys = append(e.LimitKeys, &catalog.LimitKey{Path: by.V, Fields: fields})
				}
			case r.declared.BrokenPayloads[e]: // which may be why
			case before == nil:
				fault.by, fault.rule, fault.use = by, rule, what
				faults[by.Pos] = fault
				order = append(order, fault)
			case before.event != e:
				before.event = e
				before.others++
			}
		}
		all := func(s catalog.Settings, group *catalog.Group) {
			for _, use := range s.Limits.V {
				note(use.By, rules.Limit, "limit "+use.Limit.Name, group)
			}
			if !s.Breaker.Off.V {
				note(s.Breaker.By, rules.Breaker, "the breaker", group)
			}
		}
		all(e.Settings, nil)
		for _, s := range e.Declared() {
			all(s.Settings, s.Group)
		}
	}
	for _, fault := range order {
		also := ""
		if fault.others > 0 {
			also = fmt.Sprintf(" (and so for %d more)", fault.others)
		}
		f := r.Report(r.NameAt(fault.by), fault.rule, "%s is by %s, %s%s", fault.use, diag.Label(fault.by.V), fault.what, also)
		if f.Hint = fault.hint; fault.at != nil {
			f.See(r.TypeAt(fault.at), "the field is here")
		}
	}
}

// breakerFault says why a field that can be a key cannot be that of the breakers of a subscription.
func breakerFault(e *catalog.Event, fields []*catalog.Field, group *catalog.Group) *keyFault {
	if group != nil {
		return &keyFault{
			event: e, what: "but a member of group " + diag.Label(group.Name.V) + " has one breaker",
			hint: "write by for the subscriptions that are in no group, and not for all of the event",
		}
	}
	for _, f := range fields {
		if f.Sensitive.V || f.Personal.V {
			return &keyFault{
				event: e, at: f.Type, what: "but field " + diag.Label(f.Name.V) + " of event " + e.Label() + " is not to be shown",
				hint: "choose a field that may be shown, such as an id: the status and the metrics have the keys of open breakers",
			}
		}
	}
	return nil
}

// A keyFault says why a path leads to no key.
type keyFault struct {
	what, hint string
	at         *catalog.TypeRef // of the field that is wrong
	event      *catalog.Event   // the last that has the fault
	others     int              // besides the first

	by   catalog.Value[string] // the path
	rule *diag.Rule
	use  string // what is by the path
}

// fieldAt follows a path through required structs to a field that can be a key.
func fieldAt(e *catalog.Event, path string) ([]*catalog.Field, *keyFault) {
	var along []*catalog.Field
	fields, in := e.Fields, "the payload of event "+e.Label()
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		f, names := types.FieldNamed(fields, segment)
		if f == nil {
			hint := cmp.Or(diag.DidYouMean(segment, names), "correct the field, or give the event limits of its own: limits: off for none")
			return nil, &keyFault{event: e, what: "but " + in + " has no field " + diag.Label(segment), hint: hint}
		}
		along = append(along, f)
		in = strings.Join(segments[:i+1], ".") + " of event " + e.Label()
		last := i == len(segments)-1
		switch {
		case f.Type.MayBeNil():
			return nil, &keyFault{event: e, at: f.Type, what: "but " + in + " " + types.Lack(f.Type), hint: "choose a required field: events without a value would have no key"}
		case last && !types.CanBeKey(f.Type):
			return nil, &keyFault{event: e, at: f.Type, what: "but " + in + " has type " + f.Type.Text, hint: types.KeyTypes}
		case last:
			return along, nil
		case f.Type.Kind != catalog.Named || !f.Type.Named.IsStruct():
			return nil, &keyFault{event: e, at: f.Type, what: "but " + in + " has type " + f.Type.Text + ", which has no fields", hint: "a path leads through structs"}
		}
		fields = f.Type.Named.Fields
	}
	return along, nil
}
