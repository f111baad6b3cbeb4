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

	"github.com/busgen/busgen/runtime/event"
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
	done, err := l.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	tries, look := 0, l.syncRegistry
	for began := time.Now(); ; look = l.sync {
		if err := look(ctx); err != nil {
			if l.waits(ctx, began, err) {
				continue
			}
			return err
		}
		if err := l.enter(); err != nil {
			return err
		}
		before, rev := l.registry, l.registryRev
		r := before.clone()
		l.entries = 0
		besides, err := edit(&r)
		l.mu.Unlock()
		if errors.Is(err, errSame) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(besides) > 0 && !l.followsAll.Load() { // they depend on other records
			continue
		}
		if r.Format == 0 {
			r.Format = format
		}
		r.keepLost(&before)
		data, err := json.Marshal(r)
		if err != nil {
			return err
		}
		msgs := append([]*stream.Msg{{Subject: l.subject(registryToken), Data: data, Only: true, Expect: stream.Expecting(rev)}}, besides...)
		seq, err := l.append(ctx, msgs...)
		// If it is in doubt the next look tells: this, or the change of somebody else.
		if errors.Is(err, stream.ErrConflict) {
			if err := l.refused(ctx, msgs); err != nil {
				return err
			}
			l.yield(ctx, &tries)
			continue
		}
		if err != nil && l.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return l.storage("change", err)
		}
		if !l.followsAll.Load() {
			return l.syncRegistry(ctx)
		}
		return l.learn(ctx, seq+int64(len(msgs))-1)
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
		for j := range s.Also { // what is said again, or holds anyway
			s.Also[j].Types = slices.DeleteFunc(slices.Clone(s.Also[j].Types), func(written string) bool {
				return are[s.ID][written] || were[s.ID][written] && s.Also[j].Until != ownSeq
			})
		}
		s.Also = slices.DeleteFunc(s.Also, func(a also) bool { return len(a.Types) == 0 })
		if len(lost) > 0 {
			slices.Sort(lost)
			s.Also = append(s.Also, also{Until: ownSeq, Types: lost})
		}
	}
}

// Declare implements [engine.Registry].
func (l *Log) Declare(ctx context.Context, types []engine.TypeSpec, consumers []engine.ConsumerSpec) error {
	if err := l.fitting(ctx, types); err != nil {
		return err
	}
	if err := l.enter(); err != nil {
		return err
	}
	for _, spec := range types {
		for _, name := range append([]string{spec.Name}, spec.Aliases...) {
			if l.own[name] = spec.Name; spec.Version > 1 {
				l.versions[name] = spec.Version
			}
		}
	}
	l.here = typenames.Here(l.registry.Types, l.own)
	l.mu.Unlock()
	if err := l.declare(ctx, types, consumers); err != nil {
		return err
	}
	return l.storeSchemas(ctx, types)
}

// declare stores what the registry has of types and consumers.
func (l *Log) declare(ctx context.Context, types []engine.TypeSpec, consumers []engine.ConsumerSpec) error {
	return l.changeWith(ctx, func(r *registry) (notes []*stream.Msg, err error) {
		before, _ := json.Marshal(r)
		for _, key := range typenames.Missing(r.Types, types) {
			r.declareType(key)
		}
		for id, name := range typenames.Renamed(r.Types, types) {
			r.Types[id-1].Name = name
		}
		if notes, err = l.declareConsumers(r, consumers); err != nil {
			return nil, err
		}
		if after, _ := json.Marshal(r); string(before) == string(after) {
			return nil, errSame
		}
		return notes, nil
	})
}

// fitting returns an error if the bus has events whose payload is another one than the program's. Of what version they are,
// their subjects do not say: any event of the type counts.
func (l *Log) fitting(ctx context.Context, specs []engine.TypeSpec) error {
	if err := l.enter(); err != nil {
		return err
	}
	unfit := map[string]error{} // by the name under which they were published
	for _, stored := range l.schemas {
		if err := engine.Unfit(specs, stored.Type, stored.Of); err != nil {
			unfit[stored.Type] = err
		}
	}
	l.mu.Unlock()
	for written, err := range unfit {
		n, countErr := l.stream.CountFrom(ctx, l.subject(eventToken, "*", token(written)), 1)
		if countErr != nil {
			return l.storage("declare types in", countErr)
		}
		if n > 0 {
			return err
		}
	}
	return nil
}

func (l *Log) storeSchemas(ctx context.Context, specs []engine.TypeSpec) error {
	for _, spec := range specs {
		if spec.Schema == "" {
			continue
		}
		version := max(spec.Version, 1)
		subject := l.schemaSubject(spec.Name, version)
		if err := l.enter(); err != nil {
			return err
		}
		same := l.schemas[subject].Of.Text == spec.Schema
		l.mu.Unlock()
		if same {
			continue
		}
		fresh := schema{spec.Name, event.Schema{Version: version, Text: spec.Schema, StoredAt: time.Now().UTC(), Program: l.options.Program}}
		data, err := json.Marshal(fresh)
		if err != nil {
			return err
		}
		if err := l.patiently(ctx, func() error {
			_, err := l.append(ctx, &stream.Msg{Subject: subject, Data: data, Only: true})
			return err
		}); err != nil {
			return l.storage("declare types in", err)
		}
		l.mu.Lock()
		l.schemas[subject] = fresh
		l.mu.Unlock()
	}
	return nil
}

func (l *Log) schemaSubject(eventType string, version int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", eventType, version)
	return l.subject(schemaToken, fmt.Sprintf("%016x", h.Sum64()))
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

// isWanted is wanted for who does not hold mu.
func (l *Log) isWanted(ownType string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wanted(ownType)
}

// declareTypesOf makes the types of records known before their first event.
func (l *Log) declareTypesOf(ctx context.Context, records []engine.Record) error {
	if l.isClosed() {
		return l.ended()
	}
	known := *l.types.Load()
	var missing map[typenames.Key]bool
	for i := range records {
		key := typenames.Key{Name: records[i].Type, Version: max(records[i].Version, 1)}
		if (i == 0 || records[i].Type != records[i-1].Type || records[i].Version != records[i-1].Version) && !known[key] {
			if missing == nil {
				missing = map[typenames.Key]bool{}
			}
			missing[key] = true
		}
	}
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

// nameHere returns the name that this process uses for a subscription. The caller holds mu.
func (l *Log) nameHere(id, name string) string {
	if u := l.units[id]; u != nil && u.consumer != nil {
		return u.consumer.name
	}
	return name
}
