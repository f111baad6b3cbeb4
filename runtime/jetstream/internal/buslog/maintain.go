package buslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Compact implements [engine.Maintainer].
func (l *Log) Compact(context.Context) (int64, error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	l.mu.Unlock()
	return 0, fmt.Errorf("%w: the servers give the space of deleted events back by themselves", errors.ErrUnsupported)
}

// Redrive implements [engine.Maintainer].
func (ed *editor) Redrive(ctx context.Context, spec engine.RedriveSpec) (redriven int, err error) {
	err = ed.edit(ctx, func() (msgs []*stream.Msg, err error) {
		redriven = 0
		entry := ed.registry.known(spec.Subscription)
		if entry == nil {
			return nil, nil
		}
		s := ed.subs[entry.ID]
		var due []*row
		for _, r := range s.rows {
			if ed.registry.nameOf(r.Type) == ed.registry.nameOf(spec.Type) && r.Redrivable(r.lastFailed(), &spec) {
				due = append(due, r)
			}
		}
		slices.SortFunc(due, func(a, b *row) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Seq, b.Seq)) })
		due = due[:min(spec.Limit, len(due), batchRoom)]
		for _, before := range due {
			whole, err := ed.wholeRow(s, before.Seq)
			if err != nil {
				return nil, err
			}
			if whole == nil || whole.rev != before.rev {
				continue // it has changed meanwhile
			}
			r := whole.clone()
			r.Row = r.Revive(false, time.Now())
			msgs = append(msgs, ed.rowMsg(s.ID, r, before.rev))
			redriven++
		}
		if redriven > 0 {
			msgs = append(msgs, ed.auditMsg(event.AuditEntry{
				Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: redriven,
				Detail: "automatically, by the catalogue's redrive of " + spec.Type,
			}))
		}
		return msgs, nil
	})
	return redriven, err
}

// samples is how many of the things that break a rule are named.
const samples = 5

// Check implements [engine.Checker]. The servers keep sums of what they store, and look after
// the integrity of it. The routes of subscriptions follow from the registry, and are no records.
func (in *Inspection) Check(ctx context.Context) ([]event.Problem, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	found := map[string]*event.Problem{}
	report := func(rule, format string, args ...any) {
		if found[rule] == nil {
			found[rule] = &event.Problem{Rule: rule}
		}
		p := found[rule]
		if p.Count++; len(p.Samples) < samples {
			p.Samples = append(p.Samples, fmt.Sprintf(format, args...))
		}
	}
	first, needed := int64(math.MaxInt64), map[int64][]string{} // the subscriptions with a row of an event
	for _, s := range in.inOrder() {
		for _, at := range s.live() {
			if next := s.parts[at].Next; next > in.applied+1 {
				report("cursor", "subscription %s stands at %d, and the log ends at %d", s.Name, next, in.applied)
			}
		}
		for _, seq := range slices.Sorted(maps.Keys(s.rows)) {
			r := s.rows[seq]
			if wrong := r.wrong(); wrong != "" {
				report("state", "event %s for %s: %s", r.ID, s.Name, wrong)
			}
			if r.State.Open() || r.State == ledger.Dead {
				first, needed[seq] = min(first, seq), append(needed[seq], s.Name)
			}
		}
	}
	if len(needed) > 0 {
		if err := in.each(ctx, first, func(r *engine.Record) bool { delete(needed, r.Seq); return ctx.Err() == nil }); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, seq := range slices.Sorted(maps.Keys(needed)) {
		for _, name := range needed[seq] {
			report("reference", "the event at %d is missing, which %s has yet to settle or has as a dead letter", seq, name)
		}
	}
	var all []event.Problem
	for _, rule := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[rule])
	}
	return all, nil
}

// wrong says what is missing in a row; empty if nothing is.
func (r *row) wrong() string {
	if dead := r.State == ledger.Dead; dead && r.Reason == "" || (dead || r.State == ledger.Discarded) && r.Ended.IsZero() {
		return fmt.Sprintf("it is %s without a time or a reason", stateNames[r.State])
	}
	return ""
}

// RemoveConsumer implements [engine.Registry].
func (l *Log) RemoveConsumer(ctx context.Context, name, actor string) (removed event.Removed, err error) {
	if err := ctx.Err(); err != nil {
		return removed, err
	}
	if err := l.sync(ctx); err != nil {
		return removed, err
	}
	if err := l.enter(); err != nil {
		return removed, err
	}
	id, owners := "", map[string]*cursor{}
	if at := l.registry.named(name); at >= 0 {
		s := l.subs[l.registry.Subs[at].ID]
		id, owners = s.ID, s.owners()
		lag, err := l.lagOf(ctx, s, math.MaxInt)
		if err != nil {
			l.mu.Unlock()
			return removed, err
		}
		removed = event.Removed{Open: lag.Backlog, Dead: lag.Dead}
	}
	var others []event.OwnedError
	var instances []string
	for owner, c := range owners {
		if owner != l.instance {
			others = append(others, event.OwnedError{Path: l.target, PID: c.PID, Since: c.Since})
			instances = append(instances, owner)
		}
	}
	l.mu.Unlock()
	for i, owner := range instances {
		if l.lifeOf(ctx, owner) == alive {
			return event.Removed{}, &others[i]
		}
	}
	err = l.changeWith(ctx, func(r *registry) ([]*stream.Msg, error) {
		at := r.named(name)
		if at < 0 {
			return nil, r.unknown(name)
		}
		r.Subs = slices.Delete(r.Subs, at, at+1)
		r.Pauses = slices.DeleteFunc(r.Pauses, func(p engine.Pause) bool { return p.Kind == engine.PauseSubscription && p.Target == name })
		return []*stream.Msg{l.auditMsg(event.AuditEntry{
			Actor: actor, Action: "remove", Subscription: name, Count: removed.Open + removed.Dead,
			Detail: fmt.Sprintf("%d events to settle and %d dead letters", removed.Open, removed.Dead),
		})}, nil
	})
	if err != nil {
		return event.Removed{}, err
	}
	// No process reads the records of a subscription that is not in the registry.
	for _, kind := range []string{l.subject(rowToken, id, ">"), l.subject(cursorToken, id), l.subject(cursorToken, id, ">")} {
		if err := l.stream.Purge(ctx, kind, 0); err != nil {
			return removed, l.storage("remove", err)
		}
	}
	return removed, l.told(nil)
}

// named returns where a subscription of this present name is, or -1.
func (r *registry) named(name string) int {
	return slices.IndexFunc(r.Subs, func(s subscription) bool { return s.Name == name })
}
