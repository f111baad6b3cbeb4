package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/memview"
)

// letter is a dead delivery, and where it is.
type letter struct {
	*delivery
	sub *subscription
	at  int // the place of the subscription among all
}

func (l letter) key() engine.Key {
	return engine.Key{EventID: l.ID, Subscription: l.sub.name}
}

// place orders letters by the time at which they died.
func (l letter) place() []int64 { return []int64{l.Ended.UnixNano(), l.Seq, int64(l.at)} }

// letters returns the dead letters that a filter chooses, in no order.
func (s *store) letters(f engine.Filter) (found []letter) {
	for at, sub := range s.subscriptions {
		for _, d := range sub.deliveries {
			l := letter{d, sub, at}
			if d.State == ledger.Dead && s.chooses(f, l) {
				found = append(found, l)
			}
		}
	}
	return found
}

func (s *store) chooses(f engine.Filter, l letter) bool {
	named := func(name string) bool { return s.known(name) == l.sub }
	keyed := func(k engine.Key) bool { return k.EventID == l.ID && named(k.Subscription) }
	switch {
	case len(f.Subscriptions) > 0 && !slices.ContainsFunc(f.Subscriptions, named),
		len(f.Reasons) > 0 && !slices.Contains(f.Reasons, l.Reason),
		len(f.Keys) > 0 && !slices.ContainsFunc(f.Keys, keyed),
		f.Group != "" && f.Group != l.Fingerprint,
		l.Ended.Before(f.Since) || !f.Until.IsZero() && l.Ended.After(f.Until):
		return false
	}
	return memview.MatchesLetter(f, l.Record, s.namesOf, field(l.attempts, func(a engine.FailedAttempt) string { return a.Error }))
}

// DeadLetters implements [engine.DeadLetterReader].
func (in *inspection) DeadLetters(_ context.Context, f engine.Filter, p engine.Page, oldestFirst bool) ([]engine.DeadLetter, string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	found, cursor, err := memview.Page(p, in.letters(f), 3, letter.place, oldestFirst)
	var all []engine.DeadLetter
	for _, l := range found {
		all = append(all, in.deadLetter(l))
	}
	return all, cursor, err
}

// deadLetter returns a letter as an operator sees it.
func (s *store) deadLetter(l letter) engine.DeadLetter {
	return engine.DeadLetter{
		Key: l.key(), Type: s.nameOf(l.Type), Version: l.Version, Payload: l.Payload, Metadata: l.Metadata,
		PublishedAt: l.CreatedAt.UTC(), DeadAt: l.Ended.UTC(), Reason: l.Reason, Fingerprint: l.Fingerprint,
		Failures: l.Failures, Redriven: l.Redriven, Progress: l.Progress, Attempts: slices.Clone(l.attempts),
	}
}

// CountDeadLetters implements [engine.DeadLetterReader].
func (in *inspection) CountDeadLetters(_ context.Context, f engine.Filter) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.letters(f)), nil
}

// DeadLetter implements [engine.DeadLetterReader].
func (in *inspection) DeadLetter(_ context.Context, key engine.Key) (engine.DeadLetterHistory, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, l := range in.letters(engine.Filter{Keys: []engine.Key{key}}) {
		return engine.DeadLetterHistory{DeadLetter: in.deadLetter(l)}, nil
	}
	return engine.DeadLetterHistory{}, &engine.NotFoundError{Thing: "dead letter", Key: key, State: "it is settled, open or unknown"}
}

// sweep changes the dead letters that matched when it began. It implements
// [engine.Sweep].
type sweep struct {
	growing
	spec    engine.SweepSpec
	matched []letter
	next    int
}

// Sweep implements [engine.Sweeper].
func (in *inspection) Sweep(_ context.Context, spec engine.SweepSpec) (engine.Sweep, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if spec.Kind == engine.SweepReplay || spec.Kind == engine.SweepRewind {
		return in.replay(spec)
	}
	matched := in.letters(spec.Filter)
	slices.SortFunc(matched, func(a, b letter) int { return slices.Compare(a.place(), b.place()) })
	entry := engine.AuditEntry{Actor: in.actor, Action: string(spec.Kind), Detail: cmp.Or(spec.Detail, spec.Filter.String())}
	if len(matched) == 1 {
		entry.EventID, entry.Subscription = matched[0].ID, matched[0].sub.name
	}
	return &sweep{growing: growing{in: in, entry: entry}, spec: spec, matched: matched}, nil
}

// Matched implements [engine.Sweep].
func (s *sweep) Matched() int { return len(s.matched) }

// SpareCrashes implements [engine.Sweep]. No letter here has ended a process.
func (s *sweep) SpareCrashes(spare bool) {
	if !spare {
		s.next = 0
	}
}

// Step implements [engine.Sweep].
func (s *sweep) Step(_ context.Context, limit int) (changed []engine.Key, err error) {
	s.in.mu.Lock()
	defer s.in.mu.Unlock()
	for ; s.next < len(s.matched) && len(changed) < limit; s.next++ {
		l := s.matched[s.next]
		if l.State != ledger.Dead || l.sub.deliveries[l.Seq] != l.delivery {
			continue
		}
		switch s.spec.Kind {
		case engine.SweepRetry:
			l.Row = l.Revive(true, time.Now())
		case engine.SweepDiscard:
			l.Row = l.Discard(s.spec.Reason, time.Now())
		case engine.SweepPurge:
			delete(l.sub.deliveries, l.Seq)
		}
		changed = append(changed, l.key())
	}
	s.add(len(changed))
	return changed, nil
}
