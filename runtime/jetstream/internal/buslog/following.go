package buslog

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// A process that only publishes follows the records, so that it knows types, subscriptions and
// pauses. It does not follow the events: the servers would send it everything that it has just
// sent to them. It begins to follow all messages when it first needs more than that: when it
// dispatches, waits for an outcome, counts, or looks. Then it goes on so until it is closed.

// following is which messages a log follows. It is guarded by the log's mu.
type following struct {
	reader int    // the number of the reader whose messages count; others have ended
	stop   func() // ends it
}

// follow makes the log follow the stream behind a message, up to which the view has everything.
// all says that events are followed, too; otherwise the view has none that come later.
func (l *Log) follow(ctx context.Context, behind int64, all bool) error {
	var filters []string
	if !all {
		filters = append(l.recordFilters(), l.subject(pruneToken))
	}
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
	if !all {
		l.ring.from = math.MaxInt64
	}
	l.come.Store(behind)
	l.followsAll.Store(all)
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

// recordFilters returns the subjects of the records of which the view has the last ones.
func (l *Log) recordFilters() (filters []string) {
	for _, kind := range []string{cursorToken, rowToken, askToken, auditToken, schemaToken, limitToken} {
		filters = append(filters, l.subject(kind, ">"))
	}
	for _, kind := range []string{registryToken, memberToken, limitToken, timeToken, activityToken, requestToken} {
		filters = append(filters, l.subject(kind))
	}
	return filters
}

// followAll makes the log follow events, too, if it does not yet.
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
	if l.followsAll.Load() { // somebody else has just done it
		return nil
	}
	last, err := l.newest(ctx)
	if err != nil {
		return l.storage("read", err)
	}
	for _, filter := range l.recordFilters() {
		if l.come.Load() >= last {
			break
		}
		if err := l.reachLast(ctx, filter); err != nil {
			return err
		}
	}
	return l.storage("read", l.follow(ctx, last, true))
}

// syncRegistry waits until the view has the registry that the leader has now.
func (l *Log) syncRegistry(ctx context.Context) error {
	if l.followsAll.Load() {
		return l.sync(ctx)
	}
	if err := l.enter(); err != nil {
		return err
	}
	l.mu.Unlock()
	return l.reachLast(ctx, l.subject(registryToken))
}

// reachLast waits until the view has the last record that matches a filter.
func (l *Log) reachLast(ctx context.Context, filter string) error {
	for {
		m, err := l.stream.LastOf(ctx, filter)
		if errors.Is(err, stream.ErrNotFound) {
			return nil
		}
		if err != nil {
			return l.storage("read", err)
		}
		brief, cancel := context.WithTimeout(ctx, lastAgain)
		err = l.reach(brief, m.Seq)
		late := brief.Err() != nil && ctx.Err() == nil
		cancel()
		if err == nil || !late {
			return err
		}
	}
}

// lastAgain is after how long to look whether a record that does not come is still there.
const lastAgain = time.Second
