package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// unit is a subscription that this process handles, or waits for. It is guarded by the
// log's mu.
type unit struct {
	log      *Log
	sub      *sub
	consumer *consumer // nil while nobody polls
	timer    *time.Timer

	owned     bool
	polled    bool                       // somebody has polled it since it was begun
	moved     bool                       // what this process has of the subscription has changed since the last poll
	rev       int64                      // the sequence number of our last cursor
	n         int64                      // the number of the last one that was made
	next      int64                      // the first event that was not looked at
	reopen    []int64                    // events before next that are to be handed out, in order
	prepared  *claim                     // an event that is being decoded
	whole     map[int64]*row             // of what is stored next, by event
	returning int                        // deliveries that come back as soon as that is stored
	back      uint64                     // counts what was given back: it comes before what follows
	wary      int                        // of so many deliveries the claim is stored before the handler is called
	flights   map[int64]*flight          // what was polled, or is to be stored
	left      map[*engine.Delivery]claim // of handlers that were left behind
	queue     []*flight                  // that have ended, in the order in which they did

	changes   uint64          // counts what is to be stored
	stored    uint64          // of these changes
	tries     int             // how often in a row a plan was refused; used by the goroutine that stores
	unsure    bool            // dedupe keys cannot be looked up; used by the goroutine that stores
	alone     bool            // the next plan has one delivery
	releasing bool            // the next cursor has no owner
	busyMode  bool            // see claims.go
	begun     bool            // a handler was begun in this mode since the last cursor was made
	busy      bool            // what the stored cursor says
	window    time.Time       // since when handlers are counted
	exact     int             // that were claimed exactly since then
	plan      *plan           // that is on its way
	doubts    map[int64]*plan // that may be stored, by the number of their cursors
	written   chan struct{}   // closed when stored has changed; nil while nobody waits
	now       chan struct{}   // something is to be stored at once
	soon      chan struct{}   // something is to be stored within flushDelay
	ended     chan struct{}   // closed when the goroutine that stores ends; nil if it never began
}

// flight is a delivery that was polled.
type flight struct {
	delivery *engine.Delivery // as it was handed out, with the names of this process
	record   *engine.Record   // under the name with which it was published
	consumer *consumer        // that has polled it; nil if there is no more
	row      *row             // that it had, or nil
	begun    bool
	waits    bool
	batch    bool
	returned bool // its handler
	started  time.Time
	ended    bool               // it is settled
	how      engine.Disposition // if so
	ahead    bool               // it was polled before its turn, so that it needs a row whatever happens
	park     bool               // it is a delayed event that becomes a row
}

// unitOf returns the unit of a subscription. The caller holds mu.
func (l *Log) unitOf(s *sub) *unit {
	u := l.units[s.ID]
	if u == nil {
		u = &unit{log: l, sub: s, flights: map[int64]*flight{}, left: map[*engine.Delivery]claim{}, doubts: map[int64]*plan{}, now: make(chan struct{}, 1), soon: make(chan struct{}, 1)}
		u.timer = time.AfterFunc(time.Hour, u.ring)
		u.timer.Stop()
		l.units[s.ID] = u
	}
	return u
}

// ring wakes whoever polls, when a delivery is due.
func (u *unit) ring() {
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	if u.consumer != nil {
		u.consumer.wake()
	}
}

// changed notes that something is to be stored, at once or soon. The caller holds mu.
func (u *unit) changed(atOnce bool) {
	u.changes++
	c := u.soon
	if atOnce {
		c = u.now
	}
	select {
	case c <- struct{}{}:
	default:
	}
}

// write waits until everything up to now is stored. It reports false if the subscription is
// not this process's any more.
func (u *unit) write(ctx context.Context) (bool, error) {
	l := u.log
	l.mu.Lock()
	target := u.changes
	for u.owned && u.stored < target {
		if u.written == nil {
			u.written = make(chan struct{})
		}
		written := u.written
		u.changes-- // nothing is new
		u.changed(true)
		l.mu.Unlock()
		select {
		case <-written:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-l.stopped:
			return false, engine.ErrClosed
		}
		l.mu.Lock()
	}
	owned := u.owned
	l.mu.Unlock()
	return owned, nil
}

// noteWritten wakes those who wait for something to be stored. The caller holds mu.
func (u *unit) noteWritten() {
	if u.written != nil {
		close(u.written)
		u.written = nil
	}
}

// lose forgets everything: another process has the subscription. The caller holds mu.
func (u *unit) lose() {
	u.owned, u.moved, u.plan = false, true, nil
	u.releasing = false
	clear(u.doubts)
	clear(u.left)
	u.returning = 0
	u.flights, u.queue, u.reopen = map[int64]*flight{}, nil, nil
	u.timer.Stop()
	u.noteWritten()
	u.log.lack()
	if u.consumer != nil {
		u.consumer.wake()
	}
	u.changed(true) // its goroutine ends, so that the subscription can be taken again
}

// removed says that the subscription is forgotten. The caller holds mu.
func (u *unit) removed() {
	u.lose()
	if u.consumer != nil {
		u.consumer.end()
	}
	delete(u.log.units, u.sub.ID)
}

// putBack makes events that were polled and not begun come again. The caller holds mu.
func (u *unit) putBack(seqs ...int64) {
	u.back++
	u.reopen = append(u.reopen, seqs...)
	slices.Sort(u.reopen)
	u.reopen = slices.Compact(u.reopen)
}

// cursorChanged looks at a cursor that has arrived. The caller holds mu.
func (u *unit) cursorChanged() {
	c := &u.sub.cursor
	switch {
	case u.plan != nil && c.N == u.plan.cursor.N && c.Owner == u.plan.cursor.Owner:
		u.complete(u.plan, u.sub.rev)
	case u.doubts[c.N] != nil && c.Owner == u.doubts[c.N].cursor.Owner:
		u.complete(u.doubts[c.N], u.sub.rev)
	case u.owned && c.Owner != u.log.instance:
		u.log.logger.Warn("another process has taken over a subscription", "subscription_id", u.sub.Name, "owner", c.Owner)
		u.lose()
	}
	if !u.owned && c.Owner == "" && u.log.dispatching && u.consumer != nil {
		go u.log.takeOverFreed()
	}
}

// rowChanged looks at a row that has arrived. The caller holds mu.
func (u *unit) rowChanged(r *row) {
	if !u.owned {
		return
	}
	if u.consumer != nil {
		u.consumer.wake()
	}
}
