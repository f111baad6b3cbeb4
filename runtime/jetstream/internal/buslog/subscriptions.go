package buslog

import (
	"slices"

	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// declareConsumers adds consumers, or changes known ones. It returns the entries of the audit. The caller holds mu.
func (ed *editor) declareConsumers(r *registry, specs []engine.ConsumerSpec) (notes []*stream.Msg, err error) {
	for _, spec := range specs {
		if _, err := r.find(spec); err != nil {
			return nil, err
		}
	}
	ed.freeNames(r, specs)
	for _, spec := range specs {
		s, err := r.find(spec)
		if err != nil {
			return nil, err
		}
		if s != nil {
			if name := ed.subs[s.ID].calledHere(); name != "" && name != spec.Name {
				return nil, &event.AliasError{Name: spec.Name, Alias: name, Shared: true}
			}
		}
		if renamed := r.declare(s, spec); renamed != "" {
			notes = append(notes, ed.auditMsg(event.AuditEntry{
				Actor: "busgen", Action: "rename", Subscription: spec.Name, Count: 1, Detail: "it was " + renamed + " before",
			}))
		}
	}
	return notes, nil
}

// find returns the subscription of a spec, by its name or a former one, or nil.
func (r *registry) find(spec engine.ConsumerSpec) (*subscription, error) {
	found := r.known(spec.Name)
	for _, alias := range spec.Aliases {
		other := r.known(alias)
		if other == nil || other == found {
			continue
		}
		if found != nil {
			return nil, &event.AliasError{Name: spec.Name, Alias: alias}
		}
		found = other
	}
	return found, nil
}

// freeNames takes former names away from subscriptions whose present name is wanted at the
// same time: then the former name stands for another subscription.
func (ed *editor) freeNames(r *registry, specs []engine.ConsumerSpec) {
	wanted := map[string]bool{}
	for _, spec := range specs {
		wanted[spec.Name] = true
	}
	for _, s := range ed.listening {
		if name := s.calledHere(); name != "" {
			wanted[name] = true
		}
	}
	for _, spec := range specs {
		if found := r.known(spec.Name); found != nil && found.Name != spec.Name && wanted[found.Name] {
			found.Former = slices.DeleteFunc(found.Former, func(name string) bool { return name == spec.Name })
		}
	}
}

// declare adds a subscription, or gives a known one its name and its pattern. It returns
// the name that it had, if that changes.
func (r *registry) declare(s *subscription, spec engine.ConsumerSpec) (renamed string) {
	if engine.IsOwn(spec.Pattern) {
		r.declareType(typenames.Key{Name: spec.Pattern, Version: 1})
	}
	switch {
	case s == nil:
		fresh := subscription{ID: nuid.Next(), Name: spec.Name, Pattern: spec.Pattern, Start: ownSeq}
		if spec.FromBeginning {
			fresh.Start = 0
		}
		r.Subs = append(r.Subs, fresh)
		s = &r.Subs[len(r.Subs)-1]
	case s.Name != spec.Name && len(spec.Aliases) > 0:
		renamed = s.Name
		r.rename(s, spec.Name)
	}
	for _, alias := range spec.Aliases {
		if r.known(alias) == nil {
			s.Former = append(s.Former, alias)
		}
	}
	s.Pattern = spec.Over(s.Pattern)
	return renamed
}

func (r *registry) rename(s *subscription, name string) {
	for i := range r.Subs {
		other := &r.Subs[i]
		other.Former = slices.DeleteFunc(other.Former, func(former string) bool { return former == name })
	}
	for i := range r.Pauses {
		if p := &r.Pauses[i]; p.Kind == engine.PauseSubscription && p.Target == s.Name {
			p.Target = name
		}
	}
	s.Former = append(s.Former, s.Name)
	s.Name = name
}

// known returns the subscription that has a name, or had it before, or nil.
func (r *registry) known(name string) *subscription {
	var former *subscription
	for i := range r.Subs {
		s := &r.Subs[i]
		if s.Name == name {
			return s
		}
		if slices.Contains(s.Former, name) {
			former = s
		}
	}
	return former
}
