package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// errSame says that a change changes nothing.
var errSame = errors.New("nothing to change")

// change changes the registry. edit is called with mu held, and again if somebody else has changed the registry meanwhile. It
// may return errSame.
func (l *Log) change(ctx context.Context, edit func(*registry) error) error {
	return l.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) { return nil, edit(r) })
}

// changeWith is change for who stores other messages in the same batch.
func (l *Log) changeWith(ctx context.Context, edit func(*registry) ([]*stream.Msg, error)) error {
	for {
		if err := l.sync(ctx); err != nil {
			return err
		}
		if err := l.enter(); err != nil {
			return err
		}
		before, rev := l.registry, l.registryRev
		r := before.clone()
		besides, err := edit(&r)
		l.mu.Unlock()
		if errors.Is(err, errSame) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Format = format
		r.keepLost(&before)
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		msgs := append([]*stream.Msg{{Subject: l.subject(registryToken), Data: data, Only: true, Expect: stream.Expecting(rev)}}, besides...)
		seq, _, err := l.stream.Append(ctx, msgs...)
		if errors.Is(err, stream.ErrConflict) {
			continue
		}
		if err != nil {
			return l.storage("change", err)
		}
		return l.reach(ctx, seq+int64(len(msgs))-1)
	}
}

func (r *registry) clone() registry {
	c := *r
	c.Types, c.Pauses, c.Subs = slices.Clone(r.Types), slices.Clone(r.Pauses), slices.Clone(r.Subs)
	for i := range c.Subs {
		s := &c.Subs[i]
		s.Former = slices.Clone(s.Former)
		s.Also = slices.Clone(s.Also)
	}
	return c
}

// routes returns the types that each subscription gets, by its id.
func (r *registry) routes() map[string]map[string]bool {
	names, all := typenames.All(r.Types), map[string]map[string]bool{}
	for _, s := range r.Subs {
		routes := map[string]bool{}
		for _, t := range r.Types {
			if ok, err := typenames.MatchesAny(s.Pattern, names[t.Name]); ok && err == nil {
				routes[t.Written] = true
			}
		}
		all[s.ID] = routes
	}
	return all
}

// keepLost lets subscriptions keep the events that they matched before a change and do not
// match any more.
func (r *registry) keepLost(before *registry) {
	were, are := before.routes(), r.routes()
	for i := range r.Subs {
		s := &r.Subs[i]
		var lost []string
		for written := range were[s.ID] {
			if !are[s.ID][written] {
				lost = append(lost, written)
			}
		}
		if len(lost) > 0 {
			slices.Sort(lost)
			s.Also = append(s.Also, also{Until: ownSeq, Types: lost})
		}
	}
}

// DeclareTypes implements [engine.Registry].
func (l *Log) DeclareTypes(ctx context.Context, specs []engine.TypeSpec) error {
	if err := l.enter(); err != nil {
		return err
	}
	for _, spec := range specs {
		l.own[spec.Name] = spec.Name
		for _, alias := range spec.Aliases {
			l.own[alias] = spec.Name
		}
	}
	l.here = typenames.Here(l.registry.Types, l.own)
	l.mu.Unlock()
	err := l.change(ctx, func(r *registry) error {
		changed := false
		for _, key := range typenames.Missing(r.Types, specs) {
			changed = r.declareType(key) || changed
		}
		for id, name := range typenames.Renamed(r.Types, specs) {
			r.Types[id-1].Name = name
			changed = true
		}
		if !changed {
			return errSame
		}
		return nil
	})
	if err != nil {
		return err
	}
	return l.storeSchemas(ctx, specs)
}

func (l *Log) storeSchemas(ctx context.Context, specs []engine.TypeSpec) error {
	for _, spec := range specs {
		if spec.Schema == "" {
			continue
		}
		version := max(spec.Version, 1)
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d", spec.Name, version)
		subject := l.subject(schemaToken, fmt.Sprintf("%016x", h.Sum64()))
		if err := l.enter(); err != nil {
			return err
		}
		same := l.schemas[subject].Of.Text == spec.Schema
		l.mu.Unlock()
		if same {
			continue
		}
		data, err := json.Marshal(schema{spec.Name, engine.Schema{Version: version, Text: spec.Schema, StoredAt: time.Now().UTC(), Program: l.options.Program}})
		if err != nil {
			return err
		}
		seq, _, err := l.stream.Append(ctx, &stream.Msg{Subject: subject, Data: data, Only: true})
		if err != nil {
			return l.storage("declare types in", err)
		}
		if err := l.reach(ctx, seq); err != nil {
			return err
		}
	}
	return nil
}

// declareType adds a type unless it is known.
func (r *registry) declareType(key typenames.Key) bool {
	row := typenames.Row{ID: int64(len(r.Types) + 1), Name: key.Name, Written: key.Name, Version: key.Version}
	if base, dead := strings.CutPrefix(key.Name, engine.DeadType("")); dead {
		row.Name = engine.DeadType(r.nameOf(base))
	}
	for _, other := range r.Types {
		if other.Written == row.Written && other.Version == row.Version {
			return false
		}
		if other.Written == row.Written {
			row.Name = other.Name
		}
	}
	r.Types = append(r.Types, row)
	return true
}

// nameOf returns what the type is called that was published under a name.
func (r *registry) nameOf(written string) string {
	for _, row := range r.Types {
		if row.Written == written {
			return row.Name
		}
	}
	return written
}

// namesOf returns all names of the type that was published under a name.
func (r *registry) namesOf(written string) []string {
	if names := typenames.All(r.Types)[r.nameOf(written)]; names != nil {
		return names
	}
	return []string{written}
}

// hasType reports whether a type is known in the version of a record.
func (r *registry) hasType(key typenames.Key) bool {
	return slices.ContainsFunc(r.Types, func(row typenames.Row) bool { return row.Written == key.Name && row.Version == key.Version })
}

// wanted reports whether some subscription gets one of the bus's own types. The caller
// holds mu.
func (l *Log) wanted(ownType string) bool {
	name := ownType
	if base, dead := strings.CutPrefix(ownType, engine.DeadType("")); dead {
		name = engine.DeadType(l.registry.nameOf(base))
	}
	return slices.ContainsFunc(l.registry.Types, func(row typenames.Row) bool {
		return row.Name == name && slices.ContainsFunc(l.registry.Subs, func(s subscription) bool { return l.subs[s.ID].routes[row.Written] })
	})
}

// declareTypesOf makes the types of records known before their first event.
func (l *Log) declareTypesOf(ctx context.Context, records []engine.Record) error {
	if err := l.enter(); err != nil {
		return err
	}
	missing := map[typenames.Key]bool{}
	for i := range records {
		key := typenames.Key{Name: records[i].Type, Version: max(records[i].Version, 1)}
		if !l.registry.hasType(key) {
			missing[key] = true
		}
	}
	l.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	return l.change(ctx, func(r *registry) error {
		changed := false
		for key := range maps.Keys(missing) {
			changed = r.declareType(key) || changed
		}
		if !changed {
			return errSame
		}
		return nil
	})
}

// DeclareConsumers implements [engine.Registry].
func (l *Log) DeclareConsumers(ctx context.Context, specs []engine.ConsumerSpec) error {
	return l.changeWith(ctx, func(r *registry) (notes []*stream.Msg, err error) {
		before, _ := json.Marshal(r)
		for _, spec := range specs {
			if _, err := r.find(spec); err != nil {
				return nil, err
			}
		}
		l.freeNames(r, specs)
		for _, spec := range specs {
			s, err := r.find(spec)
			if err != nil {
				return nil, err
			}
			for _, u := range l.units {
				if s != nil && u.consumer != nil && u.sub.ID == s.ID && u.consumer.name != spec.Name {
					return nil, &engine.AliasError{Name: spec.Name, Alias: u.consumer.name, Shared: true}
				}
			}
			if renamed := r.declare(s, spec); renamed != "" {
				notes = append(notes, l.auditMsg(engine.AuditEntry{
					Actor: "busgen", Action: "rename", Subscription: spec.Name, Count: 1, Detail: "it was " + renamed + " before",
				}))
			}
		}
		if after, _ := json.Marshal(r); string(before) == string(after) {
			return nil, errSame
		}
		return notes, nil
	})
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
			return nil, &engine.AliasError{Name: spec.Name, Alias: alias}
		}
		found = other
	}
	return found, nil
}

// freeNames takes former names away from subscriptions whose present name is wanted at the
// same time: then the former name stands for another subscription.
func (l *Log) freeNames(r *registry, specs []engine.ConsumerSpec) {
	wanted := map[string]bool{}
	for _, spec := range specs {
		wanted[spec.Name] = true
	}
	for _, u := range l.units {
		if u.consumer != nil {
			wanted[u.consumer.name] = true
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
	if spec.Pattern[0] == engine.OwnType {
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

// nameHere returns the name that this process uses for a subscription. The caller holds mu.
func (l *Log) nameHere(id, name string) string {
	if u := l.units[id]; u != nil && u.consumer != nil {
		return u.consumer.name
	}
	return name
}
