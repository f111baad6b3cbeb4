package buslog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Prune implements [engine.Maintainer]. The newest event stays.
func (l *Log) Prune(ctx context.Context, before time.Time) (pruned int, err error) {
	if err := l.sync(ctx); err != nil {
		return 0, err
	}
	if err := l.enter(); err != nil {
		return 0, err
	}
	var old []*engine.Record
	var newest *engine.Record
	err = l.each(1, func(r *engine.Record) bool {
		if newest != nil && newest.CreatedAt.Before(before) && !slices.ContainsFunc(l.inOrder(), func(s *sub) bool { return s.needs(newest) }) {
			old = append(old, newest)
		}
		newest = r
		return true
	})
	l.mu.Unlock()
	if err != nil {
		return 0, err
	}
	for _, r := range old {
		if err := l.forget(ctx, r.Seq); err != nil {
			return pruned, l.storage("prune", err)
		}
		pruned++
	}
	return pruned, nil
}

// forget deletes an event and the rows of its deliveries, which are settled.
func (l *Log) forget(ctx context.Context, seq int64) error {
	err := l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		for _, s := range l.inOrder() {
			if r := s.rows[seq]; r != nil {
				msgs = append(msgs, l.rowMsg(s.ID, &row{Seq: seq, State: gone}, r.rev))
			}
		}
		return msgs, nil
	})
	if err != nil {
		return err
	}
	if err := l.stream.Delete(ctx, seq); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ring.events = slices.DeleteFunc(l.ring.events, func(r *engine.Record) bool { return r.Seq == seq })
	return nil
}

// needs reports whether an event is open for a subscription, or a dead letter.
func (s *sub) needs(r *engine.Record) bool {
	if row := s.rows[r.Seq]; row != nil {
		return row.open() || row.State == dead
	}
	return s.pending(r)
}

// Compact implements [engine.Maintainer]. The server gives space back by itself.
func (l *Log) Compact(context.Context) (int64, error) {
	if err := l.enter(); err != nil {
		return 0, err
	}
	l.mu.Unlock()
	return 0, nil
}

// Redrive implements [engine.Maintainer].
func (l *Log) Redrive(ctx context.Context, spec engine.RedriveSpec) (redriven int, err error) {
	err = l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		redriven = 0
		entry := l.registry.known(spec.Subscription)
		if entry == nil {
			return nil, nil
		}
		s := l.subs[entry.ID]
		var due []*row
		for _, r := range s.rows {
			if r.State == dead && !r.Died.After(spec.DeadBefore) && r.Redriven < spec.Max &&
				l.registry.nameOf(r.Type) == l.registry.nameOf(spec.Type) && r.hasReason(spec.Reasons) {
				due = append(due, r)
			}
		}
		slices.SortFunc(due, func(a, b *row) int { return cmp.Or(a.Died.Compare(b.Died), cmp.Compare(a.Seq, b.Seq)) })
		due = due[:min(spec.Limit, len(due), batchRoom)]
		for _, before := range due {
			r := before.clone()
			r.revive()
			r.Redriven++
			msgs = append(msgs, l.rowMsg(s.ID, r, before.rev))
			redriven++
		}
		if len(due) > 0 {
			msgs = append(msgs, l.auditMsg(engine.AuditEntry{
				Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: len(due),
				Detail: "automatically, by the catalogue's redrive of " + spec.Type,
			}))
		}
		return msgs, nil
	})
	return redriven, err
}

// hasReason reports whether a dead delivery died for one of the reasons, or its last attempt
// failed in one of these ways. No reasons stand for all, and a crash has to be named.
func (r *row) hasReason(reasons []string) bool {
	n := len(r.Attempts)
	if !slices.Contains(reasons, engine.ReasonCrash) && (r.Reason == engine.ReasonCrash || n > 0 && r.Attempts[n-1].Kind == engine.KindCrash) {
		return false
	}
	if len(reasons) == 0 || slices.Contains(reasons, r.Reason) {
		return true
	}
	return n > 0 && slices.Contains(reasons, r.Attempts[n-1].Kind)
}

// revive makes a dead delivery due. Its attempts stay on record and no longer count.
func (r *row) revive() {
	now := time.Now()
	r.Uncounted += r.Failures
	r.History = len(r.Attempts)
	r.Failures, r.MaxAttempts, r.Snoozes = 0, 0, 0
	r.Suspect, r.Crashed = r.Crashed || r.Reason == engine.ReasonCrash, false
	r.State, r.Due, r.Since, r.PutOff = waiting, now, now, false
	r.Reason, r.Fingerprint, r.Died = "", "", time.Time{}
}
