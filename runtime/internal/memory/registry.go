package memory

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// pid is that of the owner of any log here.
var pid = os.Getpid()

// DeclareTypes implements [engine.Registry].
func (l *Log) DeclareTypes(_ context.Context, specs []engine.TypeSpec) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	for key, stored := range l.schemas {
		if err := engine.Unfit(specs, key.Name, stored); err != nil && l.has(key) {
			return err
		}
	}
	for _, spec := range specs {
		l.own[spec.Name] = spec.Name
		for _, alias := range spec.Aliases {
			l.own[alias] = spec.Name
		}
		key := typenames.Key{Name: spec.Name, Version: max(spec.Version, 1)}
		if spec.Schema != "" && l.schemas[key].Text != spec.Schema {
			l.schemas[key] = engine.Schema{Version: key.Version, Text: spec.Schema, StoredAt: time.Now().UTC(), Program: l.options.Program}
		}
	}
	for _, key := range typenames.Missing(l.types, specs) {
		l.declareType(key)
	}
	l.reroute(func() {
		for id, name := range typenames.Renamed(l.types, specs) {
			l.types[id-1].Name = name
		}
	})
	l.releaseHeld() // a pause of types may have matched what is another type now
	return nil
}

// has reports whether there is an event of a type and version.
func (s *store) has(key typenames.Key) bool {
	for _, r := range s.events {
		if r.Type == key.Name && max(r.Version, 1) == key.Version {
			return true
		}
	}
	return false
}

// declareType adds a type unless it is known.
func (s *store) declareType(key typenames.Key) {
	row := typenames.Row{ID: int64(len(s.types) + 1), Name: key.Name, Written: key.Name, Version: key.Version}
	if base, dead := strings.CutPrefix(key.Name, engine.DeadType("")); dead {
		row.Name = engine.DeadType(s.nameOf(base))
	}
	for _, other := range s.types {
		if other.Written == row.Written && other.Version == row.Version {
			return
		}
		if other.Written == row.Written {
			row.Name = other.Name
		}
	}
	s.reroute(func() { s.types = append(s.types, row) })
}

// nameOf returns what the type is called that was published under a name.
func (s *store) nameOf(written string) string {
	for _, row := range s.types {
		if row.Written == written {
			return row.Name
		}
	}
	return written
}

// namesOf returns all names of the type that was published under a name.
func (s *store) namesOf(written string) []string {
	if names := typenames.All(s.types)[s.nameOf(written)]; names != nil {
		return names
	}
	return []string{written}
}

// wanted reports whether some subscription gets one of the bus's own types.
func (s *store) wanted(ownType string) bool {
	name := ownType
	if base, dead := strings.CutPrefix(ownType, engine.DeadType("")); dead {
		name = engine.DeadType(s.nameOf(base))
	}
	return slices.ContainsFunc(s.types, func(row typenames.Row) bool {
		return row.Name == name && slices.ContainsFunc(s.subscriptions, func(sub *subscription) bool { return sub.routes[row.Written] })
	})
}

// reroute changes types or patterns. Events that a subscription has not got yet, and
// would not get any more, are its deliveries from now on.
func (s *store) reroute(change func()) {
	change()
	names := typenames.All(s.types)
	for _, sub := range s.subscriptions {
		before := sub.routes
		sub.routes = map[string]bool{}
		for _, row := range s.types {
			if matches, err := typenames.MatchesAny(sub.pattern, names[row.Name]); matches && err == nil {
				sub.routes[row.Written] = true
			}
		}
		for seq := sub.next; seq <= s.last; seq++ {
			if r := s.events[seq]; r != nil && before[r.Type] && !sub.routes[r.Type] && sub.passes(r) {
				sub.add(r)
			}
		}
	}
	for _, l := range s.logs {
		l.here = typenames.Here(s.types, l.own)
	}
}

// DeclareConsumers implements [engine.Registry].
func (l *Log) DeclareConsumers(_ context.Context, specs []engine.ConsumerSpec) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	return l.declareConsumers(specs)
}

func (l *Log) declareConsumers(specs []engine.ConsumerSpec) error {
	for _, spec := range specs {
		if _, err := l.find(spec); err != nil {
			return err
		}
	}
	l.freeNames(specs)
	for _, spec := range specs {
		sub, err := l.find(spec)
		if err != nil {
			return err
		}
		for _, c := range l.consumers {
			if c.sub == sub && c.name != spec.Name {
				return &engine.AliasError{Name: spec.Name, Alias: c.name, Shared: true}
			}
		}
		l.declare(sub, spec)
	}
	return nil
}

// known returns the subscription that has a name, or had it before, or nil.
func (s *store) known(name string) *subscription {
	var former *subscription
	for _, sub := range s.subscriptions {
		if sub.name == name {
			return sub
		}
		if slices.Contains(sub.former, name) {
			former = sub
		}
	}
	return former
}

// find returns the subscription of a spec, by its name or a former one, or nil.
func (s *store) find(spec engine.ConsumerSpec) (*subscription, error) {
	found := s.known(spec.Name)
	for _, alias := range spec.Aliases {
		other := s.known(alias)
		if other == nil || other == found {
			continue
		}
		if found != nil {
			return nil, &engine.AliasError{Name: spec.Name, Alias: alias}
		}
		found = other
	}
	return found, nil
}

// freeNames takes former names away from subscriptions whose present name is wanted
// at the same time: then the former name stands for another subscription.
func (l *Log) freeNames(specs []engine.ConsumerSpec) {
	wanted := map[string]bool{}
	for _, spec := range specs {
		wanted[spec.Name] = true
	}
	for _, c := range l.consumers {
		wanted[c.name] = true
	}
	for _, spec := range specs {
		if found := l.known(spec.Name); found != nil && found.name != spec.Name && wanted[found.name] {
			found.former = slices.DeleteFunc(found.former, func(name string) bool { return name == spec.Name })
		}
	}
}

// declare adds a subscription, or gives a known one its name and its pattern.
func (s *store) declare(sub *subscription, spec engine.ConsumerSpec) {
	if spec.Pattern[0] == engine.OwnType {
		s.declareType(typenames.Key{Name: spec.Pattern, Version: 1})
	}
	switch {
	case sub == nil:
		sub = &subscription{name: spec.Name, start: s.last, deliveries: map[int64]*delivery{}}
		if spec.FromBeginning {
			sub.start = 0
		}
		sub.next = sub.start + 1
		s.subscriptions = append(s.subscriptions, sub)
		s.reroute(func() { sub.pattern = spec.Pattern })
		s.eachFrom(sub.next, func(r *engine.Record) {
			if !r.Due.IsZero() && sub.routes[r.Type] {
				sub.add(r)
			}
		})
	case sub.name != spec.Name && len(spec.Aliases) > 0:
		s.rename(sub, spec.Name)
	}
	for _, alias := range spec.Aliases {
		if s.known(alias) == nil {
			sub.former = append(sub.former, alias)
		}
	}
	if pattern := spec.Over(sub.pattern); pattern != sub.pattern {
		s.reroute(func() { sub.pattern = pattern })
	}
}

func (s *store) rename(sub *subscription, name string) {
	for _, other := range s.subscriptions {
		other.former = slices.DeleteFunc(other.former, func(former string) bool { return former == name })
	}
	for i := range s.pauses {
		if p := &s.pauses[i]; p.Kind == engine.PauseSubscription && p.Target == sub.name {
			p.Target = name
		}
	}
	s.note(engine.AuditEntry{Actor: "busgen", Action: "rename", Subscription: name, Count: 1, Detail: "it was " + sub.name + " before"})
	sub.former = append(sub.former, sub.name)
	sub.name = name
}

// nameHere returns the name that this process uses for a subscription.
func (l *Log) nameHere(sub *subscription) string {
	for _, c := range l.consumers {
		if c.sub == sub {
			return c.name
		}
	}
	return sub.name
}

// eachFrom calls f with the events from a seq on, in order.
func (s *store) eachFrom(seq int64, f func(r *engine.Record)) {
	for seq = max(seq, s.oldest); seq <= s.last; seq++ {
		if r := s.events[seq]; r != nil {
			f(r)
		}
	}
}
