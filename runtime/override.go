package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/retry"
)

// Override holds the settings that one place sets: the defaults of a catalogue, a policy, an
// event or a subscription, or the options of a call that subscribes. What it does not set is
// inherited, field by field. A field that is nil, or has no options, is not set; a pointer to
// zero sets zero. [Settings] says what each means. An Override is not changed once it is in use.
type Override struct {
	Retry           []retry.Option
	Timeout         *time.Duration // 0 for as long as it likes
	SlowAfter       *time.Duration // 0 for never
	SlowEventAfter  *time.Duration // Forever for never
	ExpiresAfter    *time.Duration // 0 for no limit
	HoldUnknown     *time.Duration // 0 for not at all
	MaxSnoozes      *int           // 0 for no limit
	Breaker         []breaker.Option
	FailureThrottle *int // 0 for never
	Concurrency     *int
	StrictOrder     *bool
	BatchSize       *int
	BatchWait       *time.Duration
	Limits          []LimitUse  // replaces all; empty but not nil for none
	Errors          []ErrorRule // go before those that are inherited; of one class they are one rule
	Redrive         RedriveOverride
	Priority        *Priority // of an event, or of events: a subscription has none of its own
}

// With returns s with what o sets. A redrive that o switches on or off replaces that of s as a
// whole. Settings have no priority. s is not changed, and shares no slices with what is returned
// that o sets.
func (s Settings) With(o Override) Settings {
	r := resolving{settings: s, redrive: s.Redrive, redriveOff: s.Redrive.Max == 0}
	if r.redriveOff || o.Redrive.Off != nil {
		r.redrive = defaultRedrive()
	}
	r.apply(&o)
	settings, _ := r.result()
	return settings
}

// RedriveOverride sets fields of [Redrive].
type RedriveOverride struct {
	Off     *bool // nothing is retried automatically
	Reasons []string
	Every   *time.Duration
	Max     *int
}

// CatalogueSettings are the settings that a catalogue has for several events. Generated code has
// them once, and the events have only their own.
type CatalogueSettings struct {
	Defaults Override // of all events
	Policies []Policy // in any order
	Headers  []Header // of all events; those of a policy go before others of the same name
}

// Policy has settings of the events that match a pattern. A more specific pattern goes before a
// less specific one.
type Policy struct {
	Pattern  string // order.*
	Settings Override
	Headers  []Header
}

// resolve returns the settings of the event that the catalogue calls label: the built-in ones,
// the defaults over them, then the policies that match, from the least to the most specific, and
// then others, which are those of the event and perhaps of a subscription.
func (c *CatalogueSettings) resolve(label string, others ...*Override) (Settings, Priority, error) {
	r := resolving{settings: DefaultSettings(), redriveOff: true, redrive: defaultRedrive()}
	if c != nil {
		r.apply(&c.Defaults)
		matching, err := c.matching(label)
		if err != nil {
			return Settings{}, 0, err
		}
		for _, p := range matching {
			r.apply(&p.Settings)
		}
	}
	for _, o := range others {
		if o != nil {
			r.apply(o)
		}
	}
	settings, priority := r.result()
	return settings, priority, nil
}

// headers returns the headers of the event that the catalogue calls label.
func (c *CatalogueSettings) headers(label string) ([]Header, error) {
	if c == nil {
		return nil, nil
	}
	matching, err := c.matching(label)
	headers := c.Headers
	for _, p := range matching {
		headers = overlayHeaders(headers, p.Headers)
	}
	return headers, err
}

// matching returns the policies that match label, the least specific first.
func (c *CatalogueSettings) matching(label string) ([]*Policy, error) {
	type match struct {
		pattern glob.Pattern
		policy  *Policy
	}
	var matches []match
	for i := range c.Policies {
		pattern, err := glob.Parse(c.Policies[i].Pattern)
		if err != nil {
			return nil, fmt.Errorf("policy %q: %w", c.Policies[i].Pattern, err)
		}
		if pattern.Match(label) {
			matches = append(matches, match{pattern, &c.Policies[i]})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return glob.Compare(a.pattern, b.pattern) })
	var policies []*Policy
	for _, m := range matches {
		policies = append(policies, m.policy)
	}
	return policies, nil
}

// defaultRedrive is what a redrive has where its fields are not set.
func defaultRedrive() Redrive { return Redrive{Every: time.Hour, Max: 3} }

// resolving lays overrides over settings.
type resolving struct {
	settings   Settings
	priority   Priority
	redrive    Redrive
	redriveOff bool
}

func (r *resolving) apply(o *Override) {
	s := &r.settings
	s.Retry, s.Breaker = s.Retry.With(o.Retry...), s.Breaker.With(o.Breaker...)
	replace(&s.Timeout, o.Timeout)
	replace(&s.SlowAfter, o.SlowAfter)
	replace(&s.SlowEventAfter, o.SlowEventAfter)
	replace(&s.ExpiresAfter, o.ExpiresAfter)
	replace(&s.HoldUnknown, o.HoldUnknown)
	replace(&s.MaxSnoozes, o.MaxSnoozes)
	replace(&s.FailureThrottle, o.FailureThrottle)
	replace(&s.Concurrency, o.Concurrency)
	replace(&s.StrictOrder, o.StrictOrder)
	if (o.BatchSize != nil || o.BatchWait != nil) && s.Batch == (Batch{}) {
		s.Batch = Batch{Size: defaultBatchSize, Wait: defaultBatchWait}
	}
	replace(&s.Batch.Size, o.BatchSize)
	replace(&s.Batch.Wait, o.BatchWait)
	if o.Limits != nil {
		s.Limits = slices.Concat(o.Limits) // nil for none
	}
	s.Errors = overlayRules(s.Errors, o.Errors)
	replace(&r.redriveOff, o.Redrive.Off)
	if o.Redrive.Reasons != nil {
		r.redrive.Reasons = o.Redrive.Reasons
	}
	replace(&r.redrive.Every, o.Redrive.Every)
	replace(&r.redrive.Max, o.Redrive.Max)
	replace(&r.priority, o.Priority)
}

func (r *resolving) result() (Settings, Priority) {
	s := r.settings
	if s.Concurrency == 1 {
		s.Concurrency = 0
	}
	s.Redrive = r.redrive
	if r.redriveOff {
		s.Redrive = Redrive{}
	}
	return s, r.priority
}

func replace[T any](dst *T, value *T) {
	if value != nil {
		*dst = *value
	}
}

// overlayRules puts own rules in front of those that are inherited. A class that both have is one
// rule, retried by the options of both, unless the own one is permanent.
func overlayRules(inherited, own []ErrorRule) []ErrorRule {
	if len(own) == 0 {
		return inherited
	}
	indexOf := func(rules []ErrorRule, class string) int {
		return slices.IndexFunc(rules, func(r ErrorRule) bool { return r.Class == class })
	}
	var rules []ErrorRule
	for _, rule := range own {
		if i := indexOf(inherited, rule.Class); i >= 0 && !rule.Permanent {
			rule.Retry = retry.Merge(inherited[i].Retry, rule.Retry)
		}
		rules = append(rules, rule)
	}
	for _, rule := range inherited {
		if indexOf(own, rule.Class) < 0 {
			rules = append(rules, rule)
		}
	}
	return rules
}

// Description describes an event type in generated code. It is a [Spec] that does not depend on
// the type of the payload, so that it is mostly data. [DescribeAs] takes it.
type Description struct {
	Name string // as in Spec
	// Label is what the catalogue calls the event, for policies; empty if that is Name.
	Label string
	Doc   string
	// Shared are the defaults and policies, and Own what the event sets itself.
	Shared *CatalogueSettings
	Own    Override
	// PartitionBy and DedupeBy are the Go names of fields with scalars, with dots between
	// them for one in a struct; empty for none. LimitKeys are such fields by their path in
	// the catalogue. See Spec.
	PartitionBy, DedupeBy string
	LimitKeys             map[string]string
	Version               int // as in Spec, and those below
	Upcasts               []Upcast
	Aliases               []string
	Shape                 string
	Schema                string
	Subscriptions         []Declaration
	Schedules             []Schedule
}

// Declaration is a [DeclaredSubscription] with only the settings that it sets itself.
type Declaration struct {
	Name         string
	Own          Override
	Aliases      []string
	Group        string
	GroupAliases []string
}

// spec returns the description with settings that are resolved.
func specOf(d *Description) Spec[Payload] {
	spec := Spec[Payload]{
		Name: d.Name, Doc: d.Doc, Version: d.Version, Upcasts: d.Upcasts, Aliases: d.Aliases,
		Shape: d.Shape, Schema: d.Schema, Schedules: d.Schedules,
	}
	label := cmp.Or(d.Label, d.Name)
	var err error
	if spec.Settings, spec.Priority, err = d.Shared.resolve(label, &d.Own); err == nil {
		spec.Headers, err = d.Shared.headers(label)
	}
	if err != nil {
		panic(fmt.Sprintf("runtime.DescribeAs(%s): %v", d.Name, err))
	}
	for _, s := range d.Subscriptions {
		settings, _, _ := d.Shared.resolve(label, &d.Own, &s.Own)
		spec.Subscriptions = append(spec.Subscriptions, DeclaredSubscription{
			Name: s.Name, Settings: settings, Aliases: s.Aliases, Group: s.Group, GroupAliases: s.GroupAliases,
		})
	}
	return spec
}
