package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// logView is what the stream says, up to the message applied. It is guarded by the log's mu.
type logView struct {
	space       space
	created     time.Time // of the stream
	applied     int64
	received    int64            // the newest message that has arrived
	batch       []stream.Stored  // those that are not applied yet
	lastEvent   int64            // the newest event
	loaded      int64            // what came later was seen by this process
	seen        map[string]int64 // the newest event of each type that came since then
	registry    registry
	registryRev int64
	subs        map[string]*sub // by id
	ring        ring
	audit       map[int64]event.AuditEntry // by id
	lastEntry   int64                      // the newest one
	schemas     map[string]schema          // by subject
	schedules   []event.Schedule
	timesRev    int64
	members     memberRecord
	membersRev  int64
	limits      limitRecord
	limitsRev   int64
	buckets     [bucketRecords]buckets
	activity    activityRecord
	activityRev int64
	requests    []engine.BreakerRequest
	requestsRev int64
}

// sub is a subscription.
type sub struct {
	subscription
	routes    map[string]bool     // the types it gets, by the name under which they are published
	parts     [1 + partCount]part // the cursors: of the whole, and of the parts
	rows      map[int64]*row      // those that are not gone, by event
	due       queue               // of rows that wait
	clear     int64               // no event that is pending and has no row is between next and this, but for those in cursors
	asks      map[int64]*ask      // by event
	cancelled int                 // rows of deliveries that are cancelled, and not settled
	newer     int                 // rows of deliveries that are held for their version
	gone      map[int64]int64     // the records of rows that are gone, which the server keeps for a while
	goneRows  []goneRow           // in the order in which they went
}

// schema is the record of the schema of a type's payload.
type schema struct {
	Type string       `json:"type"`
	Of   event.Schema `json:"of"`
}

// matches reports whether the subscription gets an event.
func (s *sub) matches(r *engine.Record) bool {
	if r.Origin != nil {
		return false // it is for whoever has a row of it
	}
	if s.routes[r.Type] {
		return true
	}
	for _, a := range s.Also {
		if r.Seq <= a.Until {
			for _, name := range a.Types {
				if name == r.Type {
					return true
				}
			}
		}
	}
	return false
}

// checkFormat refuses a stream that others have written, or a version of this program that is newer or was never released.
// The first record is the registry, and there is always one.
func (l *Log) checkFormat(ctx context.Context) error {
	m, err := l.stream.LastOf(ctx, l.subject(registryToken))
	if errors.Is(err, stream.ErrNotFound) {
		return &stream.ForeignError{Problem: "it has messages, and no record of subscriptions (" + l.subject(registryToken) + "): another program uses it, or somebody has purged it while no bus ran; restore a backup, or delete it (nats stream rm " + l.stream.Name() + ") to begin anew without what it had"}
	}
	if err != nil {
		return err
	}
	var r struct {
		Format int `json:"format"`
	}
	for last, before := m.Seq, int64(1); json.Unmarshal(m.Data, &r) != nil || r.Format < 1; {
		// Somebody has published to its subject: the record is the one before.
		if m, err = l.stream.NextOf(ctx, l.subject(registryToken), before); errors.Is(err, stream.ErrNotFound) || m.Seq == last {
			return &stream.ForeignError{Problem: "its record of subscriptions cannot be read"}
		}
		if err != nil {
			return err
		}
		before = m.Seq + 1
	}
	if r.Format < oldestFormat {
		return &event.StorageError{Fault: event.TooOld, Op: "open", Path: l.target, Hint: "a busgen that was never released has made it"}
	}
	if r.Format > format {
		return &event.StorageError{Fault: event.TooNew, Op: "open", Path: l.target, Hint: "use the version of busgen that has written it"}
	}
	return nil
}

// load reads the records, and begins to follow the stream: everything, or what a process needs that only
// publishes.
func (l *Log) load(ctx context.Context, all bool) error {
	now, err := l.stream.State(ctx)
	if err != nil {
		return err
	}
	last := now.Last
	if last < l.known() {
		return stream.ErrBehind
	}
	l.mu.Lock()
	l.created = now.Created
	l.mu.Unlock()
	if err := l.lookForSpace(ctx); err != nil {
		return err
	}
	if last > 0 {
		if err := l.checkFormat(ctx); err != nil {
			return err
		}
		if err := l.settleEnd(ctx, last); err != nil {
			return err
		}
	}
	// Where the size is limited, this process has to know what others publish.
	all = all || l.allRows || l.limited.Load()
	filters := l.recordFilters(all)
	newest, err := l.loadRecords(ctx, filters)
	if err != nil {
		return err
	}
	// A replica that lags has given older records. The leader has the others.
	for _, filter := range filters {
		for from := newest + 1; from <= last; {
			m, err := l.stream.NextOf(ctx, filter, from)
			if errors.Is(err, stream.ErrNotFound) || err == nil && m.Seq > last {
				break
			}
			if err != nil {
				return err
			}
			if err := l.applyRecord(ctx, m); err != nil {
				return err
			}
			from = m.Seq + 1
		}
	}
	l.mu.Lock()
	arriving := l.registry.refuseArriving(l.target)
	l.mu.Unlock()
	if arriving != nil {
		return arriving
	}
	if all {
		filters = nil
	}
	// What came while the records were read comes again: they are replaced by the same.
	if err := l.follow(ctx, last, filters); err != nil {
		return err
	}
	if err := l.reach(ctx, newest); err != nil {
		l.stopFollowing()
		return err
	}
	return nil
}

// loadRecords applies the last message of every subject that a filter matches, and returns
// the sequence number of the newest one. The server that is read may lag behind the leader,
// and what it does not have yet would be missing: it is followed only from the leader's end
// on. So this goes on until it has what the leader had.
func (l *Log) loadRecords(ctx context.Context, filters []string) (newest int64, err error) {
	for {
		want, found := int64(0), int64(0)
		for _, filter := range filters {
			switch m, err := l.stream.LastOf(ctx, filter); {
			case err == nil:
				want = max(want, m.Seq)
			case !errors.Is(err, stream.ErrNotFound):
				return 0, err
			}
		}
		var foreign []stream.Stored
		err := l.stream.LastOfEach(ctx, filters, want, func(m stream.Stored) {
			found = max(found, m.Seq)
			l.mu.Lock()
			defer l.mu.Unlock()
			if err := l.apply(m); err != nil {
				foreign = append(foreign, m)
			}
		})
		for _, m := range foreign {
			if err == nil {
				err = l.applyRecord(ctx, m)
			}
		}
		if newest = max(newest, found); err != nil || found >= want {
			return newest, err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func orElse(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// sub returns a subscription, which the registry may not know yet or any more.
func (l *Log) sub(id string) *sub {
	s := l.subs[id]
	if s == nil {
		s = &sub{subscription: subscription{ID: id}, rows: map[int64]*row{}, gone: map[int64]int64{}, asks: map[int64]*ask{}, routes: map[string]bool{}}
		l.subs[id] = s
	}
	return s
}

func (l *Log) applyEvent(r *engine.Record) {
	r.Memo = &engine.Memo{}
	l.ring.add(r)
	slot := slotOf(r)
	for _, u := range l.units {
		switch {
		case !u.hungry && u.next <= l.lastEvent: // it comes to it by itself
		case !u.owns():
		case u.hands(slot) && u.sub.matches(r):
			if u.hungry && u.consumer != nil {
				u.hungry = false
				u.consumer.wake()
			}
		case u.next > l.lastEvent: // it has looked at all others
			u.next = r.Seq + 1
		}
	}
	l.lastEvent, l.seen[r.Type] = r.Seq, r.Seq
	for w := range l.watches {
		w.wake()
	}
}

// registryChanged computes what follows from the registry. The caller holds mu.
func (l *Log) registryChanged() {
	types := map[typenames.Key]bool{}
	for _, t := range l.registry.Types {
		types[typenames.Key{Name: t.Written, Version: t.Version}] = true
	}
	l.types.Store(&types)
	names := typenames.All(l.registry.Types)
	known := map[string]bool{}
	for _, entry := range l.registry.Subs {
		s := l.sub(entry.ID)
		known[entry.ID] = true
		s.clear = 0
		s.subscription, s.routes = entry, map[string]bool{}
		for _, t := range l.registry.Types {
			if ok, err := typenames.MatchesAny(entry.Pattern, names[t.Name]); ok && err == nil {
				s.routes[t.Written] = true
			}
		}
		for _, r := range s.rows {
			if r.State == ledger.Held {
				l.queueRow(s, r)
			}
		}
	}
	for id := range l.subs {
		if known[id] {
			continue
		}
		if u := l.units[id]; u != nil {
			u.remove()
		}
		delete(l.subs, id)
	}
	l.here = typenames.Here(l.registry.Types, l.own)
	l.pausesNew = true
	l.wakeUnits()
	l.noteSettled()
}

// wakeUnits makes all consumers poll. The caller holds mu.
func (l *Log) wakeUnits() {
	for _, u := range l.units {
		if u.consumer != nil {
			u.consumer.wake()
		}
	}
}
