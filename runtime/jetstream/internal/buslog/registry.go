package buslog

import (
	"cmp"
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

// change changes the registry. edit is called with mu held, and again if another process has changed the registry
// meanwhile. It may return errSame.
func (ed *editor) change(ctx context.Context, edit func(*registry) error) error {
	return ed.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) { return nil, edit(r) })
}

// changeWith is change for callers that store other messages in the same batch.
func (ed *editor) changeWith(ctx context.Context, edit func(*registry) ([]*stream.Msg, error)) error {
	done, err := ed.turn(ctx)
	if err != nil {
		return err
	}
	defer done()
	tries, look := 0, ed.syncRegistry
	for began := time.Now(); ; look = ed.sync {
		if err := look(ctx); err != nil {
			if ed.waits(ctx, began, err) {
				continue
			}
			return err
		}
		if err := ed.enter(); err != nil {
			return err
		}
		before, rev := ed.registry, ed.registryRev
		r := before.clone()
		ed.entries = 0
		besides, err := edit(&r)
		ed.mu.Unlock()
		if errors.Is(err, errSame) {
			return nil
		}
		if err != nil {
			return err
		}
		if len(besides) > 0 && !ed.followsAll.Load() { // they depend on other records
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
		msgs := append([]*stream.Msg{{Subject: ed.subject(registryToken), Data: data, Only: true, Expect: stream.Expecting(rev)}}, besides...)
		seq, err := ed.append(ctx, msgs...)
		// If it is in doubt the next look tells: this, or the change of another process.
		if errors.Is(err, stream.ErrConflict) {
			if err := ed.refused(ctx, msgs); err != nil {
				return err
			}
			ed.yield(ctx, &tries)
			continue
		}
		if err != nil && ed.waits(ctx, began, err) {
			continue
		}
		if err != nil {
			return ed.storage("change", err)
		}
		if !ed.followsAll.Load() {
			return ed.syncRegistry(ctx)
		}
		return ed.learn(ctx, seq+int64(len(msgs))-1)
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
func (ed *editor) Declare(ctx context.Context, types []engine.TypeSpec, consumers []engine.ConsumerSpec) error {
	if err := ed.fitting(ctx, types); err != nil {
		return err
	}
	if err := ed.enter(); err != nil {
		return err
	}
	for _, spec := range types {
		for _, name := range append([]string{spec.Name}, spec.Aliases...) {
			if ed.own[name] = spec.Name; spec.Version > 1 {
				ed.versions[name] = spec.Version
			}
		}
	}
	ed.here = typenames.Here(ed.registry.Types, ed.own)
	ed.mu.Unlock()
	if err := ed.declare(ctx, types, consumers); err != nil {
		return err
	}
	return ed.storeSchemas(ctx, types)
}

// declare stores what the registry has of types and consumers.
func (ed *editor) declare(ctx context.Context, types []engine.TypeSpec, consumers []engine.ConsumerSpec) error {
	return ed.changeWith(ctx, func(r *registry) (notes []*stream.Msg, err error) {
		before, _ := json.Marshal(r)
		for _, key := range typenames.Missing(r.Types, types) {
			r.declareType(key)
		}
		for id, name := range typenames.Renamed(r.Types, types) {
			r.Types[id-1].Name = name
		}
		if notes, err = ed.declareConsumers(r, consumers); err != nil {
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
func (ed *editor) fitting(ctx context.Context, specs []engine.TypeSpec) error {
	if err := ed.enter(); err != nil {
		return err
	}
	unfit := map[string]error{} // by the name under which they were published
	for _, stored := range ed.schemas {
		if err := engine.Unfit(specs, stored.Type, stored.Of); err != nil {
			unfit[stored.Type] = err
		}
	}
	ed.mu.Unlock()
	for written, err := range unfit {
		n, countErr := ed.stream.CountFrom(ctx, ed.subject(eventToken, "*", token(written)), 1)
		if countErr != nil {
			return ed.storage("declare types in", countErr)
		}
		if n > 0 {
			return err
		}
	}
	return nil
}

func (ed *editor) storeSchemas(ctx context.Context, specs []engine.TypeSpec) error {
	for _, spec := range specs {
		if spec.Schema == "" {
			continue
		}
		version := max(spec.Version, 1)
		subject := ed.schemaSubject(spec.Name, version)
		if err := ed.enter(); err != nil {
			return err
		}
		same := ed.schemas[subject].Of.Text == spec.Schema
		ed.mu.Unlock()
		if same {
			continue
		}
		fresh := schema{spec.Name, event.Schema{Version: version, Text: spec.Schema, StoredAt: time.Now().UTC(), Program: ed.options.Program}}
		data, err := json.Marshal(fresh)
		if err != nil {
			return err
		}
		if err := ed.patiently(ctx, func() error {
			_, err := ed.append(ctx, &stream.Msg{Subject: subject, Data: data, Only: true})
			return err
		}); err != nil {
			return ed.storage("declare types in", err)
		}
		ed.mu.Lock()
		ed.schemas[subject] = fresh
		ed.mu.Unlock()
	}
	return nil
}

func (c *conn) schemaSubject(eventType string, version int) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", eventType, version)
	return c.subject(schemaToken, fmt.Sprintf("%016x", h.Sum64()))
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

// wanted reports whether some subscription gets one of the bus's own types.
func (v *logView) wanted(ownType string) bool {
	name := ownType
	if base, dead := strings.CutPrefix(ownType, engine.DeadType("")); dead {
		name = engine.DeadType(v.registry.nameOf(base))
	}
	return slices.ContainsFunc(v.registry.Types, func(row typenames.Row) bool {
		return row.Name == name && slices.ContainsFunc(v.registry.Subs, func(s subscription) bool { return v.subs[s.ID].routes[row.Written] })
	})
}

// isWanted is wanted for callers that do not hold mu.
func (v *logView) isWanted(ownType string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.wanted(ownType)
}

// declareTypesOf makes the types of records known before their first event.
func (ed *editor) declareTypesOf(ctx context.Context, records []engine.Record) error {
	if ed.isClosed() {
		return ed.ended()
	}
	known := *ed.types.Load()
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
	return ed.change(ctx, func(r *registry) error {
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

// nameHere returns the name that this process uses for a subscription.
func (s *sub) nameHere() string {
	return cmp.Or(s.calledHere(), s.Name)
}

// calledHere returns what the program calls a subscription that it polls; empty if it does not.
func (s *sub) calledHere() string {
	if s == nil || s.listener == nil {
		return ""
	}
	return s.listener.name()
}

// unknown is the error for a name that no subscription has.
func (r *registry) unknown(name string) error {
	missing := &event.NotFoundError{Thing: "subscription", Name: name}
	for _, s := range r.Subs {
		missing.Known = append(missing.Known, s.Name)
	}
	return missing
}
