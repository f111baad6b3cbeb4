package buslog

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// letter is a dead delivery, and where it is.
type letter struct {
	*row
	sub *sub
	at  int // the place of the subscription among all
}

func (l letter) key() engine.Key { return engine.Key{EventID: l.ID, Subscription: l.sub.Name} }

// place orders letters by the time at which they died.
func (l letter) place() []int64 { return []int64{l.Died.UnixNano(), l.Seq, int64(l.at)} }

// letters returns the dead letters that a filter chooses, in no order. The caller holds mu.
func (l *Log) letters(f engine.Filter) (found []letter) {
	for at, s := range l.inOrder() {
		for _, r := range s.rows {
			if one := (letter{r, s, at}); r.State == dead && l.choosesLetter(f, one) {
				found = append(found, one)
			}
		}
	}
	return found
}

func (l *Log) choosesLetter(f engine.Filter, one letter) bool {
	named := func(name string) bool {
		s := l.registry.known(name)
		return s != nil && s.ID == one.sub.ID
	}
	keyed := func(k engine.Key) bool { return k.EventID == one.ID && named(k.Subscription) }
	own := one.Type[0] == engine.OwnType // which dead letters may be of
	switch {
	case len(f.Subscriptions) > 0 && !slices.ContainsFunc(f.Subscriptions, named),
		len(f.Reasons) > 0 && !slices.Contains(f.Reasons, one.Reason),
		len(f.Keys) > 0 && !slices.ContainsFunc(f.Keys, keyed),
		f.Group != "" && f.Group != one.Fingerprint,
		one.Died.Before(f.Since) || !f.Until.IsZero() && one.Died.After(f.Until):
		return false
	}
	var texts []string
	for _, a := range one.Attempts {
		texts = append(texts, a.Error)
	}
	return own && len(f.Types) == 0 || l.matches(f, one.record(), texts)
}

// DeadLetters implements [engine.DeadLetterReader].
func (in *Inspection) DeadLetters(ctx context.Context, f engine.Filter, p engine.Page, oldestFirst bool) ([]engine.DeadLetter, string, error) {
	if err := in.look(ctx); err != nil {
		return nil, "", err
	}
	defer in.mu.Unlock()
	found, cursor, err := paged(p, in.letters(f), 3, letter.place, oldestFirst)
	var all []engine.DeadLetter
	for _, l := range found {
		all = append(all, in.deadLetter(l))
	}
	return all, cursor, err
}

// deadLetter returns a letter as an operator sees it.
func (l *Log) deadLetter(one letter) engine.DeadLetter {
	return engine.DeadLetter{
		Key: one.key(), Type: l.registry.nameOf(one.Type), Version: one.Version, Payload: one.Payload, Metadata: one.Metadata,
		PublishedAt: one.CreatedAt.UTC(), DeadAt: one.Died.UTC(), Reason: one.Reason, Fingerprint: one.Fingerprint,
		Failures: one.Failures, Redriven: one.Redriven, Progress: one.Progress, Attempts: slices.Clone(one.Attempts),
	}
}

// CountDeadLetters implements [engine.DeadLetterReader].
func (in *Inspection) CountDeadLetters(ctx context.Context, f engine.Filter) (int, error) {
	if err := in.look(ctx); err != nil {
		return 0, err
	}
	defer in.mu.Unlock()
	return len(in.letters(f)), nil
}

// DeadLetter implements [engine.DeadLetterReader].
func (in *Inspection) DeadLetter(ctx context.Context, key engine.Key) (history engine.DeadLetterHistory, err error) {
	if err := in.look(ctx); err != nil {
		return history, err
	}
	defer in.mu.Unlock()
	for _, one := range in.letters(engine.Filter{Keys: []engine.Key{key}}) {
		history.DeadLetter = in.deadLetter(one)
		for _, e := range in.audit {
			if e.EventID == key.EventID && in.sameName(e.Subscription, one.sub.Name) {
				history.Audit = append(history.Audit, e)
			}
		}
		slices.SortFunc(history.Audit, func(a, b engine.AuditEntry) int { return cmp.Compare(a.ID, b.ID) })
		return history, nil
	}
	missing := &engine.NotFoundError{Thing: "dead letter", Key: key, State: "it is settled, open or unknown"}
	return history, missing
}

// Redelivered implements [engine.DeadLetterReader].
func (in *Inspection) Redelivered(ctx context.Context, keys []engine.Key) (all []engine.Redelivery, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	for _, key := range keys {
		became := engine.RedeliverySettled
		if entry := in.registry.known(key.Subscription); entry != nil {
			for _, r := range in.subs[entry.ID].rows {
				switch {
				case r.ID != key.EventID:
				case r.State == dead:
					became = engine.RedeliveryDead
				case r.open():
					became = engine.RedeliveryOpen
				}
			}
		}
		all = append(all, became)
	}
	return all, nil
}

// FailureGroups implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroups(context.Context, engine.Filter) ([]engine.FailureGroup, error) {
	return nil, errUnsupported("group dead letters")
}

// FailureGroupNames implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroupNames(ctx context.Context, prefix string) (names []string, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	for _, one := range in.letters(engine.Filter{}) {
		if strings.HasPrefix(one.Fingerprint, prefix) {
			names = append(names, one.Fingerprint)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// sweep changes the dead letters that matched when it began. It implements [engine.Sweep].
type sweep struct {
	ledger
	spec    engine.SweepSpec
	matched []engine.Key
	crashed map[engine.Key]bool
	spare   bool
	next    int
}

// Sweep implements [engine.Sweeper].
func (in *Inspection) Sweep(ctx context.Context, spec engine.SweepSpec) (engine.Sweep, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	if spec.Kind == engine.SweepReplay || spec.Kind == engine.SweepRewind {
		return in.replay(spec)
	}
	matched := in.letters(spec.Filter)
	slices.SortFunc(matched, func(a, b letter) int { return slices.Compare(a.place(), b.place()) })
	entry := engine.AuditEntry{Actor: in.actor, Action: string(spec.Kind), Detail: cmp.Or(spec.Detail, spec.Filter.String())}
	if len(matched) == 1 {
		entry.EventID, entry.Subscription = matched[0].ID, matched[0].sub.Name
	}
	s := &sweep{ledger: ledger{in: in, entry: entry}, spec: spec, crashed: map[engine.Key]bool{}}
	for _, one := range matched {
		s.matched = append(s.matched, one.key())
		s.crashed[one.key()] = one.Reason == engine.ReasonCrash || len(one.Attempts) > 0 && one.Attempts[len(one.Attempts)-1].Kind == engine.KindCrash
	}
	return s, nil
}

// Matched implements [engine.Sweep].
func (s *sweep) Matched() int { return len(s.matched) }

// SpareCrashes implements [engine.Sweep].
func (s *sweep) SpareCrashes(spare bool) {
	if s.spare = spare; !spare {
		s.next = 0
	}
}

// Step implements [engine.Sweep].
func (s *sweep) Step(ctx context.Context, limit int) (changed []engine.Key, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	next := s.next
	err = s.in.edit(ctx, func() (msgs []*stream.Msg, err error) {
		changed, next = nil, s.next
		for ; next < len(s.matched) && len(changed) < min(limit, batchRoom); next++ {
			key := s.matched[next]
			if s.spare && s.crashed[key] {
				continue
			}
			for _, one := range s.in.letters(engine.Filter{Keys: []engine.Key{key}}) {
				r := one.row.clone()
				switch s.spec.Kind {
				case engine.SweepRetry:
					r.revive()
					r.Redriven = 0
				case engine.SweepDiscard:
					r.State, r.Reason, r.Died = discarded, s.spec.Reason, time.Now()
				case engine.SweepPurge:
					r.State = gone
				}
				msgs = append(msgs, s.in.rowMsg(one.sub.ID, r, one.rev))
				changed = append(changed, one.key())
			}
		}
		return append(msgs, s.add(len(changed))), nil
	})
	if err == nil {
		s.next = next
		s.stored()
	}
	return changed, err
}

// ledger is the one entry that a change in steps has in the audit.
type ledger struct {
	in    *Inspection
	entry engine.AuditEntry
	draft engine.AuditEntry
}

// add returns the message of the entry with a number of changes more; nil for none. The
// caller holds mu.
func (l *ledger) add(changed int) *stream.Msg {
	if l.draft = l.entry; changed == 0 {
		return nil
	}
	if l.draft.ID == 0 {
		l.in.auditMsg(l.draft)
		l.draft = l.in.newest()
	}
	l.draft.Count += changed
	return l.in.auditEntryMsg(l.draft)
}

// stored says that the message is stored.
func (l *ledger) stored() { l.entry = l.draft }

// newest returns the newest entry of the audit. The caller holds mu.
func (l *Log) newest() (newest engine.AuditEntry) {
	for _, e := range l.audit {
		if e.ID > newest.ID {
			newest = e
		}
	}
	return newest
}

// replay gives events to a subscription again. It implements [engine.Sweep].
type replay struct {
	ledger
	sub  *sub
	seqs []int64 // of the events that matched when it began
	next int
}

// replay begins to give events again. What is handled from now on is not part of it. The
// caller holds mu.
func (in *Inspection) replay(spec engine.SweepSpec) (engine.Sweep, error) {
	entry := in.registry.known(spec.Subscription)
	if entry == nil {
		missing := &engine.NotFoundError{Thing: "subscription", Name: spec.Subscription}
		for _, s := range in.registry.Subs {
			missing.Known = append(missing.Known, s.Name)
		}
		return nil, missing
	}
	s, from := in.subs[entry.ID], int64(1)
	if spec.From != uuid.Nil {
		r, err := in.find(spec.From)
		if err != nil {
			return nil, err
		}
		from = r.Seq
	}
	note := engine.AuditEntry{Actor: in.actor, Action: string(spec.Kind), Subscription: s.Name, Detail: cmp.Or(spec.Detail, spec.Filter.String())}
	if len(spec.Filter.Events) == 1 {
		note.EventID = spec.Filter.Events[0]
	}
	p := &replay{ledger: ledger{in: in, entry: note}, sub: s}
	err := in.each(max(from, s.Start+1), func(r *engine.Record) bool {
		if s.handled(r) && within(r.CreatedAt, spec.Filter.Since, spec.Filter.Until) && in.matches(spec.Filter, r, []string{string(r.Metadata)}) {
			p.seqs = append(p.seqs, r.Seq)
		}
		return true
	})
	return p, err
}

// handled reports whether the subscription has handled an event.
func (s *sub) handled(r *engine.Record) bool {
	if row := s.rows[r.Seq]; row != nil {
		return row.State == done
	}
	return r.Seq > s.Start && s.matches(r) && !s.pending(r)
}

// Matched implements [engine.Sweep].
func (p *replay) Matched() int { return len(p.seqs) }

// SpareCrashes implements [engine.Sweep]. Events that were handled did not crash.
func (p *replay) SpareCrashes(bool) {}

// Step implements [engine.Sweep].
func (p *replay) Step(ctx context.Context, limit int) (replayed []engine.Key, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	next := p.next
	err = p.in.edit(ctx, func() (msgs []*stream.Msg, err error) {
		replayed, next = nil, p.next
		now := time.Now()
		for ; next < len(p.seqs) && len(replayed) < min(limit, batchRoom); next++ {
			e, err := p.in.event(p.seqs[next])
			if err != nil || !p.sub.handled(e) {
				continue
			}
			r, rev := newRow(e), p.sub.revOf(e.Seq)
			if before := p.sub.rows[e.Seq]; before != nil {
				r.Attempts, r.History = slices.Clone(before.Attempts), len(before.Attempts)
			}
			r.Due, r.Since, r.Replayed, r.Uncounted = now, now, true, 1+len(r.Attempts)
			msgs = append(msgs, p.in.rowMsg(p.sub.ID, r, rev))
			replayed = append(replayed, engine.Key{EventID: e.ID, Subscription: p.sub.Name})
		}
		return append(msgs, p.add(len(replayed))), nil
	})
	if err == nil {
		p.next = next
		p.stored()
	}
	return replayed, err
}
