package settings

import (
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/runtime/retry"
)

// A policy is an entry of `policies:`.
type policy struct {
	*catalog.Policy // its settings as they are written there, not inherited
	key             *yaml.Node
}

// policyKeys are the keys of a policy.
var policyKeys = append([]string{"headers"}, setting.Keys...)

// Policies are those of one catalogue, and how events inherit from them.
type Policies struct {
	*text.Reader
	settings *Settings
	headers  *Headers
	declared *Declared
	byFirst  map[string][]*catalog.Event // the events whose names begin with a segment
	all      []policy                    // in file order
	ties     map[[2]*yaml.Node]bool      // those that were reported
	orders   map[[2]diag.Position]bool   // the delays that were reported
}

// NewPolicies returns a reader of policies for declared events.
func NewPolicies(settings *Settings, headers *Headers, declared *Declared) *Policies {
	p := &Policies{Reader: settings.Reader, settings: settings, headers: headers, declared: declared,
		byFirst: map[string][]*catalog.Event{}, ties: map[[2]*yaml.Node]bool{}, orders: map[[2]diag.Position]bool{}}
	for _, e := range declared.Events {
		first := firstSegment(e.Label())
		p.byFirst[first] = append(p.byFirst[first], e)
	}
	return p
}

// Read reads `policies:` of all files. It checks that each matches an event.
func (r *Policies) Read() (all []*catalog.Policy) {
	for _, e := range r.settings.parts.Sections("policies", "policy") {
		o, _ := r.Object(e.Value, "policy "+diag.Label(e.Name), policyKeys...)
		p := &catalog.Policy{Settings: r.settings.Of(o), Headers: r.headers.list(r.MappingOf(o, "headers"), o.What)}
		var ok bool
		if p.Pattern, ok = r.settings.names.Pattern(e.Name, e.Key, policyPattern); ok {
			r.add(policy{p, e.Key})
		}
	}
	for _, p := range r.all {
		all = append(all, p.Policy)
	}
	return all
}

// add adds a policy, and reports one that matches no event: after a typo its settings would have no effect.
func (r *Policies) add(p policy) {
	r.all = append(r.all, p)
	candidates := r.declared.Events
	if first := firstSegment(p.Pattern.String()); first != "*" {
		candidates = r.byFirst[first]
	}
	matches := func(e *catalog.Event) bool { return p.Pattern.Match(e.Label()) }
	if r.declared.Incomplete || slices.ContainsFunc(candidates, matches) {
		return
	}
	f := r.Report(r.Place(p.key), rules.PolicyUnused, "policy %s matches no event", p.Pattern)
	f.Hint = CorrectPattern
	if !r.MayGuess() {
		return
	}
	var patterns []string
	for _, n := range r.settings.names.Namespaces(r.declared.Events) {
		patterns = append(patterns, n.Name+".*")
	}
	for _, e := range r.declared.Events {
		if p.Pattern.Match(e.Name.V) {
			f.Hint = "policies match what the catalogue calls an event: " + e.Name.V + " is " + e.Label() + " here"
			return
		}
		patterns = append(patterns, e.Label())
	}
	if hint := diag.DidYouMean(p.Pattern.String(), patterns); hint != "" {
		f.Hint = hint
	}
}

const policyPattern = "policy %s is not a pattern: %s"

// CorrectPattern is the hint for a pattern that matches no event.
const CorrectPattern = "correct the pattern or remove the policy"

// firstSegment returns order for order.placed and for order.*.
func firstSegment(name string) string {
	first, _, _ := strings.Cut(name, ".")
	return first
}

// Inherit replaces each event's own settings by those in force, field by field. Policies override defaults,
// which override what is built in; a more specific policy overrides a less specific one, the event overrides
// its policies, and a subscription overrides its event.
func (r *Policies) Inherit(defaults catalog.Settings) {
	ascending := slices.Clone(r.all)
	slices.SortStableFunc(ascending, func(a, b policy) int { return glob.Compare(a.Pattern, b.Pattern) })
	byFirst := map[string][]int{} // an event meets only policies that begin as it does, or with a *
	for i, p := range ascending {
		first := firstSegment(p.Pattern.String())
		byFirst[first] = append(byFirst[first], i)
	}
	for _, e := range r.declared.Events {
		layers := []catalog.Settings{defaults}
		var matching []policy
		candidates := slices.Concat(byFirst["*"], byFirst[firstSegment(e.Label())])
		slices.Sort(candidates)
		for _, i := range candidates {
			p := ascending[i]
			if !p.Pattern.Match(e.Label()) {
				continue
			}
			for _, q := range matching {
				pair := [2]*yaml.Node{q.key, p.key}
				if glob.Compare(q.Pattern, p.Pattern) == 0 && !r.ties[pair] {
					r.ties[pair] = true
					r.policyTie(e, q, p)
				}
			}
			matching = append(matching, p)
			layers = append(layers, p.Settings)
			e.Headers = catalog.OverlayHeaders(e.Headers, p.Headers)
		}
		layers = append(layers, e.Settings)
		e.Own = e.Settings
		e.Settings = r.effective("event "+e.Label(), layers)
		for _, s := range e.Subscriptions {
			own := s.Settings
			s.Own = own
			s.Settings = r.effective("subscription "+s.Name.V+" of event "+e.Label(), append(layers, own))
			r.checkStrictBatches(e, s, own)
		}
		for _, s := range e.Patterns {
			r.effective("subscription "+s.Name.V+" for event "+e.Label(), append(layers, s.Settings)) // for its findings
		}
	}
}

// checkStrictBatches reports a subscription with batches whose strict order would make batches of one event. Settings
// of batches that are inherited do not say that it has batches.
func (r *Policies) checkStrictBatches(e *catalog.Event, s *catalog.Subscription, own catalog.Settings) {
	if !s.Settings.StrictOrder.V || !own.Batch.Written() || e.PartitionBy != nil || r.declared.BrokenKeys[e] {
		return
	}
	at := own.Batch.Size.Pos
	if !at.IsKnown() {
		at = own.Batch.Wait.Pos
	}
	r.Report(r.WordAt(at), rules.Partition, "subscription %s of event %s has batches and a strict order, but no partition key", s.Name.V, e.Label()).
		See(r.WordAt(s.Settings.StrictOrder.Pos), "strict_order is here").
		Hint = "each batch would have one event: add partition_by to the event, or remove one of the two"
}

// policyTie reports two policies of which neither can be said to go first.
func (r *Policies) policyTie(e *catalog.Event, first, second policy) {
	r.Report(r.Place(second.key), rules.PolicyTie, "policies %s and %s are equally specific and both match event %s",
		first.Pattern, second.Pattern, e.Label()).
		See(r.Place(first.key), "the other one is here").
		Hint = "make one of them more specific, or give the event its settings itself"
}

// effective lays the layers over what is built in.
func (r *Policies) effective(what string, layers []catalog.Settings) catalog.Settings {
	s := builtin()
	var retries []catalog.Retry
	for _, layer := range layers {
		s = s.With(layer)
		retries = append(retries, layer.Retry)
	}
	r.checkDelays(what, retries)
	for _, rule := range s.Errors {
		r.checkDelays("error class "+rule.Class.V+" of "+what, append(slices.Clone(retries), rule.Retry))
	}
	return s
}

// checkDelays reports a base delay above the cap that results from the layers,
// at the later of the two and once for each pair.
func (r *Policies) checkDelays(what string, layers []catalog.Retry) {
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
	fine := s.BaseDelay.V <= s.MaxDelay.V || s.MaxDelay.V == text.Unreadable || s.Backoff.V == retry.None
	if fine || r.orders[pair] {
		return
	}
	r.orders[pair] = true
	if baseLayer >= capLayer {
		r.delayOrder(what, "base_delay", s.BaseDelay, "max_delay", s.MaxDelay, "set max_delay too, or lower base_delay")
	} else {
		r.delayOrder(what, "max_delay", s.MaxDelay, "base_delay", s.BaseDelay, "raise max_delay, or set base_delay too")
	}
}

func (r *Policies) delayOrder(what, key string, at catalog.Value[time.Duration],
	otherKey string, other catalog.Value[time.Duration], hint string) {
	relation := "longer"
	if key == "max_delay" {
		relation = "shorter"
	}
	f := r.Report(r.WordAt(at.Pos), rules.DelayOrder, "%s %s of %s is %s than its %s %s",
		key, catalog.Short(at.V), what, relation, otherKey, catalog.Short(other.V))
	if other.Written() {
		f.See(r.WordAt(other.Pos), "%s is here", otherKey)
	} else {
		f.Message += ", which is built in"
	}
	f.Hint = hint
}

// Declared are the events of a catalogue, and what could not be read of them: its absence is no second fault.
type Declared struct {
	Events []*catalog.Event // in file order
	None   bool             // no file has one
	// incomplete is set if there are none, and if a name or a file could not be read: what is missed may be declared
	// there.
	Incomplete     bool
	BrokenPayloads map[*catalog.Event]bool // events with findings about their payloads, or about types
	BrokenKeys     map[*catalog.Event]bool // events with findings about their partition_by
}

// NewDeclared returns no events yet. incomplete is set if a file could not be read.
func NewDeclared(incomplete bool) *Declared {
	return &Declared{nil, false, incomplete, map[*catalog.Event]bool{}, map[*catalog.Event]bool{}}
}
