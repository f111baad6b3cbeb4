package buslog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Prune implements [engine.Maintainer]. The newest event stays.
func (l *Log) Prune(ctx context.Context, before time.Time) (count int, err error) {
	if err := l.sync(ctx); err != nil {
		return 0, err
	}
	if err := l.enter(); err != nil {
		return 0, err
	}
	l.mu.Unlock()
	for from := int64(1); from > 0; {
		if err := l.enter(); err != nil {
			return count, err
		}
		old, next, err := l.old(from, before)
		l.mu.Unlock()
		if err != nil {
			return count, err
		}
		for from = next; len(old) > 0; {
			deleted, looked, err := l.forget(ctx, old[:min(len(old), pruneStep)])
			if count += deleted; err != nil {
				return count, l.storage("prune", err)
			}
			old = old[looked:]
		}
	}
	return count, nil
}

// old returns events from a sequence number on that nobody needs and that are old enough,
// without their payloads, and where to go on; 0 if there are no more. The caller holds mu.
func (l *Log) old(from int64, before time.Time) (old []*engine.Record, next int64, err error) {
	var newest *engine.Record
	young := 0
	err = l.each(from, func(r *engine.Record) bool {
		if young++; r.CreatedAt.Before(before) {
			young = 0
		}
		if newest != nil && newest.CreatedAt.Before(before) && !slices.ContainsFunc(l.inOrder(), func(s *sub) bool { return s.needs(newest) }) {
			old = append(old, newest)
		}
		newest = &engine.Record{Seq: r.Seq, ID: r.ID, Type: r.Type, Key: r.Key, Keyed: r.Keyed, Origin: r.Origin, CreatedAt: r.CreatedAt}
		if len(old) == pruneRound {
			next = r.Seq
			return false
		}
		return young < pruneStep // their order is nearly that of the log
	})
	return old, next, err
}

// pruneRound is how many events are looked up at a time.
const pruneRound = 16 * pruneStep

// pruneStep is how many events are deleted at a time.
const pruneStep = 256

// pruned is the record of events that were deleted, for those who have yet to read them.
type pruned struct {
	Seqs []int64 `json:"seqs"`
}

// forget deletes events and the rows of their deliveries, which are settled. Those that are
// needed again stay. It looks at so many events as fit into a batch with their rows.
func (l *Log) forget(ctx context.Context, old []*engine.Record) (deleted, looked int, err error) {
	var p pruned
	var h pruneHistory
	err = l.edit(ctx, func() (msgs []*stream.Msg, err error) {
		l.mu.Unlock()
		h, err = l.history(ctx)
		if l.mu.Lock(); err != nil {
			return nil, err
		}
		p.Seqs, looked = nil, 0
		all := l.inOrder()
		for _, r := range old {
			if len(msgs) >= batchRoom {
				break
			}
			looked++
			if slices.ContainsFunc(all, func(s *sub) bool { return s.needs(r) }) {
				continue
			}
			p.Seqs = append(p.Seqs, r.Seq)
			for _, s := range all {
				if s.rows[r.Seq] != nil {
					msgs = append(msgs, l.rowMsg(s.ID, &row{Seq: r.Seq, State: gone}, s.revOf(r.Seq)))
				}
			}
		}
		if len(p.Seqs) == 0 {
			return nil, nil
		}
		data, _ := json.Marshal(p)
		msgs = append(msgs, l.historyMsg(h, p.Seqs))
		return append(msgs, &stream.Msg{Subject: l.subject(pruneToken), Data: data, TTL: goneTime}), nil
	})
	if err != nil {
		return 0, 0, err
	}
	for i, seq := range p.Seqs {
		if err := l.stream.Delete(ctx, seq); err != nil {
			return i, 0, err
		}
	}
	return len(p.Seqs), looked, nil
}

// applyPruned forgets events that are deleted. The caller holds mu.
func (l *Log) applyPruned(p pruned) {
	gone := map[int64]bool{}
	for _, seq := range p.Seqs {
		gone[seq] = true
		for w := range l.watches {
			if seq > w.after && seq > w.began {
				w.passed++
			}
		}
	}
	l.ring.events = slices.DeleteFunc(l.ring.events, func(r *engine.Record) bool { return gone[r.Seq] })
}

// needs reports whether an event is open for a subscription, or a dead letter.
func (s *sub) needs(r *engine.Record) bool {
	if row := s.rows[r.Seq]; row != nil {
		return row.open() || row.State == dead
	}
	return s.pending(r)
}

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
	if !slices.Contains(reasons, engine.ReasonCrash) && (r.Reason == engine.ReasonCrash || r.lastFailed() == engine.KindCrash) {
		return false
	}
	return len(reasons) == 0 || slices.Contains(reasons, r.Reason) || r.lastFailed() != "" && slices.Contains(reasons, r.lastFailed())
}

// revive makes a dead delivery due. Its attempts stay on record and no longer count.
func (r *row) revive() {
	now := time.Now()
	r.Uncounted += r.Failures
	r.History = len(r.Attempts)
	r.Failures, r.MaxAttempts, r.Snoozes = 0, 0, 0
	r.Suspect, r.Crashed = r.Crashed || r.Reason == engine.ReasonCrash, false
	r.State, r.Due, r.Set, r.Since, r.PutOff = waiting, now, now, now, false
	r.Reason, r.Fingerprint, r.Died = "", "", time.Time{}
}
