package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Prune implements [engine.Maintainer]. The newest event stays.
func (l *Log) Prune(_ context.Context, before time.Time) (pruned int, err error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	l.eachFrom(l.oldest, func(r *engine.Record) {
		if r.Seq == l.last || !r.CreatedAt.Before(before) || slices.ContainsFunc(l.subscriptions, func(sub *subscription) bool { return sub.needs(r) }) {
			return
		}
		delete(l.events, r.Seq)
		for _, sub := range l.subscriptions {
			delete(sub.deliveries, r.Seq)
		}
		pruned++
	})
	for l.oldest < l.last && l.events[l.oldest] == nil {
		l.oldest++
	}
	return pruned, nil
}

// needs reports whether an event is open for a subscription, or a dead letter.
func (sub *subscription) needs(r *engine.Record) bool {
	if d := sub.deliveries[r.Seq]; d != nil {
		return d.State.Open() || d.State == ledger.Dead
	}
	return sub.routes[r.Type] && sub.next <= r.Seq
}

// Compact implements [engine.Maintainer]. The space of what is deleted is free at once.
func (l *Log) Compact(context.Context) (int64, error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	l.mu.Unlock()
	return 0, nil
}

// Redrive implements [engine.Maintainer].
func (l *Log) Redrive(_ context.Context, spec engine.RedriveSpec) (redriven int, err error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	defer l.mu.Unlock()
	sub := l.known(spec.Subscription)
	if sub == nil {
		return 0, nil
	}
	var due []*delivery
	for _, d := range sub.deliveries {
		if l.nameOf(d.Type) == l.nameOf(spec.Type) && d.Redrivable(d.lastKind(), &spec) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *delivery) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Seq, b.Seq)) })
	due = due[:min(spec.Limit, len(due))]
	for _, d := range due {
		d.Row = d.Revive(false, time.Now())
	}
	if len(due) > 0 {
		l.note(engine.AuditEntry{
			Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: len(due),
			Detail: "automatically, by the catalogue's redrive of " + spec.Type,
		})
		l.wake()
	}
	return len(due), nil
}
