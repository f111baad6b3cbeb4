package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
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
		return d.open() || d.state == dead
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
		if d.state == dead && !d.died.After(spec.DeadBefore) && d.redriven < spec.Max && l.nameOf(d.Type) == l.nameOf(spec.Type) && d.hasReason(spec.Reasons) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *delivery) int { return cmp.Or(a.died.Compare(b.died), cmp.Compare(a.Seq, b.Seq)) })
	due = due[:min(spec.Limit, len(due))]
	for _, d := range due {
		d.revive()
		d.redriven++
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

// hasReason reports whether a dead delivery died for one of the reasons, or its last
// attempt failed in one of these ways. No reasons stand for all.
func (d *delivery) hasReason(reasons []string) bool {
	if len(reasons) == 0 || slices.Contains(reasons, d.reason) {
		return true
	}
	n := len(d.attempts)
	return n > 0 && slices.Contains(reasons, d.attempts[n-1].Kind)
}

// revive makes a dead delivery due. Its attempts stay on record and no longer count.
func (d *delivery) revive() {
	now := time.Now()
	d.Uncounted += d.Failures
	d.history = len(d.attempts)
	d.Failures, d.MaxAttempts, d.Snoozes = 0, 0, 0
	d.state, d.due, d.Since, d.Exempt = waiting, now, now, true
	d.reason, d.fingerprint, d.died = "", "", time.Time{}
}
