package buslog

import (
	"cmp"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Deliveries are shown as put off too often from so many snoozes on, or from one on when
// they are that old.
const (
	manySnoozes  = 100
	longSnoozed  = 24 * time.Hour
	snoozedShown = 10
)

// snoozed returns what was put off too often, the most often first. The caller holds mu.
func (in *Inspection) snoozed() []engine.Snoozed {
	type candidate struct {
		*row
		sub *sub
	}
	var all []candidate
	for _, s := range in.inOrder() {
		for _, r := range s.rows {
			if r.State.Open() && (r.Snoozes >= manySnoozes || r.Snoozes > 0 && time.Since(r.Since) >= longSnoozed) {
				all = append(all, candidate{r, s})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.Snoozes, a.Snoozes), cmp.Compare(a.Seq, b.Seq)) })
	var found []engine.Snoozed
	for _, one := range all[:min(snoozedShown, len(all))] {
		found = append(found, engine.Snoozed{
			Event: one.ID, Type: in.registry.nameOf(one.Type), Subscription: one.sub.Name, Snoozes: one.Snoozes, Since: one.Since.UTC(),
		})
	}
	return found
}
