package bind

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// CatalogueSettings are the settings that a catalogue has for several events. Generated code has
// them once, and the events have only their own.
type CatalogueSettings struct {
	Defaults declare.Override  // of all events
	Priority *runtime.Priority // of all events; nil for [runtime.PriorityNormal]
	Policies []Policy          // in any order
	Headers  []declare.Header  // of all events; those of a policy go before others of the same name
}

// Policy has settings of the events that match a pattern. A more specific pattern goes before a
// less specific one.
type Policy struct {
	Pattern  string // order.*
	Settings declare.Override
	Priority *runtime.Priority // nil to inherit it
	Headers  []declare.Header
}

// Description describes an event type in generated code. It is a [runtime.Spec] that does not depend on
// the type of the payload, so that it is mostly data. [Describe] takes it.
type Description struct {
	Name string // as in Spec
	// Label is what the catalogue calls the event, for policies; empty if that is Name.
	Label string
	Doc   string
	// Shared are the defaults and policies, and Own what the event sets itself.
	Shared *CatalogueSettings
	Own    declare.Override
	// Priority is that of the event; nil to inherit it.
	Priority *runtime.Priority
	// PartitionBy and DedupeBy are the Go names of fields with scalars, with dots between
	// them for one in a struct; empty for none. LimitKeys are such fields by their path in
	// the catalogue. See Spec.
	PartitionBy, DedupeBy string
	LimitKeys             map[string]string
	AwaitBy               []string // as in Spec
	Version               int      // as in Spec, and those below
	Upcasts               []runtime.Upcast
	Aliases               []string
	Shape                 string
	Schema                string
	Subscriptions         []Declaration
	Schedules             []declare.Schedule
}

// Declaration is a [declare.Subscription] with only the settings that it sets itself.
type Declaration struct {
	Name         string
	Own          declare.Override
	Aliases      []string
	Group        string
	GroupAliases []string
}

// Describe returns the event type that d describes. Its payloads are of the type that pointer, a nil pointer, points
// to. Generated code converts it to one of that type. Describe panics if d could not have come from busgen.
//
//go:noinline
func Describe(pointer any, d *Description) *runtime.EventType[runtime.Payload] {
	of := reflect.TypeOf(pointer).Elem()
	var limits map[string]func(payload any) string
	for path, field := range d.LimitKeys {
		if limits == nil {
			limits = map[string]func(payload any) string{}
		}
		limits[path] = keyOfField(of, field)
	}
	return inner.Define(pointer, d.spec(), keyOfField(of, d.PartitionBy), keyOfField(of, d.DedupeBy), limits)
}

// spec returns the description with settings that are resolved.
func (d *Description) spec() runtime.Spec[runtime.Payload] {
	spec := runtime.Spec[runtime.Payload]{
		Name: d.Name, Doc: d.Doc, Version: d.Version, Upcasts: d.Upcasts, Aliases: d.Aliases, AwaitBy: d.AwaitBy,
		Shape: d.Shape, Schema: d.Schema, Schedules: d.Schedules,
	}
	var overrides []*declare.Override
	for _, p := range d.places() {
		overrides = append(overrides, &p.Settings)
		if p.Priority != nil {
			spec.Priority = *p.Priority
		}
		spec.Headers = overlayHeaders(spec.Headers, p.Headers)
	}
	spec.Settings = declare.Resolve(overrides...)
	for _, s := range d.Subscriptions {
		spec.Subscriptions = append(spec.Subscriptions, declare.Subscription{
			Name: s.Name, Settings: declare.Resolve(append(slices.Clip(overrides), &s.Own)...), Aliases: s.Aliases, Group: s.Group, GroupAliases: s.GroupAliases,
		})
	}
	return spec
}

// places returns what says something of the event, the least specific first: the defaults, the policies that match, and
// the event itself.
func (d *Description) places() []*Policy {
	type match struct {
		pattern glob.Pattern
		policy  *Policy
	}
	shared := cmp.Or(d.Shared, new(CatalogueSettings))
	var matches []match
	for i := range shared.Policies {
		pattern, err := glob.Parse(shared.Policies[i].Pattern)
		if err != nil {
			panic(fmt.Sprintf("bind.Describe(%s): policy %q: %v", d.Name, shared.Policies[i].Pattern, err))
		}
		if pattern.Match(cmp.Or(d.Label, d.Name)) {
			matches = append(matches, match{pattern, &shared.Policies[i]})
		}
	}
	slices.SortStableFunc(matches, func(a, b match) int { return glob.Compare(a.pattern, b.pattern) })
	places := []*Policy{{Settings: shared.Defaults, Priority: shared.Priority, Headers: shared.Headers}}
	for _, m := range matches {
		places = append(places, m.policy)
	}
	return append(places, &Policy{Settings: d.Own, Priority: d.Priority})
}

// overlayHeaders returns headers with those of a more specific place, which replace others of the
// same names.
func overlayHeaders(headers, over []declare.Header) []declare.Header {
	for _, h := range over {
		same := func(other declare.Header) bool { return other.Name == h.Name }
		headers = append(slices.DeleteFunc(slices.Clone(headers), same), h)
	}
	return headers
}
