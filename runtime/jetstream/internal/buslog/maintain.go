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
			whole, err := l.wholeRow(s, before.Seq)
			if err != nil {
				return nil, err
			}
			if whole == nil || whole.rev != before.rev {
				continue // it has changed meanwhile
			}
			r := whole.clone()
			r.revive()
			r.Redriven++
			msgs = append(msgs, l.rowMsg(s.ID, r, before.rev))
			redriven++
		}
		if redriven > 0 {
			msgs = append(msgs, l.auditMsg(engine.AuditEntry{
				Actor: "busgen", Action: "redrive", Subscription: spec.Subscription, Count: redriven,
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
	if !slices.Contains(reasons, engine.ReasonCrash) && (r.Reason == engine.ReasonCrash || r.lastFailed() == engine.KindCrash) {
		return false
	}
	return len(reasons) == 0 || slices.Contains(reasons, r.Reason) || r.lastFailed() != "" && slices.Contains(reasons, r.lastFailed())
}

// revive makes a dead delivery due.
func (r *row) revive() {
	r.Suspect = r.Suspect || r.Crashed || r.Reason == engine.ReasonCrash // imported ones do not say so
	r.renew()
	r.Retried = true
}

// renew makes a delivery due now, as if it was new. Its attempts stay on record and no longer count. A suspect stays one.
func (r *row) renew() {
	now := time.Now()
	r.Uncounted += r.Failures
	r.History = len(r.Attempts)
	r.Failures, r.MaxAttempts, r.Snoozes, r.Crashed, r.Open = 0, 0, 0, false, nil
	r.State, r.Due, r.Set, r.Since, r.PutOff = waiting, now, now, now, false
	r.Reason, r.Fingerprint, r.Died = "", "", time.Time{}
}
