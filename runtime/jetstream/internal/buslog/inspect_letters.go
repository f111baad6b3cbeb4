package buslog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/view"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// letter is a dead delivery, and where it is.
type letter struct {
	*row
	sub *sub
	at  int // the place of the subscription among all
}

func (l letter) key() event.Key { return event.Key{EventID: l.ID, Subscription: l.sub.Name} }

// place orders letters by the time at which they died.
func (l letter) place() []int64 { return []int64{l.Ended.UnixNano(), l.Seq, int64(l.at)} }

// letters returns the dead letters that a filter chooses, in no order.
func (in *Inspection) letters(f engine.Filter) []letter {
	return in.rowsIn(f, func(r *row) bool { return r.State == ledger.Dead })
}

// retries returns the deliveries that a filter chooses and that wait to be tried, in no order.
func (in *Inspection) retries(f engine.Filter, at time.Time) []letter {
	return in.rowsIn(f, func(r *row) bool { return r.WaitsToBeTried(at) })
}

func (in *Inspection) rowsIn(f engine.Filter, wanted func(*row) bool) (found []letter) {
	for at, s := range in.inOrder() {
		for _, r := range s.rows {
			if one := (letter{r, s, at}); wanted(r) && in.choosesLetter(f, one) {
				found = append(found, one)
			}
		}
	}
	return found
}

func (in *Inspection) choosesLetter(f engine.Filter, one letter) bool {
	named := func(name string) bool {
		s := in.registry.known(name)
		return s != nil && s.ID == one.sub.ID
	}
	keyed := func(k event.Key) bool { return k.EventID == one.ID && named(k.Subscription) }
	switch {
	case len(f.Subscriptions) > 0 && !slices.ContainsFunc(f.Subscriptions, named),
		len(f.Reasons) > 0 && !slices.Contains(f.Reasons, one.Reason),
		len(f.Keys) > 0 && !slices.ContainsFunc(f.Keys, keyed),
		f.Group != "" && f.Group != one.Fingerprint,
		one.Ended.Before(f.Since) || !f.Until.IsZero() && one.Ended.After(f.Until):
		return false
	}
	var texts []string
	for _, a := range one.Attempts {
		texts = append(texts, a.Error)
	}
	return view.MatchesLetter(f, one.record(), in.registry.namesOf, texts)
}

// DeadLetters implements [engine.DeadLetterReader].
func (in *Inspection) DeadLetters(ctx context.Context, f engine.Filter, p event.Page, oldestFirst bool) ([]event.DeadLetter, string, error) {
	if err := in.look(ctx); err != nil {
		return nil, "", err
	}
	defer in.mu.Unlock()
	found, cursor, err := view.Page(p, in.letters(f), 3, letter.place, oldestFirst)
	var all []event.DeadLetter
	for _, l := range found {
		all = append(all, in.deadLetter(l))
	}
	return all, cursor, err
}

// deadLetter returns a letter as an operator sees it.
func (in *Inspection) deadLetter(one letter) event.DeadLetter {
	return event.DeadLetter{
		Key: one.key(), Type: in.registry.nameOf(one.Type), Version: one.Version, Payload: one.Payload, Metadata: one.Metadata,
		PublishedAt: one.CreatedAt.UTC(), DeadAt: one.Ended.UTC(), Reason: one.Reason, Fingerprint: one.Fingerprint,
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
func (in *Inspection) DeadLetter(ctx context.Context, key event.Key) (history event.DeadLetterHistory, err error) {
	if err := in.look(ctx); err != nil {
		return history, err
	}
	defer in.mu.Unlock()
	one, err := in.letter(ctx, key)
	if err != nil {
		return history, err
	}
	history.DeadLetter, history.Audit = in.deadLetter(one), in.auditOf(key.EventID, one.sub)
	history.EditedInto = in.editedInto(one.record())
	history.MadeFrom, err = in.madeFrom(ctx, one)
	return history, err
}

// letter returns a dead letter, or a *NotFoundError.
func (in *Inspection) letter(ctx context.Context, key event.Key) (letter, error) {
	if entry := in.registry.known(key.Subscription); entry != nil {
		for at, s := range in.inOrder() {
			for _, r := range s.rows {
				if s.ID == entry.ID && r.ID == key.EventID && r.State == ledger.Dead {
					return letter{r, s, at}, nil
				}
			}
		}
	}
	state, err := in.whereabouts(ctx, key)
	if err != nil {
		return letter{}, err
	}
	return letter{}, &event.NotFoundError{Thing: "dead letter", Name: key.String(), Key: key, State: state}
}

// Redelivered implements [engine.DeadLetterReader].
func (in *Inspection) Redelivered(ctx context.Context, keys []event.Key) (all []engine.Redelivery, err error) {
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
				case r.State == ledger.Dead:
					became = engine.RedeliveryDead
				case r.State.Open():
					became = engine.RedeliveryOpen
				}
			}
		}
		all = append(all, became)
	}
	return all, nil
}

// errorsOf returns the errors of all attempts at an event.
func (in *Inspection) errorsOf(r *engine.Record) (texts []string) {
	for _, s := range in.inOrder() {
		if row := s.rows[r.Seq]; row != nil {
			for _, a := range row.Attempts {
				texts = append(texts, a.Error)
			}
		}
	}
	return append(texts, string(r.Metadata))
}

// FailureGroups implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroups(ctx context.Context, f engine.Filter) ([]event.FailureGroup, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	return view.FailureGroups(in.grouped(f)), nil
}

// grouped returns the dead letters that a filter chooses, to be grouped.
func (in *Inspection) grouped(f engine.Filter) (all []view.Letter) {
	for _, one := range in.letters(f) {
		all = append(all, view.Letter{
			Fingerprint: one.Fingerprint, Type: in.registry.nameOf(one.Type), Subscription: one.sub.Name, Died: one.Ended, Place: one.place(),
			Whole: func() event.DeadLetter { return in.deadLetter(one) },
		})
	}
	return all
}

// FailureGroupNames implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroupNames(ctx context.Context, prefix string) (names []string, err error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	return view.GroupNames(in.grouped(engine.Filter{}), prefix), nil
}

// sweep changes the dead letters, or the deliveries that wait to be tried, that matched when it began. It implements [engine.Sweep].
type sweep struct {
	growing
	spec    engine.SweepSpec
	matched []casualty
	spared  bool // crashes, in the last step
	next    int
}

// casualty is one of them when it was found.
type casualty struct {
	sub     *sub
	seq     int64
	died    time.Time
	crashed bool // its last attempt has ended the process
}

// Sweep implements [engine.Sweeper].
func (in *Inspection) Sweep(ctx context.Context, spec engine.SweepSpec) (steps engine.Sweep, matches int, err error) {
	if spec.Again != (engine.Again{}) {
		return nil, 0, fmt.Errorf("retry dead letters: %w: the engine on JetStream stores no steps, so each retry begins from the start", errors.ErrUnsupported)
	}
	if err := in.look(ctx); err != nil {
		return nil, 0, err
	}
	defer in.mu.Unlock()
	if spec.Kind == engine.SweepReplay {
		return in.replay(ctx, spec)
	}
	matched := in.letters(spec.Filter)
	if spec.Kind == engine.SweepTryNow {
		matched = in.retries(spec.Filter, time.Now())
	}
	slices.SortFunc(matched, func(a, b letter) int { return slices.Compare(a.place(), b.place()) })
	entry := event.AuditEntry{Actor: in.actor, Action: string(spec.Kind), Detail: cmp.Or(spec.Detail, spec.Filter.String())}
	if len(matched) == 1 && (spec.Kind != engine.SweepTryNow || len(spec.Filter.Events) == 1) {
		entry.EventID, entry.Subscription = matched[0].ID, matched[0].sub.Name
	}
	s := &sweep{growing: growing{in: in, entry: entry}, spec: spec}
	for _, one := range matched {
		s.matched = append(s.matched, casualty{one.sub, one.Seq, one.Ended, one.DiedOfCrash(one.lastFailed())})
	}
	return s, len(s.matched), nil
}

// Step implements [engine.Sweep].
func (s *sweep) Step(ctx context.Context, limit int, spareCrashes bool) (changed []event.Key, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.spared && !spareCrashes {
		s.next = 0
	}
	s.spared = spareCrashes
	next := s.next
	err = s.in.edit(ctx, func() (msgs []*stream.Msg, err error) {
		changed, next = nil, s.next
		s.begin()
		now := time.Now()
		for ; next < len(s.matched) && len(changed) < min(limit, batchRoom); next++ {
			at := s.matched[next]
			before := at.sub.rows[at.seq]
			if spareCrashes && at.crashed || s.in.subs[at.sub.ID] != at.sub || !s.stillMatches(at, before, now) {
				continue
			}
			r := before.clone()
			s.touch(r)
			switch s.spec.Kind {
			case engine.SweepRetry:
				r.Row = r.Revive(true, now)
			case engine.SweepDiscard:
				r.Row = r.Discard(s.spec.Reason, now)
			case engine.SweepTryNow:
				r.Row = r.TryNow(now)
			case engine.SweepPurge:
				r.Row, r.Attempts, r.gone = r.Purge(now), nil, !r.Made
			}
			msgs = append(msgs, s.in.rowMsg(at.sub.ID, r, before.rev))
			changed = append(changed, event.Key{EventID: r.ID, Subscription: at.sub.Name})
		}
		return append(msgs, s.add(len(changed))), nil
	})
	if err == nil {
		s.next = next
		s.stored()
	}
	return changed, err
}

// stillMatches reports whether a row is what matched: it has not changed meanwhile, or died again.
func (s *sweep) stillMatches(at casualty, r *row, now time.Time) bool {
	switch {
	case r == nil:
		return false
	case s.spec.Kind == engine.SweepTryNow:
		return r.WaitsToBeTried(now) && at.sub.asks[at.seq] == nil
	}
	return r.State == ledger.Dead && r.Ended.Equal(at.died)
}

// replay gives events to a subscription again. It implements [engine.Sweep].
type replay struct {
	growing
	sub  *sub
	seqs []int64 // of the events that matched when it began
	next int
}

// replay begins to give events again. Events that are handled from now on are not part of it.
func (in *Inspection) replay(ctx context.Context, spec engine.SweepSpec) (sweep engine.Sweep, matched int, err error) {
	entry := in.registry.known(spec.Subscription)
	if entry == nil {
		return nil, 0, in.registry.unknown(spec.Subscription)
	}
	s, from := in.subs[entry.ID], int64(1)
	if spec.From != uuid.Nil {
		r, err := in.find(ctx, spec.From)
		if err != nil {
			return nil, 0, err
		}
		from = r.Seq
	}
	note := event.AuditEntry{Actor: in.actor, Action: string(spec.Kind), Subscription: s.Name, Detail: cmp.Or(spec.Detail, spec.Filter.String())}
	if len(spec.Filter.Events) == 1 {
		note.EventID = spec.Filter.Events[0]
	}
	p := &replay{growing: growing{in: in, entry: note}, sub: s}
	err = in.each(ctx, max(from, s.Start+1), func(r *engine.Record) bool {
		if s.handled(r) && view.Within(r.CreatedAt, spec.Filter.Since, spec.Filter.Until) && view.Matches(spec.Filter, r, in.registry.namesOf, []string{string(r.Metadata)}) {
			p.seqs = append(p.seqs, r.Seq)
		}
		return true
	})
	return p, len(p.seqs), err
}

// handled reports whether the subscription has handled an event.
func (s *sub) handled(r *engine.Record) bool {
	if row := s.rows[r.Seq]; row != nil {
		return row.State == ledger.Done
	}
	return r.Seq > s.Start && s.matches(r) && !s.pending(r)
}

// Step implements [engine.Sweep]. Events that were handled did not crash.
func (p *replay) Step(ctx context.Context, limit int, _ bool) (replayed []event.Key, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	next := p.next
	err = p.in.edit(ctx, func() (msgs []*stream.Msg, err error) {
		replayed, next = nil, p.next
		p.begin()
		now := time.Now()
		for ; next < len(p.seqs) && len(replayed) < min(limit, batchRoom); next++ {
			e, err := p.in.event(ctx, p.seqs[next])
			if err != nil || !p.sub.handled(e) {
				continue
			}
			r, rev := newRow(e), p.sub.revOf(e.Seq)
			r.Row = ledger.Handled(e)
			if before := p.sub.rows[e.Seq]; before != nil {
				r = before.clone()
			}
			r.Row = r.Replay(now)
			p.touch(r)
			msgs = append(msgs, p.in.rowMsg(p.sub.ID, r, rev))
			replayed = append(replayed, event.Key{EventID: e.ID, Subscription: p.sub.Name})
		}
		return append(msgs, p.add(len(replayed))), nil
	})
	if err == nil {
		p.next = next
		p.stored()
	}
	return replayed, err
}
