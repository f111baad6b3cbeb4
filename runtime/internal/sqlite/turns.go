package sqlite

import (
	"context"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

const (
	// restFactor is by how much longer than a transaction others are let in after it: they have more
	// than nine tenths of the time, on a slow disk too.
	restFactor = 12
	// leastRest and longestRest bound that.
	leastRest, longestRest = 10 * time.Millisecond, time.Second / 4
)

// rest returns for how long others are let in after a transaction that took so long.
func rest(took time.Duration) time.Duration {
	return min(max(restFactor*took, leastRest), longestRest)
}

// inTurns changes much, in many transactions, and lets those who publish in between them. It is used by one goroutine.
type inTurns struct {
	*Inspection
	others time.Time // until then it is their turn
}

// change is that of the Inspection, when it is its turn. The context, and Close, end the waiting.
func (t *inTurns) change(ctx context.Context, op string, f func(c *database.Conn) error) error {
	turn := time.NewTimer(time.Until(t.others))
	defer turn.Stop()
	select {
	case <-turn.C:
	case <-t.closing.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	var began time.Time // when it had the lock
	err := t.Inspection.change(ctx, op, func(c *database.Conn) error {
		began = time.Now()
		return f(c)
	})
	if now := time.Now(); !began.IsZero() {
		t.others = now.Add(rest(now.Sub(began)))
	}
	return err
}
