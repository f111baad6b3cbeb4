package buslog

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Due times are stored by the wall clock, because they have to survive the process. The wall
// clock can be set back; then everything that waits would wait for longer by as much. So a
// process that waits for deliveries compares the wall clock with the monotonic one, and moves
// the due times of its view with it. A row says when its due time was set, too. No row can have
// been written in the future: if the clock was set back while no process looked, or is behind
// that of the process which has written the row, the row waits for its whole wait at most.
//
// Delayed events are promised for a time of the wall clock and are left alone. No process has
// set the due time of their rows.

const (
	// clockTolerance is how far the clocks may part between two looks without anything
	// having been set.
	clockTolerance = 100 * time.Millisecond
	// clockLook is how often a process looks while something waits.
	clockLook = 200 * time.Millisecond
	// clocksApart is how far the clocks of two machines may be apart without a warning.
	clocksApart = time.Second
)

// clock is the wall clock of a process, and how far it was at the last look.
type clock struct {
	wall func() time.Time // time.Now, but in tests

	// These are guarded by the log's mu.
	wallThen, then time.Time
	watched        bool          // the timer runs
	timer          *time.Timer   // rings when it is time to look
	back           time.Duration // the most by which rows were written in the future
}

// newClock makes the clock of a log.
func (v *logView) newClock(wall func() time.Time) {
	if wall == nil {
		wall = time.Now
	}
	v.clock.wall = wall
	v.clock.timer = time.AfterFunc(time.Hour, v.followClock)
	v.clock.timer.Stop()
}

// now is the time of the wall clock. Differences of two are not what has passed.
func (c *clock) now() time.Time { return c.wall().Round(0).UTC() }

// at returns when the wall clock will show a time, or now for none, as the monotonic clock
// sees it.
func (c *clock) at(due time.Time) time.Time {
	if due.IsZero() {
		return time.Now()
	}
	return time.Now().Add(due.Sub(c.now()))
}

// dueOf returns when the deliveries of a delayed event are due. One that is due as it is
// published must not wait for a wall clock that is set back.
func dueOf(r *engine.Record) time.Time {
	if !r.Due.After(r.CreatedAt) {
		return time.Time{}
	}
	return r.Due
}

// putOff returns when something is due that has to wait until the given moment of the
// monotonic clock, and when that was set.
func (c *clock) putOff(until time.Time) (due, set time.Time) {
	set = c.now()
	return set.Add(max(0, time.Until(until))), set
}

// look returns by how much the wall clock was set forward, or back if that is negative, since
// the last look.
func (c *clock) look() (step time.Duration) {
	now, wall := time.Now(), c.now()
	step = wall.Sub(c.wallThen) - now.Sub(c.then)
	c.wallThen, c.then = wall, now
	if step.Abs() < clockTolerance {
		return 0
	}
	return step
}

// watchClock begins to look at the clock, because something waits.
func (v *logView) watchClock() {
	if c := &v.clock; !c.watched && !v.closed {
		c.watched = true
		c.look()
		c.timer.Reset(clockLook)
	}
}

// followClock notices that the wall clock was set, and lets all consumers poll whose due
// times that concerns.
func (v *logView) followClock() {
	v.mu.Lock()
	defer v.mu.Unlock()
	waits, c := false, &v.clock
	for _, s := range v.listening {
		waits = waits || len(s.due) > 0
	}
	if c.watched = waits && !v.closed; !c.watched {
		return
	}
	if step := c.look(); step != 0 {
		v.setBack(max(0, -step))
		v.wakeUnits()
	}
	c.timer.Reset(clockLook)
}

// setBack makes what waits due earlier, because the clock was set back.
func (v *logView) setBack(by time.Duration) {
	if by == 0 {
		return
	}
	moved := false
	for _, s := range v.subs {
		s.due = nil
		for _, r := range s.rows {
			if !r.Set.IsZero() {
				r.Row, moved = r.SetBack(by), true
			}
			s.queueRow(r)
		}
	}
	if moved {
		v.reportSetBack(by)
	}
}

// shorten makes a row of the view that was written in the future wait for its whole wait, counted from now.
func (v *logView) shorten(r *row) {
	if r.Set.IsZero() {
		return
	}
	if by := r.Set.Sub(v.clock.now()); by >= clockTolerance {
		r.Row, v.clock.back = r.SetBack(by), max(v.clock.back, by)
	}
}

func (v *logView) reportSetBack(by time.Duration) {
	v.logger.Warn("the wall clock was set back; retries and snoozed events wait no longer for it", "by", by)
}
