package buslog

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process that only publishes follows the registry and the schemas: it knows types, subscriptions and
// pauses. The servers do not send it the events, of which it has just sent most to them, nor what becomes
// of them. When it first needs more than that (it dispatches, waits for an outcome, counts, or looks) it
// reads all records anew, and follows all messages from then on, until it is closed.

// following is which messages a log follows. It is guarded by the log's mu.
type following struct {
	reader int    // the number of the reader whose messages count; others have ended
	stop   func() // ends it
}

// follow makes the log follow the stream behind a message, up to which the view has what the filters
// match; nil for everything.
func (l *Log) follow(ctx context.Context, behind int64, filters []string) error {
	l.mu.Lock()
	number := l.following.reader + 1
	l.mu.Unlock()
	begins := make(chan struct{})
	stop, err := l.stream.Follow(context.WithoutCancel(ctx), behind+1, filters, func(come []stream.Stored) {
		<-begins
		l.arrived(number, come)
	})
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.applyBatch() // its end was an event
	before := l.following.stop
	l.following = following{number, stop}
	l.loaded, l.seen = behind, map[string]int64{}
	l.applied, l.received, l.lastEvent, l.ring = behind, behind, behind, ring{from: behind + 1}
	if filters != nil {
		l.ring.from = math.MaxInt64 // it has no event
	}
	l.come.Store(behind)
	l.followsAll.Store(filters == nil)
	closed := l.closed
	l.mu.Unlock()
	if before != nil {
		before()
	}
	if close(begins); closed {
		stop()
		return l.ended()
	}
	return nil
}

// stopFollowing ends following, without waiting for anybody.
func (l *Log) stopFollowing() {
	l.mu.Lock()
	stop := l.following.stop
	l.mu.Unlock()
	stop()
}

// recordFilters returns the subjects of the records of which the view has the last ones: all of them, or
// those that a process needs that only publishes.
func (l *Log) recordFilters(all bool) []string {
	filters := []string{l.subject(registryToken), l.subject(schemaToken, ">")}
	if !all {
		return filters
	}
	for _, kind := range []string{cursorToken, rowToken, askToken, auditToken, limitToken} {
		filters = append(filters, l.subject(kind, ">"))
	}
	for _, kind := range []string{memberToken, limitToken, timeToken, activityToken, requestToken} {
		filters = append(filters, l.subject(kind))
	}
	return filters
}

// followAll makes the log follow everything, if it does not yet.
func (l *Log) followAll(ctx context.Context) error {
	if l.followsAll.Load() {
		return nil
	}
	select {
	case l.beginning <- struct{}{}:
		defer func() { <-l.beginning }()
	case <-l.stopped:
		return l.ended()
	case <-ctx.Done():
		return ctx.Err()
	}
	for began := time.Now(); !l.followsAll.Load(); { // or somebody else has just done it
		l.mu.Lock()
		l.startOver()
		l.mu.Unlock()
		if err := l.load(ctx, true); err != nil && !l.waits(ctx, began, err) {
			return l.storage("read", err)
		}
	}
	l.mu.Lock()
	tell := l.pausesNew || l.requestsNew
	l.mu.Unlock()
	if tell {
		l.tell()
	}
	return nil
}

// startOver makes the view what it is for a process that only publishes: a try to read all records may have
// read some of them. The caller holds mu.
func (l *Log) startOver() {
	known := l.logView
	l.logView = logView{
		space: known.space, created: known.created, applied: known.applied, received: known.received, batch: known.batch,
		lastEvent: known.lastEvent, loaded: known.loaded, seen: known.seen, ring: known.ring, schemas: known.schemas,
		registry: known.registry, registryRev: known.registryRev,
		subs: map[string]*sub{}, audit: map[int64]event.AuditEntry{},
	}
	for _, entry := range l.registry.Subs {
		s := known.subs[entry.ID] // units have pointers to it
		*s = sub{subscription: s.subscription, routes: s.routes, rows: map[int64]*row{}, gone: map[int64]int64{}, asks: map[int64]*ask{}}
		l.subs[entry.ID] = s
	}
	l.bare = nil
}

// syncRegistry makes the view have the registry that the leader has now.
func (l *Log) syncRegistry(ctx context.Context) error {
	if l.followsAll.Load() {
		return l.sync(ctx)
	}
	if err := l.enter(); err != nil {
		return err
	}
	l.mu.Unlock()
	m, err := l.stream.LastOf(ctx, l.subject(registryToken))
	if errors.Is(err, stream.ErrNotFound) {
		return nil
	}
	if err == nil {
		err = l.applyRecord(ctx, m)
	}
	return l.storage("read", err)
}
