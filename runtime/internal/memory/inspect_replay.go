package memory

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/memview"
)

// replay gives events to a subscription again. It implements [engine.Sweep].
type replay struct {
	ledger
	sub    *subscription
	events []*engine.Record // that matched when it began
	next   int
}

// replay begins to give events again. What is handled from now on is not part of it. The
// caller holds the lock.
func (in *inspection) replay(spec engine.SweepSpec) (engine.Sweep, error) {
	sub, first := in.known(spec.Subscription), in.oldest
	if sub == nil {
		return nil, &engine.NotFoundError{Thing: "subscription", Name: spec.Subscription, Known: field(in.subscriptions, func(s *subscription) string { return s.name })}
	}
	if spec.From != uuid.Nil {
		first = 0
		in.eachFrom(in.oldest, func(r *engine.Record) {
			if r.ID == spec.From {
				first = r.Seq
			}
		})
		if first == 0 {
			return nil, &engine.NotFoundError{Thing: "event", Name: spec.From.String()}
		}
	}
	entry := engine.AuditEntry{Actor: in.actor, Action: string(spec.Kind), Subscription: sub.name, Detail: cmp.Or(spec.Detail, spec.Filter.String())}
	if len(spec.Filter.Events) == 1 {
		entry.EventID = spec.Filter.Events[0]
	}
	p := &replay{ledger: ledger{in: in, entry: entry}, sub: sub}
	in.eachFrom(max(first, sub.start+1), func(r *engine.Record) {
		if sub.handled(r) && memview.Within(r.CreatedAt, spec.Filter.Since, spec.Filter.Until) && memview.Matches(spec.Filter, r, in.namesOf, []string{string(r.Metadata)}) {
			p.events = append(p.events, r)
		}
	})
	return p, nil
}

// handled reports whether the subscription has handled an event.
func (sub *subscription) handled(r *engine.Record) bool {
	d := sub.deliveries[r.Seq]
	return r.Seq > sub.start && r.Seq < sub.next && sub.routes[r.Type] && (d == nil || d.state == done)
}

// Matched implements [engine.Sweep].
func (p *replay) Matched() int { return len(p.events) }

// SpareCrashes implements [engine.Sweep]. Events that were handled did not crash.
func (p *replay) SpareCrashes(bool) {}

// Step implements [engine.Sweep].
func (p *replay) Step(ctx context.Context, limit int) (replayed []engine.Key, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.in.mu.Lock()
	defer p.in.mu.Unlock()
	for ; p.next < len(p.events) && len(replayed) < limit; p.next++ {
		r := p.events[p.next]
		if p.in.events[r.Seq] != r || !p.sub.handled(r) {
			continue
		}
		before := p.sub.deliveries[r.Seq]
		d := p.sub.add(r)
		if before != nil {
			d.attempts, d.history = before.attempts, len(before.attempts)
		}
		d.due, d.Since = time.Now(), time.Now()
		d.Replayed, d.Uncounted = true, 1+len(d.attempts)
		replayed = append(replayed, engine.Key{EventID: r.ID, Subscription: p.sub.name})
	}
	p.add(len(replayed))
	return replayed, nil
}

// ledger is the one entry that a change in steps has in the audit.
type ledger struct {
	in      *inspection
	entry   engine.AuditEntry
	audited int // its place in the audit, from 1; 0 before the first change
}

// add adds a number of changes, and wakes whoever they concern. The caller holds the lock.
func (l *ledger) add(changed int) {
	if changed == 0 {
		return
	}
	if l.audited == 0 {
		l.in.note(l.entry)
		l.audited = len(l.in.audit)
	}
	l.in.audit[l.audited-1].Count += changed
	l.in.wake()
	l.in.noteSettled()
}
