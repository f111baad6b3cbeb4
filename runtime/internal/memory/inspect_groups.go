package memory

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/memview"
)

// FailureGroups implements [engine.DeadLetterReader].
func (in *inspection) FailureGroups(_ context.Context, f engine.Filter) ([]engine.FailureGroup, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return memview.FailureGroups(in.grouped(f)), nil
}

// grouped returns the dead letters that a filter chooses, to be grouped. The caller holds mu.
func (s *store) grouped(f engine.Filter) (all []memview.Letter) {
	for _, one := range s.letters(f) {
		all = append(all, memview.Letter{
			Fingerprint: one.Fingerprint, Type: s.nameOf(one.Type), Subscription: one.sub.name, Died: one.Ended, Place: one.place(),
			Whole: func() engine.DeadLetter { return s.deadLetter(one) },
		})
	}
	return all
}

// FailureGroupNames implements [engine.DeadLetterReader].
func (in *inspection) FailureGroupNames(_ context.Context, prefix string) ([]string, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return memview.GroupNames(in.grouped(engine.Filter{}), prefix), nil
}

// Redelivered implements [engine.DeadLetterReader].
func (in *inspection) Redelivered(_ context.Context, keys []engine.Key) (all []engine.Redelivery, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, key := range keys {
		became := engine.RedeliverySettled
		if sub := in.known(key.Subscription); sub != nil {
			for _, d := range sub.deliveries {
				switch {
				case d.ID != key.EventID:
				case d.State == ledger.Dead:
					became = engine.RedeliveryDead
				case d.State.Open():
					became = engine.RedeliveryOpen
				}
			}
		}
		all = append(all, became)
	}
	return all, nil
}
