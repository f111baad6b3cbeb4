package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/view"
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
