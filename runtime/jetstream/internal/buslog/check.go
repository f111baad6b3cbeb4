package buslog

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// samples is how many of the things that break a rule are named.
const samples = 5

// Check implements [engine.Checker]. The servers keep sums of what they store, and look after
// the integrity of it. The routes of subscriptions follow from the registry, and are no records.
func (in *Inspection) Check(ctx context.Context) ([]event.Problem, error) {
	if err := in.look(ctx); err != nil {
		return nil, err
	}
	defer in.mu.Unlock()
	found := map[string]*event.Problem{}
	report := func(rule, format string, args ...any) {
		if found[rule] == nil {
			found[rule] = &event.Problem{Rule: rule}
		}
		p := found[rule]
		if p.Count++; len(p.Samples) < samples {
			p.Samples = append(p.Samples, fmt.Sprintf(format, args...))
		}
	}
	first, needed := int64(math.MaxInt64), map[int64][]string{} // the subscriptions with a row of an event
	for _, s := range in.inOrder() {
		for _, at := range s.live() {
			if next := s.parts[at].Next; next > in.applied+1 {
				report("cursor", "subscription %s stands at %d, and the log ends at %d", s.Name, next, in.applied)
			}
		}
		for _, seq := range slices.Sorted(maps.Keys(s.rows)) {
			r := s.rows[seq]
			if wrong := r.wrong(); wrong != "" {
				report("state", "event %s for %s: %s", r.ID, s.Name, wrong)
			}
			if r.State.Open() || r.State == ledger.Dead {
				first, needed[seq] = min(first, seq), append(needed[seq], s.Name)
			}
		}
	}
	if len(needed) > 0 {
		if err := in.each(ctx, first, func(r *engine.Record) bool { delete(needed, r.Seq); return ctx.Err() == nil }); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, seq := range slices.Sorted(maps.Keys(needed)) {
		for _, name := range needed[seq] {
			report("reference", "the event at %d is missing, which %s has yet to settle or has as a dead letter", seq, name)
		}
	}
	var all []event.Problem
	for _, rule := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[rule])
	}
	return all, nil
}

// wrong says what is missing in a row; empty if nothing is.
func (r *row) wrong() string {
	if dead := r.State == ledger.Dead; dead && r.Reason == "" || (dead || r.State == ledger.Discarded) && r.Ended.IsZero() {
		return fmt.Sprintf("it is %s without a time or a reason", stateNames[r.State])
	}
	return ""
}
