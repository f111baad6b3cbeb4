package buslog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Hour implements [engine.StatusReader]. It reads the newest events only; minutes before
// the oldest of them are not counted.
func (in *Inspection) Hour(ctx context.Context) (event.Hour, error) {
	hour := engine.CountHour(time.Now())
	if err := in.look(ctx); err != nil {
		return hour.Hour, err
	}
	defer in.mu.Unlock()
	read, oldest, more := 0, hour.At, false
	err := in.eachBack(ctx, in.applied, func(r *engine.Record) bool {
		if !in.shown(r) {
			return true
		}
		if read == engine.HourEvents {
			more = true
			return false
		}
		read++
		oldest = r.CreatedAt
		hour.Publish(r.CreatedAt)
		return true
	})
	if more {
		hour.CountedFrom(oldest)
	}
	byName := slices.SortedFunc(slices.Values(in.inOrder()), func(a, b *sub) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range byName {
		for _, r := range s.rows {
			if r.State == ledger.Dead {
				hour.Died(s.Name, hour.Minute(r.Ended), 1)
			}
		}
	}
	return hour.Hour, err
}
