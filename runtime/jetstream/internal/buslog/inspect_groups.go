package buslog

import (
	"context"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/view"
)

// FailureGroups implements [engine.DeadLetterReader].
func (in *Inspection) FailureGroups(ctx context.Context, f engine.Filter) ([]event.FailureGroup, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	return view.FailureGroups(in.grouped(f)), nil
}

// grouped returns the dead letters that a filter chooses, to be grouped. The caller holds mu.
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
