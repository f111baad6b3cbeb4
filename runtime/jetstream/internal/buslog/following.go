package buslog

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process that only publishes follows the registry and the schemas: it knows types, subscriptions and
// pauses. The servers do not send it the events, of which it has just sent most to them, nor what becomes
// of them. When it first needs more than that (it dispatches, waits for an outcome, counts, or looks) it
// reads all records anew, and follows all messages from then on, until it is closed.

// follower keeps the view up with the stream, and notices when that is not what it was. Its atomic fields are safe
// for concurrent use; mu guards the rest.
type follower struct {
	reader
	teller     teller
	come       atomic.Int64  // as received, for callers that wait for it
	stored     atomic.Int64  // the newest message that this process knows to be stored
	followsAll atomic.Bool   // it follows events
	looking    atomic.Bool   // it looks at its records soon
	blind      atomic.Bool   // nothing arrives that is stored, see stale.go
	beginning  chan struct{} // holds a token while the log begins to follow events
	expected   expected

	following following
	reaching  []reaching // callers that wait for a message, in the order of these
	rowLook   time.Time  // see deleted.go
	verifying bool
}

func (f *follower) init(s *stream.Stream, target string, options engine.Options) {
	f.logView.init(s, target, options)
	f.teller.view, f.beginning = &f.logView, make(chan struct{}, 1)
}

// following is which messages a log follows.
type following struct {
	reader int    // the number of the reader whose messages count; others have ended
	stop   func() // ends it
}

// follow makes the log follow the stream behind a message, up to which the view has what the filters
// match; nil for everything.
func (f *follower) follow(ctx context.Context, behind int64, filters []string) error {
	f.mu.Lock()
	number := f.following.reader + 1
	f.mu.Unlock()
	begins := make(chan struct{})
	stop, err := f.stream.Follow(context.WithoutCancel(ctx), behind+1, filters, func(come []stream.Stored) {
		<-begins
		f.arrived(number, come)
	})
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.applyBatch() // its end was an event
	before := f.following.stop
	f.following = following{number, stop}
	f.loaded, f.seen = behind, map[string]int64{}
	f.applied, f.received, f.lastEvent, f.ring = behind, behind, behind, ring{from: behind + 1}
	if filters != nil {
		f.ring.from = math.MaxInt64 // it has no event
	}
	f.come.Store(behind)
	f.followsAll.Store(filters == nil)
	closed := f.closed
	f.mu.Unlock()
	if before != nil {
		before()
	}
	if close(begins); closed {
		stop()
		return f.ended()
	}
	return nil
}

// stopFollowing ends following, without waiting for its goroutines.
func (f *follower) stopFollowing() {
	f.mu.Lock()
	stop := f.following.stop
	f.mu.Unlock()
	stop()
}

// recordFilters returns the subjects of the records of which the view has the last ones: all of them, or
// those that a process needs that only publishes.
func (c *conn) recordFilters(all bool) []string {
	filters := []string{c.subject(registryToken), c.subject(schemaToken, ">")}
	if !all {
		return filters
	}
	for _, kind := range []string{cursorToken, rowToken, askToken, auditToken, limitToken} {
		filters = append(filters, c.subject(kind, ">"))
	}
	for _, kind := range []string{memberToken, limitToken, timeToken, activityToken, requestToken} {
		filters = append(filters, c.subject(kind))
	}
	return filters
}

// followAll makes the log follow everything, if it does not yet.
func (f *follower) followAll(ctx context.Context) error {
	if f.followsAll.Load() {
		return nil
	}
	select {
	case f.beginning <- struct{}{}:
		defer func() { <-f.beginning }()
	case <-f.stopped:
		return f.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
	for began := time.Now(); !f.followsAll.Load(); { // or another goroutine has just done it
		f.mu.Lock()
		f.startOver()
		f.mu.Unlock()
		if err := f.load(ctx, true); err != nil && !f.waits(ctx, began, err) {
			return f.storage("read", err)
		}
	}
	f.mu.Lock()
	tell := f.pausesNew || f.requestsNew
	f.mu.Unlock()
	if tell {
		f.teller.tell()
	}
	return nil
}

// startOver makes the view what it is for a process that only publishes: a try to read all records may have read some
// of them.
func (f *follower) startOver() {
	known := f.records
	f.records = records{
		space: known.space, created: known.created, applied: known.applied, received: known.received, batch: known.batch,
		lastEvent: known.lastEvent, loaded: known.loaded, seen: known.seen, ring: known.ring, schemas: known.schemas,
		registry: known.registry, registryRev: known.registryRev,
		subs: map[string]*sub{}, audit: map[int64]event.AuditEntry{},
	}
	for _, entry := range f.registry.Subs {
		s := known.subs[entry.ID] // units have pointers to it
		*s = sub{subscription: s.subscription, listener: s.listener, routes: s.routes, rows: map[int64]*row{}, gone: map[int64]int64{}, asks: map[int64]*ask{}}
		f.subs[entry.ID] = s
	}
	f.bare = nil
}

// syncRegistry makes the view have the registry that the leader has now.
func (f *follower) syncRegistry(ctx context.Context) error {
	if f.followsAll.Load() {
		return f.sync(ctx)
	}
	if err := f.enter(); err != nil {
		return err
	}
	f.mu.Unlock()
	m, err := f.stream.LastOf(ctx, f.subject(registryToken))
	if errors.Is(err, stream.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = f.applyRecord(ctx, m)
	}
	return f.storage("read", err)
}

// settlement returns a channel that is closed when deliveries are settled.
func (v *logView) settlement() <-chan struct{} {
	if v.settled == nil {
		v.settled = make(chan struct{})
	}
	return v.settled
}

func (v *logView) noteSettled() {
	if v.settled != nil {
		close(v.settled)
		v.settled = nil
	}
}

// reach waits until everything up to a sequence number has arrived. The view has it when
// its batch is complete.
func (f *follower) reach(ctx context.Context, seq int64) error {
	if f.come.Load() >= seq && !f.isClosed() {
		return nil
	}
	if err := f.enter(); err != nil {
		return err
	}
	if f.received >= seq {
		f.mu.Unlock()
		return nil
	}
	f.expect(seq)
	w := reaching{seq, make(chan struct{})}
	at, _ := slices.BinarySearchFunc(f.reaching, seq+1, func(w reaching, seq int64) int { return cmp.Compare(w.seq, seq) })
	f.reaching = slices.Insert(f.reaching, at, w)
	f.mu.Unlock()
	select {
	case <-w.reached:
		return nil
	case <-f.stopped:
		return f.ended()
	case <-ctx.Done():
		f.mu.Lock()
		f.reaching = slices.DeleteFunc(f.reaching, func(other reaching) bool { return other == w })
		f.mu.Unlock()
		return ctx.Err()
	}
}

// learn waits until the view has a batch that this process has stored, which ends at a sequence number. The last
// message of the batch never comes if it was replaced already. Then what comes next may be half of the batch that
// says so, which is no part of the view yet.
func (f *follower) learn(ctx context.Context, end int64) error {
	if err := f.reach(ctx, end); err != nil {
		return err
	}
	f.mu.Lock()
	behind := f.applied < end
	f.mu.Unlock()
	if behind {
		return f.sync(ctx)
	}
	return nil
}

// reaching is a caller that waits until a message has arrived.
type reaching struct {
	seq     int64
	reached chan struct{}
}

// noteReached wakes the callers that wait for what has arrived.
func (f *follower) noteReached() {
	n := 0
	for ; n < len(f.reaching) && f.reaching[n].seq <= f.received; n++ {
		close(f.reaching[n].reached)
	}
	f.reaching = slices.Delete(f.reaching, 0, n)
}

// newest asks the leader for the number of the newest message, again while the servers elect one. If
// one answers that is no leader any more, the number of a note is the newest.
func (f *follower) newest(ctx context.Context) (int64, error) {
	for began := time.Now(); ; {
		now, err := f.state(ctx)
		if errors.Is(err, stream.ErrBehind) {
			now.Last, err = f.note(ctx)
		}
		if err == nil || !f.waits(ctx, began, err) {
			return now.Last, err
		}
	}
}

// sync waits until the view has everything that the leader has now.
func (f *follower) sync(ctx context.Context) error {
	if err := f.enter(); err != nil {
		return err
	}
	f.mu.Unlock()
	if !f.followsAll.Load() {
		return f.followAll(ctx)
	}
	last, err := f.newest(ctx)
	if err != nil {
		return f.storage("read", err)
	}
	for began := time.Now(); ; {
		f.mu.Lock()
		after := f.received
		if after >= last {
			f.mu.Unlock()
			return nil
		}
		f.mu.Unlock()
		// The newest messages may be deleted: then they never come.
		switch next, err := f.stream.NextKnown(ctx, f.subject(">"), after+1, last); {
		case errors.Is(err, stream.ErrNotFound):
			f.mu.Lock()
			f.applyBatch()
			f.mu.Unlock()
			return nil
		case err != nil && f.waits(ctx, began, err):
		case err != nil:
			return f.storage("read", err)
		default:
			if err := f.reach(ctx, min(next.Seq, last)); err != nil {
				return err
			}
		}
	}
}
