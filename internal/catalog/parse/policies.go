package parse

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/retry"
)

// A policy is an entry of `policies:`.
type policy struct {
	pattern  glob.Pattern
	key      *yaml.Node
	settings catalog.Settings // as written here, not inherited
	headers  []*catalog.Header
}

// policyKeys are the keys of a policy.
var policyKeys = append([]string{"headers"}, settingKeys...)

func (r *reader) defaults(root object) catalog.Settings {
	e, ok := root.entries["defaults"]
	if !ok {
		return catalog.Settings{}
	}
	o, _ := r.object(e.value, "defaults", settingKeys...)
	return r.settings(o)
}

// policies reads the policies of all files, in file order, and checks that each matches an event.
func (r *reader) policies(parts []*part, events []*catalog.Event) []policy {
	var all []policy
	byFirst := byFirstSegment(events)
	for _, e := range r.sections(parts, "policies", "policy") {
		o, _ := r.object(e.value, "policy "+label(e.name), policyKeys...)
		p := policy{key: e.key, settings: r.settings(o), headers: r.policyHeaders(o)}
		var err error
		if p.pattern, err = glob.Parse(e.name); err != nil {
			r.syntaxOf(e, err, rules.BadGlob, "policy %s is not a pattern: %s")
			continue
		}
		r.checkUsed(p, events, byFirst)
		all = append(all, p)
	}
	return all
}

// byFirstSegment finds the events whose names begin with a segment.
func byFirstSegment(events []*catalog.Event) map[string][]*catalog.Event {
	all := map[string][]*catalog.Event{}
	for _, e := range events {
		first := firstSegment(e.Label())
		all[first] = append(all[first], e)
	}
	return all
}

// checkUsed reports a policy that matches no event: after a typo its settings would have no effect.
func (r *reader) checkUsed(p policy, events []*catalog.Event, byFirst map[string][]*catalog.Event) {
	matches := func(e *catalog.Event) bool { return p.pattern.Match(e.Label()) }
	candidates := events
	if first := firstSegment(p.pattern.String()); first != "*" {
		candidates = byFirst[first]
	}
	if r.eventsIncomplete || slices.ContainsFunc(candidates, matches) {
		return
	}
	if r.misspelt++; r.misspelt > maxMisspelt {
		r.report(r.place(p.key), rules.PolicyUnused, "policy %s matches no event", p.pattern).Hint = correctPattern
		return
	}
	var patterns []string
	for _, n := range r.namespaces(events) {
		patterns = append(patterns, n.Name+".*")
	}
	for _, e := range events {
		patterns = append(patterns, e.Label())
	}
	f := r.report(r.place(p.key), rules.PolicyUnused, "policy %s matches no event", p.pattern)
	if f.Hint = diag.DidYouMean(p.pattern.String(), patterns); f.Hint == "" {
		f.Hint = correctPattern
	}
	for _, e := range events {
		if p.pattern.Match(e.Name.V) {
			f.Hint = "policies match what the catalogue calls an event: " + e.Name.V + " is " + e.Label() + " here"
			break
		}
	}
}

const correctPattern = "correct the pattern or remove the policy"

// firstSegment returns order for order.placed and for order.*.
func firstSegment(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// inherit replaces each event's own settings by those in force, field by field. Policies override defaults,
// which override what is built in; a more specific policy overrides a less specific one, the event overrides
// its policies, and a subscription overrides its event.
func (r *reader) inherit(events []*catalog.Event, defaults catalog.Settings, policies []policy) {
	ascending := slices.Clone(policies)
	slices.SortStableFunc(ascending, func(a, b policy) int { return glob.Compare(a.pattern, b.pattern) })
	ties, orders := map[[2]*yaml.Node]bool{}, map[[2]diag.Position]bool{}
	byFirst := map[string][]int{} // an event meets only policies that begin as it does, or with a *
	for i, p := range ascending {
		first := firstSegment(p.pattern.String())
		byFirst[first] = append(byFirst[first], i)
	}
	for _, e := range events {
		layers := []catalog.Settings{defaults}
		var matching []policy
		candidates := slices.Concat(byFirst["*"], byFirst[firstSegment(e.Label())])
		slices.Sort(candidates)
		for _, i := range candidates {
			p := ascending[i]
			if !p.pattern.Match(e.Label()) {
				continue
			}
			for _, q := range matching {
				pair := [2]*yaml.Node{q.key, p.key}
				if glob.Compare(q.pattern, p.pattern) == 0 && !ties[pair] {
					ties[pair] = true
					r.policyTie(e, q, p)
				}
			}
			matching = append(matching, p)
			layers = append(layers, p.settings)
			e.Headers = catalog.OverlayHeaders(e.Headers, p.headers)
		}
		layers = append(layers, e.Settings)
		e.Own = e.Settings
		e.Settings = r.effective("event "+e.Label(), layers, orders)
		for _, s := range e.Subscriptions {
			own := s.Settings
			s.Own = own
			s.Settings = r.effective("subscription "+s.Name.V+" of event "+e.Label(), append(layers, own), orders)
			r.checkStrictBatches(e, s, own)
		}
		for _, s := range e.Patterns {
			r.effective("subscription "+s.Name.V+" for event "+e.Label(), append(layers, s.Settings), orders) // for its findings
		}
	}
}

// checkStrictBatches reports a subscription with batches whose strict order would make batches of one event. Settings
// of batches that are inherited do not say that it has batches.
func (r *reader) checkStrictBatches(e *catalog.Event, s *catalog.Subscription, own catalog.Settings) {
	if !s.Settings.StrictOrder.V || !own.Batch.Written() || e.PartitionBy != nil || r.brokenKeys[e] {
		return
	}
	at := own.Batch.Size.Pos
	if !at.IsKnown() {
		at = own.Batch.Wait.Pos
	}
	r.report(r.wordAt(at), rules.Partition, "subscription %s of event %s has batches and a strict order, but no partition key", s.Name.V, e.Label()).
		See(r.wordAt(s.Settings.StrictOrder.Pos), "strict_order is here").
		Hint = "each batch would have one event: add partition_by to the event, or remove one of the two"
}

// policyTie reports two policies of which neither can be said to go first.
func (r *reader) policyTie(e *catalog.Event, first, second policy) {
	r.report(r.place(second.key), rules.PolicyTie, "policies %s and %s are equally specific and both match event %s",
		first.pattern, second.pattern, e.Label()).
		See(r.place(first.key), "the other one is here").
		Hint = "make one of them more specific, or give the event its settings itself"
}

// effective lays the layers over what is built in.
func (r *reader) effective(what string, layers []catalog.Settings, reported map[[2]diag.Position]bool) catalog.Settings {
	s := builtin()
	var retries []catalog.Retry
	for _, layer := range layers {
		s = s.With(layer)
		retries = append(retries, layer.Retry)
	}
	r.checkDelays(what, retries, reported)
	for _, rule := range s.Errors {
		r.checkDelays("error class "+rule.Class.V+" of "+what, append(slices.Clone(retries), rule.Retry), reported)
	}
	return s
}

// checkDelays reports a base delay above the cap that results from the layers,
// at the later of the two and once for each pair.
func (r *reader) checkDelays(what string, layers []catalog.Retry, reported map[[2]diag.Position]bool) {
	s := builtinRetry()
	baseLayer, capLayer := -1, -1
	for i, layer := range layers {
		s = s.With(layer)
		if layer.BaseDelay.Written() {
			baseLayer = i
		}
		if layer.MaxDelay.Written() {
			capLayer = i
		}
	}
	pair := [2]diag.Position{s.BaseDelay.Pos, s.MaxDelay.Pos}
	fine := s.BaseDelay.V <= s.MaxDelay.V || s.MaxDelay.V == unreadable || s.Backoff.V == retry.None
	if fine || reported[pair] {
		return
	}
	reported[pair] = true
	if baseLayer >= capLayer {
		r.delayOrder(what, "base_delay", s.BaseDelay, "max_delay", s.MaxDelay, "set max_delay too, or lower base_delay")
	} else {
		r.delayOrder(what, "max_delay", s.MaxDelay, "base_delay", s.BaseDelay, "raise max_delay, or set base_delay too")
	}
}

func (r *reader) delayOrder(what, key string, at catalog.Value[time.Duration], otherKey string, other catalog.Value[time.Duration], hint string) {
	relation := "longer"
	if key == "max_delay" {
		relation = "shorter"
	}
	f := r.report(r.wordAt(at.Pos), rules.DelayOrder, "%s %s of %s is %s than its %s %s",
		key, catalog.Short(at.V), what, relation, otherKey, catalog.Short(other.V))
	if other.Written() {
		f.See(r.wordAt(other.Pos), "%s is here", otherKey)
	} else {
		f.Message += ", which is built in"
	}
	f.Hint = hint
}
