package buslog

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// handled are the subscriptions that this process handles, or waits for, and what they share: what is said of suspects,
// how many handlers begin, and whether the process is young. It is guarded by mu, but for what is safe for concurrent
// use.
type handled struct {
	publisher
	saying  chan struct{} // holds a token while this process says what it calls of suspects
	born    atomic.Int64  // when this process began to dispatch; 0 for not yet
	looping atomic.Bool   // the last takeover has found a crash loop

	units     map[string]*unit // by id
	calling   []*flight        // see called.go
	alone     bool             // this process has said that nothing but what it calls of suspects runs
	counted   counted          // of all units, see claims.go
	leftovers []leftover       // see rows.go
	tidying   bool             // tidyUp runs
}

func (h *handled) init(s *stream.Stream, target string, options engine.Options) {
	h.publisher.init(s, target, options)
	h.saying, h.units = make(chan struct{}, 1), map[string]*unit{}
}

// unit is a subscription that this process handles, or waits for. It is guarded by mu, but for what its shortcut says,
// and so are its parts, which stand on each other: [shares], [storing], [reading], [claims].
type unit struct {
	claims
	consumer *consumer // nil while none polls
	timer    *time.Timer
	parallel bool // it shares the subscription with others that do so
	shortcut shortcut
	still    standstill
}

// shares is what this process has of a subscription, and since when others could have it.
type shares struct {
	in      *handled
	sub     *sub
	parts   [1 + partCount]share
	freed   [1 + partCount]time.Time // since when a part has no owner, as far as this process has seen
	letGo   time.Time                // when parts were last given away
	stayed  time.Time                // when parts were last kept because their handlers took too long
	parking parking
}

// storing is what has ended, and how it is stored: one batch at a time is on its way.
type storing struct {
	shares
	queue   []*flight      // that have ended, in the order in which they did
	changes uint64         // counts what is to be stored
	stored  uint64         // of these changes
	whole   map[int64]*row // of what is stored next, by event
	plan    *plan          // that is on its way
	doubts  []*plan        // that may be stored
	alone   bool           // the next plan has one delivery
	written chan struct{}  // closed when stored has changed; nil while it is not waited for
	now     chan struct{}  // something is to be stored at once
	soon    chan struct{}  // something is to be stored within delay
	running bool           // there is a goroutine that stores

	// These are used by that goroutine alone.
	tries   int  // how often in a row a plan was refused
	unsure  bool // dedupe keys cannot be looked up
	wasBusy bool // when it last looked
	removed bool // the subscription is forgotten
}

// reading is how far the events were looked at, and what was handed out of them.
type reading struct {
	storing
	next      int64            // the first event that was not looked at
	skip      [partCount]int64 // by part: it has looked at the events before this, wherever next is
	reopen    []reopened       // events before next that are to be handed out, in order
	flights   flights          // what was polled, or is to be stored
	returning int              // deliveries that come back as soon as that is stored
	back      uint64           // counts what was given back: it comes before what follows
	hungry    bool             // the last poll has found too little, so that new events wake the consumer
	polled    bool             // a dispatcher has asked for deliveries
	moved     bool             // what this process has of the subscription has changed since the last poll
}

// claims are the handlers that run: see claims.go.
type claims struct {
	reading
	atWork    []*flight                  // that have begun, and are not stored
	left      map[*engine.Delivery]claim // of handlers that were left behind
	prepared  *claim                     // an event that is being decoded
	preparing int                        // its slot
	wary      int                        // of so many deliveries the claim is stored before the handler is called
	busyMode  bool
	begunAt   time.Time // when a handler was begun in this mode
	counted   counted
	calm      *time.Timer // see calmDown
}

// unitOf returns the unit of a subscription.
func (h *handled) unitOf(s *sub) *unit {
	u := h.units[s.ID]
	if u == nil {
		u = newUnit(h, s)
		u.timer = time.AfterFunc(time.Hour, u.ring)
		u.timer.Stop()
		u.calm = time.AfterFunc(time.Hour, u.calmDown)
		u.calm.Stop()
		h.units[s.ID] = u
		h.listen(s, u)
	}
	return u
}

// newUnit returns a unit of which the log does not know.
func newUnit(h *handled, s *sub) *unit {
	u := &unit{}
	u.in, u.sub, u.left = h, s, map[*engine.Delivery]claim{}
	u.now, u.soon = make(chan struct{}, 1), make(chan struct{}, 1)
	return u
}

// ring wakes the dispatcher that polls, when a delivery is due.
func (u *unit) ring() {
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	u.wake()
}

// changed notes that something is to be stored, at once or soon.
func (st *storing) changed(atOnce bool) {
	st.changes++
	st.signal(atOnce)
}

// signal wakes the goroutine that stores.
func (st *storing) signal(atOnce bool) {
	c := st.soon
	if atOnce {
		c = st.now
	}
	select {
	case c <- struct{}{}:
	default:
	}
}

// write waits until everything up to now is stored. It reports false if nothing of the
// subscription is this process's any more.
func (u *unit) write(ctx context.Context) (bool, error) {
	u.in.mu.Lock()
	defer u.in.mu.Unlock()
	return u.writeNow(ctx)
}

// writeNow is write for callers that hold mu, which is free meanwhile.
func (u *unit) writeNow(ctx context.Context) (bool, error) {
	u.shut()
	for target := u.changes; u.owns() && u.stored < target; {
		if err := u.awaitWritten(ctx); err != nil {
			return false, err
		}
	}
	return u.owns(), nil
}

// awaitWritten waits until something is stored. It gives mu back meanwhile.
func (st *storing) awaitWritten(ctx context.Context) error {
	h := st.in
	if st.written == nil {
		st.written = make(chan struct{})
	}
	written := st.written
	st.changes-- // nothing is new
	st.changed(true)
	h.mu.Unlock()
	defer h.mu.Lock()
	select {
	case <-written:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-h.stopped:
		return engine.ErrClosed
	}
}

// noteWritten wakes the callers that wait for something to be stored.
func (st *storing) noteWritten() {
	if st.written != nil {
		close(st.written)
		st.written = nil
	}
}

// remove says that the subscription is forgotten.
func (u *unit) remove() {
	u.loseAll()
	if u.consumer != nil {
		u.consumer.end()
	}
	u.in.listen(u.sub, nil)
	delete(u.in.units, u.sub.ID)
	u.changed(true) // its goroutine ends
}

// reopened is an event that is to be handed out, although next is behind it.
type reopened struct {
	seq  int64
	slot int
}

// putBack makes an event that was polled and not begun come again.
func (rd *reading) putBack(one reopened) {
	rd.back++
	at, found := slices.BinarySearchFunc(rd.reopen, one.seq, compareReopened)
	if !found {
		rd.reopen = slices.Insert(rd.reopen, at, one)
	}
}

func compareReopened(one reopened, seq int64) int { return cmp.Compare(one.seq, seq) }

// sent implements [listener].
func (st *storing) sent(at int, data []byte) *cursor { return st.plan.isSent(at, data) }

// cursorChanged looks at a cursor that has arrived.
func (u *unit) cursorChanged(at int) {
	c := &u.sub.parts[at].cursor
	switch {
	case c.By == u.in.instance:
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
		u.in.logger.Warn("another process has taken over a subscription, or a part of it", "subscription_id", u.sub.Name, "part", at, "owner", c.Owner)
		u.lose(at)
	}
	if c.Owner == u.in.instance && !u.parts[at].owned { // the next owner may not hear of it
		u.in.lack()
	}
	if u.freed[at] = (time.Time{}); c.Owner == "" && u.consumer != nil {
		u.freed[at] = time.Now()
		u.in.lack()
	}
}

// rowChanged looks at a row that has arrived.
func (u *unit) rowChanged(before, r *row) {
	if r.forVersion() {
		u.in.lack() // another process may know it
	}
	if u.sub.cancelled > 0 {
		u.shut()
	}
	if f := u.flights.of(r.Seq); f == nil || !f.ended { // else it is where that has put it
		if u.parking.removeRow(before); before != nil && before.Waitlist != "" && r.Waitlist == "" { // it was cancelled
			u.freeAll([]string{before.Waitlist, before.Delivery.Key}, nil)
		}
	}
	u.queueRow(r)
	if r.gone && before != nil && u.has(before.slot()) {
		u.in.tidy(leftover{u.sub.ID, r.Seq, r.rev})
	}
	if u.has(r.slot()) {
		u.wake()
	}
}

// eventCame implements [listener].
func (u *unit) eventCame(r *engine.Record, slot int) {
	switch last := u.in.lastEvent; {
	case !u.hungry && u.next <= last: // it comes to it by itself
	case !u.owns():
	case u.hands(slot) && u.sub.matches(r):
		if u.hungry && u.consumer != nil {
			u.hungry = false
			u.consumer.wake()
		}
	case u.next > last: // it has looked at all others
		u.next = r.Seq + 1
	}
}

// name implements [listener].
func (u *unit) name() string {
	if u.consumer == nil {
		return ""
	}
	return u.consumer.name
}

// wake implements [listener].
func (u *unit) wake() {
	if u.consumer != nil {
		u.consumer.wake()
	}
}

// owned implements [listener].
func (sh *shares) owned(at int) bool { return sh.parts[at].owned }

// loseAll implements [listener].
func (u *unit) loseAll() {
	for at := range u.parts {
		u.lose(at)
	}
}
