package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// Due times are stored by the wall clock, because they have to survive the
// process. The wall clock can be set back; then everything that waits would wait
// for longer by as much. So the process that dispatches compares the wall clock
// with the monotonic one, and moves the due times with it. What happened while
// nobody dispatched shows in the rows: each says how long it waits from the
// moment it was written, and none can have been written in the future.
//
// Delayed events are promised for a time of the wall clock and are left alone.

// clockTolerance is how far the clocks may part between two looks without
// anything having been set.
const clockTolerance = 100 * time.Millisecond

// clock is the wall clock of a log, and how far it was when somebody looked last.
type clock struct {
	wall func() time.Time // time.Now, but in tests

	wallThen, then time.Time // as of the last look; guarded by the writer's turn
}

// now is the time of the wall clock. Differences of two are not what has passed.
func (c *clock) now() time.Time { return c.wall().Round(0) }

// putOff returns the time, and when something is due that has to wait until the given moment: zero for none. The
// moment is one of the monotonic clock, if it has a reading of it.
func (c *clock) putOff(until time.Time) (now, due time.Time) {
	if now = c.now(); !until.IsZero() {
		due = now.Add(max(0, time.Until(until)))
	}
	return now, due
}

// look returns by how much the wall clock was set forward, or back if that is
// negative, since the last look.
func (c *clock) look() (step time.Duration) {
	now, wall := time.Now(), c.now()
	step = wall.Sub(c.wallThen) - now.Sub(c.then)
	c.wallThen, c.then = wall, now
	if step.Abs() < clockTolerance {
		return 0
	}
	return step
}

// followClock notices that the wall clock was set, and wakes those whose due
// times that concerns. It runs on the writer's goroutine.
func (o *owner) followClock() {
	step := o.clock.look()
	if step == 0 && o.back == 0 {
		return
	}
	o.back = max(0, o.back-step)
	if o.owns.Load() && o.back > 0 {
		err := o.writer.conn.Transaction(false, func() error {
			if err := o.lookout.verify(); err != nil {
				return err
			}
			return shiftWaits(o.writer.conn, o.back)
		})
		if err != nil {
			return // the next look tries again
		}
		o.reportSetBack(o.back)
	}
	o.back = 0
	o.consumers.recheck()
}

func (o *owner) reportSetBack(by time.Duration) {
	o.logger.Warn("the wall clock was set back; retries and snoozed events wait no longer for it", "by", by)
}

// followClockSince makes up for a wall clock that was set back while nobody
// dispatched, and makes due what is held for its version. It runs in a transaction of the writer. It also says how
// many deliveries wait, and how many are dead, because it has to look at the rows that wait.
func (o *owner) followClockSince(c *database.Conn, found *engine.Recovery) error {
	o.clock.look()
	o.back = 0
	back, held, err := setBack(c, o.clock.now(), found, rowsCounted)
	if err == nil && back > 0 {
		o.reportSetBack(back)
		err = shiftWaits(c, back)
	}
	if err == nil && held {
		err = o.askAgain(c)
	}
	return err
}

// askAgain makes the deliveries due that the last program held because it could not read their versions: this one may
// know them. Since when they are held stays.
func (o *owner) askAgain(c *database.Conn) error {
	return c.Exec(`
		UPDATE busgen_deliveries AS d SET due_at = ?1, wait = max(1, ?1 - (due_at - wait))
		WHERE d.state <> 'dead' AND `+heldForVersion, o.clock.now())
}

// shiftWaits makes what waits due earlier, because the clock was set back. What is due at once, as a cancelled delivery
// that had waited, stays so.
func shiftWaits(c *database.Conn, back time.Duration) error {
	return c.Exec(`
		UPDATE busgen_deliveries SET due_at = due_at - ?
		WHERE state <> 'dead' AND state IN ('waiting', 'held') AND wait IS NOT NULL AND due_at > 0`, back.Microseconds())
}

// setBack returns by how much the wall clock must have been set back since the
// rows of the file were written. It counts the rows that wait, and the dead ones up to most, and reports whether some
// are held for their version.
//
// To read the whole table takes a sixth of the time of reading rows through the index, unless
// most of it is dead letters, or many are parked: these have no due time.
func setBack(c *database.Conn, now time.Time, found *engine.Recovery, most int) (back time.Duration, held bool, err error) {
	dead, err := c.Int64("SELECT count(*) FROM (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_dead WHERE state = 'dead' LIMIT ?)", most)
	if err != nil {
		return 0, false, err
	}
	found.Dead = int(dead)
	rows := "NOT INDEXED WHERE state IN ('waiting', 'held')"
	parked, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE waitlist IS NOT NULL)")
	if err != nil {
		return 0, false, err
	}
	if found.Dead == most || parked != 0 {
		rows = `INDEXED BY busgen_deliveries_open
			WHERE subscription IN (SELECT id FROM busgen_subscriptions) AND due_at >= 0 AND state <> 'dead' AND state IN ('waiting', 'held')`
	}
	err = c.Query("SELECT sum(state = 'waiting' AND due_at >= 0), max(due_at - wait), max("+heldForVersion+") FROM busgen_deliveries AS d "+rows, func(s *sqlite3.Stmt) error {
		found.Waiting, held = s.ColumnInt(0)-found.Interrupted, s.ColumnBool(2)
		if s.ColumnType(1) != sqlite3.NULL {
			back = database.Time(s, 1).Sub(now)
		}
		return nil
	})
	if back < clockTolerance {
		back = 0
	}
	return back, held, err
}
