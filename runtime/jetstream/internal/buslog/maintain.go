package buslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
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
			msgs = append(msgs, ed.auditMsg(engine.AuditEntry{
				Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: redriven,
				Detail: "automatically, by the catalogue's redrive of " + spec.Type,
			}))
		}
		return msgs, nil
	})
	return redriven, err
}
