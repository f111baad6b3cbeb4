package buslog

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// logView is what the stream says, up to a message, and how it follows from the messages. Its mu is the only lock of
// the records: it guards the fields that follow it, and those of the layers above. A change that needs more than one
// row holds it all the while. A function that touches what mu guards, and does not take mu itself, is called with mu
// held: TestWhatTheLockGuardsIsTouchedWithTheLockHeld follows all calls. The [listener] of a subscription is told of
// each change by a message.
type logView struct {
	conn
	types   atomic.Pointer[map[typenames.Key]bool] // that are known; publishers ask without mu
	limited atomic.Bool                            // the size of the stream is; as well
	missing chan struct{}                          // there may be subscriptions to take over; needs no mu
	ahead   ahead                                  // has a lock of its own
	heard   func(process string)                   // a process has stored something; called with mu held

	mu sync.Mutex
	records
	listening   map[string]*sub // the subscriptions that this process handles, by id
	clock       clock
	whole       wholeRows
	allRows     bool              // all rows are whole
	bare        []bareRow         // those that lack their events
	own         map[string]string // names of this process's catalogue, by these and their aliases
	versions    map[string]int    // of the types of the catalogue, if it is not 1, by the same
	here        map[string]string // what this process calls types, by the names under which events were published
	watches     map[*watch]struct{}
	hiding      map[string]int64 // messages that are none of the bus, by subject
	settled     chan struct{}    // closed when deliveries are settled; nil while none is waited for
	pausesNew   bool             // the registry has changed since the watchers were told
	requestsNew bool
	closed      bool
}

func (v *logView) init(s *stream.Stream, target string, options engine.Options) {
	v.conn.init(s, target, options)
	v.missing = make(chan struct{}, 1)
	v.own, v.versions, v.watches = map[string]string{}, map[string]int{}, map[*watch]struct{}{}
	v.listening = map[string]*sub{}
	v.types.Store(&map[typenames.Key]bool{})
	v.newClock(options.Wall)
	v.subs, v.seen = map[string]*sub{}, map[string]int64{}
	v.audit, v.schemas = map[int64]event.AuditEntry{}, map[string]schema{}
}

// listener is what handles a subscription in this process: a [unit]. All of it is called with mu held.
type listener interface {
	// name returns what the program calls the subscription; empty while no consumer polls.
	name() string
	// wake makes it poll.
	wake()
	// eventCame is called before an event is the newest one.
	eventCame(r *engine.Record, slot int)
	// sent returns the cursor of a part if it has just been sent, so that it need not be decoded.
	sent(at int, data []byte) *cursor
	cursorChanged(at int)
	// rowChanged has the row from before, or nil.
	rowChanged(before, r *row)
	askChanged(answered bool)
	// queueRow notes when a row is due.
	queueRow(r *row)
	// remove says that the subscription is forgotten, and loseAll that the log is broken.
	remove()
	loseAll()
	// owned and has report whether a part, or the events of a slot, are this process's.
	owned(at int) bool
	has(slot int) bool
	// neverBegins and endsCancelled say what becomes of a delivery: see those of the view.
	neverBegins(seq int64) bool
	endsCancelled(seq int64) bool
}

// listen makes a listener hear of a subscription; nil for none any more.
func (v *logView) listen(s *sub, to listener) {
	if s.listener = to; to == nil {
		delete(v.listening, s.ID)
	} else {
		v.listening[s.ID] = s
	}
}

// records is what the stream says, up to the message applied.
type records struct {
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
	listener  listener            // nil while this process does not handle it
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

// sent returns the cursor of a part if this process has just sent it, so that it need not be decoded.
func (s *sub) sent(at int, data []byte) *cursor {
	if s == nil || s.listener == nil {
		return nil
	}
	return s.listener.sent(at, data)
}

// schema is the record of the schema of a type's payload.
type schema struct {
	Type string       `json:"type"`
	Of   event.Schema `json:"of"`
}

// matches reports whether the subscription gets an event.
func (s *sub) matches(r *engine.Record) bool {
	if r.Origin != nil {
		return false // it is for subscriptions with a row of it
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

// checkFormat refuses a stream that others have written, or a newer version of this program.
// The first record is the registry, and there is always one.
func (c *conn) checkFormat(ctx context.Context) error {
	m, err := c.stream.LastOf(ctx, c.subject(registryToken))
	if errors.Is(err, stream.ErrNotFound) {
		return &stream.ForeignError{Problem: "it has messages, and no record of subscriptions (" + c.subject(registryToken) + "): another program uses it, or somebody has purged it while no bus ran; restore a backup, or delete it (nats stream rm " + c.stream.Name() + ") to begin anew without what it had"}
	}
	if err != nil {
		return err
	}
	var r struct {
		Format int `json:"format"`
	}
	for last, before := m.Seq, int64(1); json.Unmarshal(m.Data, &r) != nil || r.Format < 1; {
		// A client has published to its subject: the record is the one before.
		if m, err = c.stream.NextOf(ctx, c.subject(registryToken), before); errors.Is(err, stream.ErrNotFound) || m.Seq == last {
			return &stream.ForeignError{Problem: "its record of subscriptions cannot be read"}
		}
		if err != nil {
			return err
		}
		before = m.Seq + 1
	}
	if r.Format > format {
		return &event.StorageError{Fault: event.TooNew, Op: "open", Path: c.target, Hint: "use the version of busgen that has written it"}
	}
	return nil
}

// load reads the records, and begins to follow the stream: everything, or what a process needs that only
// publishes.
func (f *follower) load(ctx context.Context, all bool) error {
	now, err := f.stream.State(ctx)
	if err != nil {
		return err
	}
	last := now.Last
	if last < f.known() {
		return stream.ErrBehind
	}
	f.mu.Lock()
	f.created = now.Created
	f.mu.Unlock()
	if err := f.lookForSpace(ctx); err != nil {
		return err
	}
	if last > 0 {
		if err := f.checkFormat(ctx); err != nil {
			return err
		}
		if err := f.settleEnd(ctx, last); err != nil {
			return err
		}
	}
	// Where the size is limited, this process has to know what others publish.
	all = all || f.allRows || f.limited.Load()
	filters := f.recordFilters(all)
	newest, err := f.loadRecords(ctx, filters)
	if err != nil {
		return err
	}
	// A replica that lags has given older records. The leader has the others.
	for _, filter := range filters {
		for from := newest + 1; from <= last; {
			m, err := f.stream.NextOf(ctx, filter, from)
			if errors.Is(err, stream.ErrNotFound) || err == nil && m.Seq > last {
				break
			}
			if err != nil {
				return err
			}
			if err := f.applyRecord(ctx, m); err != nil {
				return err
			}
			from = m.Seq + 1
		}
	}
	f.mu.Lock()
	arriving := f.registry.refuseArriving(f.target)
	f.mu.Unlock()
	if arriving != nil {
		return arriving
	}
	if all {
		filters = nil
	}
	// What came while the records were read comes again: they are replaced by the same.
	if err := f.follow(ctx, last, filters); err != nil {
		return err
	}
	if err := f.reach(ctx, newest); err != nil {
		f.stopFollowing()
		return err
	}
	return nil
}

// loadRecords applies the last message of every subject that a filter matches, and returns
// the sequence number of the newest one. The server that is read may lag behind the leader,
// and what it does not have yet would be missing: it is followed only from the leader's end
// on. So this goes on until it has what the leader had.
func (f *follower) loadRecords(ctx context.Context, filters []string) (newest int64, err error) {
	for {
		want, found := int64(0), int64(0)
		for _, filter := range filters {
			switch m, err := f.stream.LastOf(ctx, filter); {
			case err == nil:
				want = max(want, m.Seq)
			case !errors.Is(err, stream.ErrNotFound):
				return 0, err
			}
		}
		var foreign []stream.Stored
		err := f.stream.LastOfEach(ctx, filters, want, func(m stream.Stored) {
			found = max(found, m.Seq)
			f.mu.Lock()
			defer f.mu.Unlock()
			if err := f.apply(m); err != nil {
				foreign = append(foreign, m)
			}
		})
		for _, m := range foreign {
			if err == nil {
				err = f.applyRecord(ctx, m)
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
func (v *logView) sub(id string) *sub {
	s := v.subs[id]
	if s == nil {
		s = &sub{subscription: subscription{ID: id}, rows: map[int64]*row{}, gone: map[int64]int64{}, asks: map[int64]*ask{}, routes: map[string]bool{}}
		v.subs[id] = s
	}
	return s
}

func (v *logView) applyEvent(r *engine.Record) {
	r.Memo = &engine.Memo{}
	v.ring.add(r)
	slot := slotOf(r)
	for _, s := range v.listening {
		s.listener.eventCame(r, slot)
	}
	v.lastEvent, v.seen[r.Type] = r.Seq, r.Seq
	for w := range v.watches {
		w.wake()
	}
}

// registryChanged computes what follows from the registry.
func (v *logView) registryChanged() {
	types := map[typenames.Key]bool{}
	for _, t := range v.registry.Types {
		types[typenames.Key{Name: t.Written, Version: t.Version}] = true
	}
	v.types.Store(&types)
	names := typenames.All(v.registry.Types)
	known := map[string]bool{}
	for _, entry := range v.registry.Subs {
		s := v.sub(entry.ID)
		known[entry.ID] = true
		s.clear = 0
		s.subscription, s.routes = entry, map[string]bool{}
		for _, t := range v.registry.Types {
			if ok, err := typenames.MatchesAny(entry.Pattern, names[t.Name]); ok && err == nil {
				s.routes[t.Written] = true
			}
		}
		for _, r := range s.rows {
			if r.forPause() {
				s.queueRow(r)
			}
		}
	}
	for id, s := range v.subs {
		if known[id] {
			continue
		}
		if s.listener != nil {
			s.listener.remove()
		}
		delete(v.subs, id)
	}
	v.here = typenames.Here(v.registry.Types, v.own)
	v.pausesNew = true
	v.wakeUnits()
	v.noteSettled()
}

// wakeUnits makes all consumers poll.
func (v *logView) wakeUnits() {
	for _, s := range v.listening {
		s.listener.wake()
	}
}

// enter locks the log, unless it is closed.
func (v *logView) enter() error {
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return v.ended()
	}
	return nil
}

// wakeAll wakes all callers that wait.
func (v *logView) wakeAll() {
	v.noteSettled()
	for w := range v.watches {
		w.wake()
	}
}

// inOrder returns the subscriptions in the order in which they were made.
func (v *logView) inOrder() (all []*sub) {
	for _, entry := range v.registry.Subs {
		all = append(all, v.subs[entry.ID])
	}
	return all
}
