package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// When the process dies while the events of a batch are at work, all of them are suspects.
// Each may then be in a batch with half as many suspects as there were. So a crash during
// such a half leaves half of the half, until an event has ended the process alone. What has
// survived is settled, so the claims and Together are all that has to be remembered.

// inBatches is what a subscription had at work in batches when the process died.
type inBatches struct {
	events   int
	suspects int // of these, before the crash
}

// halve finds out in what batches the deliveries that ran may run again.
func halve(c *database.Conn, all []ran) error {
	found := map[int64]inBatches{}
	for i := range all {
		one := &all[i]
		one.together = 1
		err := c.Query("SELECT suspect FROM busgen_deliveries WHERE subscription = ? AND seq = ?", func(s *sqlite3.Stmt) error {
			one.before = s.ColumnInt(0)
			return nil
		}, one.subscription, one.seq)
		if err != nil {
			return err
		}
		if !one.batch || one.waited {
			continue
		}
		b := found[one.subscription]
		if b.events++; one.before > 0 {
			b.suspects++
		}
		found[one.subscription] = b
	}
	for i := range all {
		one := &all[i]
		if one.waited || !one.batch {
			continue
		}
		b := found[one.subscription]
		one.together = half(b.events)
		if one.before > 0 {
			one.together = min(one.together, half(one.before)) // handlers that were left behind may have run beside it
		}
		one.again = one.before > 0 && b.suspects > 1
	}
	return nil
}

func half(n int) int { return (n + 1) / 2 }

// What the table crashes says of a crash while several ran.
const (
	crashOpen    = iota // it may count as a failed attempt later
	crashCounted        // it is on record as one
	crashOfHalf         // it never counts: the delivery was a suspect of an earlier one
)

// noteCrash remembers that a delivery ran with others. Of the crashes on the way to the one
// event that ends the process only the first one counts for it: it is a suspect from then on.
// Otherwise the process would have to be killed from outside only about log2(n) times, always
// while the first half of a batch runs, to make a dead letter of an innocent event.
func noteCrash(c *database.Conn, one ran, crash *engine.Crash, now time.Time) error {
	counted := crashOpen
	switch {
	case crash == nil:
		counted = crashCounted
	case one.before > 0:
		counted = crashOfHalf
	}
	return c.Exec("INSERT OR REPLACE INTO busgen_crashes (seq, subscription, at, counted) VALUES (?, ?, ?, ?)", one.seq, one.subscription, now, counted)
}
