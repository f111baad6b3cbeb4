package memory

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/memview"
)

// replay gives events to a subscription again. It implements [engine.Sweep].
type replay struct {
	growing
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
	p := &replay{growing: growing{in: in, entry: entry}, sub: sub}
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
	return r.Seq > sub.start && r.Seq < sub.next && sub.routes[r.Type] && (d == nil || d.State == ledger.Done)
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
		d := p.sub.deliveries[r.Seq]
		if d == nil {
			d = p.sub.add(r)
			d.Row = ledger.Handled(r)
		}
		d.Row = d.Replay(time.Now())
		replayed = append(replayed, engine.Key{EventID: r.ID, Subscription: p.sub.name})
	}
	p.add(len(replayed))
	return replayed, nil
}

// growing is the one entry that a change in steps has in the audit.
type growing struct {
	in      *inspection
	entry   engine.AuditEntry
	audited int // its place in the audit, from 1; 0 before the first change
}

// add adds a number of changes, and wakes whoever they concern. The caller holds the lock.
func (g *growing) add(changed int) {
	if changed == 0 {
		return
	}
	if g.audited == 0 {
		g.in.note(g.entry)
		g.audited = len(g.in.audit)
	}
	g.in.audit[g.audited-1].Count += changed
	g.in.wake()
	g.in.noteSettled()
}
