package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
)

// Hour implements [engine.StatusReader].
func (in *inspection) Hour(context.Context) (engine.Hour, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	hour := engine.NewHour(time.Now())
	in.eachFrom(in.oldest, func(r *engine.Record) { hour.Publish(r.CreatedAt) })
	byName := slices.SortedFunc(slices.Values(in.subscriptions), func(a, b *subscription) int { return cmp.Compare(a.name, b.name) })
	for _, sub := range byName {
		for _, d := range sub.deliveries {
			if d.State == ledger.Dead {
				hour.Died(sub.name, hour.Minute(d.Ended), 1)
			}
		}
	}
	return hour, nil
}
