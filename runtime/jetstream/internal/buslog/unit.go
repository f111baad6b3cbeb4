package buslog

import (
	"cmp"
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
	calm     *time.Timer // see calmDown
	parallel bool        // it shares the subscription with others that do so

	parts     [1 + partCount]share
	freed     [1 + partCount]time.Time   // since when nobody has a part, as far as this process has seen
	letGo     time.Time                  // when parts were last given away
	stayed    time.Time                  // when parts were last kept because their handlers took too long
	skip      [partCount]int64           // by part: it has looked at the events before this, wherever next is
	hungry    bool                       // the last poll has found too little, so that new events wake the consumer
	polled    bool                       // somebody has asked for deliveries
	moved     bool                       // what this process has of the subscription has changed since the last poll
	next      int64                      // the first event that was not looked at
	reopen    []reopened                 // events before next that are to be handed out, in order
	prepared  *claim                     // an event that is being decoded
	preparing int                        // its slot
	whole     map[int64]*row             // of what is stored next, by event
	returning int                        // deliveries that come back as soon as that is stored
	back      uint64                     // counts what was given back: it comes before what follows
	wary      int                        // of so many deliveries the claim is stored before the handler is called
	flights   flights                    // what was polled, or is to be stored
	atWork    []*flight                  // that have begun, and are not stored
	left      map[*engine.Delivery]claim // of handlers that were left behind
	queue     []*flight                  // that have ended, in the order in which they did

	changes  uint64        // counts what is to be stored
	stored   uint64        // of these changes
	tries    int           // how often in a row a plan was refused; used by the goroutine that stores
	unsure   bool          // dedupe keys cannot be looked up; used by the goroutine that stores
	wasBusy  bool          // when it last looked; used by the goroutine that stores
	removed  bool          // the subscription is forgotten; used by the goroutine that stores
	alone    bool          // the next plan has one delivery
	busyMode bool          // see claims.go
	begunAt  time.Time     // when a handler was begun in this mode
	window   time.Time     // since when handlers are counted
	exact    int           // that were claimed exactly since then
	plan     *plan         // that is on its way
	doubts   []*plan       // that may be stored
	written  chan struct{} // closed when stored has changed; nil while nobody waits
	now      chan struct{} // something is to be stored at once
	soon     chan struct{} // something is to be stored within delay
	running  bool          // there is a goroutine that stores
	lane     lane
	still    standstill
}

// flight is a delivery that was polled.
type flight struct {
	delivery engine.Delivery     // as it was handed out, with the names of this process
	record   *engine.Record      // under the name with which it was published
	consumer *consumer           // that has polled it; nil if there is no more
	row      *row                // that it had, or nil
	started  int64               // when its handler was called, in nanoseconds since 1970; 0 for never
	how      *engine.Disposition // if it has ended; never changed
	plan     *plan               // the last one that it is in
	in       uint8               // the slot of the event
	begun    bool
	waits    bool
	asked    bool // for its claim, see called.go
	batch    bool
	returned bool // its handler
	ended    bool // it is settled
	ahead    bool // it was polled before its turn, so that it needs a row whatever happens
	park     bool // it is a delayed event that becomes a row
	returns  bool // it has ended, and comes back at once
	stored   bool // how it has ended
	known    bool // it is one of the unit's; guarded as the lane says
}

// slot returns that of the event.
func (f *flight) slot() int { return int(f.in) }

// began returns when its handler was called.
func (f *flight) began() time.Time {
	if f.started == 0 {
		return time.Time{}
	}
	return time.Unix(0, f.started)
}

// unitOf returns the unit of a subscription. The caller holds mu.
func (l *Log) unitOf(s *sub) *unit {
	u := l.units[s.ID]
	if u == nil {
		u = &unit{log: l, sub: s, left: map[*engine.Delivery]claim{}, now: make(chan struct{}, 1), soon: make(chan struct{}, 1)}
		u.timer = time.AfterFunc(time.Hour, u.ring)
		u.timer.Stop()
		u.calm = time.AfterFunc(time.Hour, u.calmDown)
		u.calm.Stop()
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
	u.signal(atOnce)
}

// signal wakes the goroutine that stores.
func (u *unit) signal(atOnce bool) {
	c := u.soon
	if atOnce {
		c = u.now
	}
	select {
	case c <- struct{}{}:
	default:
	}
}

// write waits until everything up to now is stored. It reports false if nothing of the
// subscription is this process's any more.
func (u *unit) write(ctx context.Context) (bool, error) {
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	return u.writeNow(ctx)
}

// writeNow is write for who holds mu, which is free meanwhile.
func (u *unit) writeNow(ctx context.Context) (bool, error) {
	u.shut()
	for target := u.changes; u.owns() && u.stored < target; {
		if err := u.awaitWritten(ctx); err != nil {
			return false, err
		}
	}
	return u.owns(), nil
}

// awaitWritten waits until something is stored. The caller holds mu, which is free meanwhile.
func (u *unit) awaitWritten(ctx context.Context) error {
	l := u.log
	if u.written == nil {
		u.written = make(chan struct{})
	}
	written := u.written
	u.changes-- // nothing is new
	u.changed(true)
	l.mu.Unlock()
	defer l.mu.Lock()
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.stopped:
		return engine.ErrClosed
	}
}

// noteWritten wakes whoever waits for something to be stored. The caller holds mu.
func (u *unit) noteWritten() {
	if u.written != nil {
		close(u.written)
		u.written = nil
	}
}

// remove says that the subscription is forgotten. The caller holds mu.
func (u *unit) remove() {
	for at := range u.parts {
		u.lose(at)
	}
	if u.consumer != nil {
		u.consumer.end()
	}
	delete(u.log.units, u.sub.ID)
	u.changed(true) // its goroutine ends
}

// reopened is an event that is to be handed out, although next is behind it.
type reopened struct {
	seq  int64
	slot int
}

// putBack makes an event that was polled and not begun come again. The caller holds mu.
func (u *unit) putBack(one reopened) {
	u.back++
	at, found := slices.BinarySearchFunc(u.reopen, one.seq, compareReopened)
	if !found {
		u.reopen = slices.Insert(u.reopen, at, one)
	}
}

func compareReopened(one reopened, seq int64) int { return cmp.Compare(one.seq, seq) }

// isSent returns the cursor of a part if this process has just sent it, so that it need not be
// decoded. The caller holds mu.
func (u *unit) isSent(at int, data []byte) *cursor {
	if u == nil {
		return nil
	}
	return u.plan.isSent(at, data)
}

// cursorChanged looks at a cursor that has arrived. The caller holds mu.
func (u *unit) cursorChanged(at int) {
	c := &u.sub.parts[at].cursor
	switch {
	case c.By == u.log.instance:
		if u.plan.has(at, c.N) {
			u.complete(u.plan, at)
			break
		}
		for _, p := range u.doubts {
			if p.has(at, c.N) {
				u.complete(p, at)
				break
			}
		}
	case u.parts[at].owned:
		u.log.logger.Warn("another process has taken over a subscription, or a part of it", "subscription_id", u.sub.Name, "part", at, "owner", c.Owner)
		u.lose(at)
	}
	if c.Owner == u.log.instance && !u.parts[at].owned { // whoever takes it over may not hear of it
		u.log.lack()
	}
	if u.freed[at] = (time.Time{}); c.Owner == "" && u.consumer != nil {
		u.freed[at] = time.Now()
		u.log.lack()
	}
}

// rowChanged looks at a row that has arrived. The caller holds mu.
func (u *unit) rowChanged(r *row) {
	if u.consumer != nil && u.has(r.slot()) {
		u.consumer.wake()
	}
}
