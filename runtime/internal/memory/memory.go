// Package memory is an engine that keeps events in the memory of the process. It
// shows that the seam (package engine) is not shaped by SQLite, and runs the
// conformance suite.
//
// An [Engine] has one log per target. Whoever opens the same target of the same
// Engine again finds the log as it was, so that tests can restart a bus; nothing
// survives the process. Because a crash takes the log with it, no delivery is ever
// interrupted, and none is suspected of a crash.
//
// All of a log is guarded by one lock: the [store] is what a database would be, a
// [Log] is a connection to it. The files: registry.go for types and subscriptions,
// consumer.go for deliveries, one file per role of engine.Log, and inspect*.go for what
// an operator sees.
package memory

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// Engine holds the logs of a process. It implements [engine.Engine].
type Engine struct {
	mu     sync.Mutex
	stores map[string]*store // by target
}

// New returns an engine without logs.
func New() *Engine { return &Engine{stores: map[string]*store{}} }

// Open implements [engine.Engine]. Any target will do.
func (e *Engine) Open(ctx context.Context, target string, options engine.Options) (engine.Log, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stores[target]
	if s == nil {
		s = &store{target: target, events: map[int64]*engine.Record{}, keys: map[dedupeKey]first{}, schemas: map[typenames.Key]engine.Schema{}, settled: make(chan struct{})}
		e.stores[target] = s
	}
	l := &Log{store: s, options: options, own: map[string]string{}, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, l)
	l.here = typenames.Here(s.types, l.own)
	return l, nil
}

// store is the state of one log.
type store struct {
	target  string
	telling sync.Mutex // held while watchers are called; taken before mu

	mu            sync.Mutex
	events        map[int64]*engine.Record // by seq; Type is the name under which it was published
	oldest        int64                    // no event is older
	last          int64                    // seq of the newest event
	types         []typenames.Row
	keys          map[dedupeKey]first
	subscriptions []*subscription // in the order in which they were made
	pauses        []engine.Pause
	logs          []*Log // that are open
	owner         *Log   // that dispatches; or nil
	since         time.Time
	settled       chan struct{} // closed and replaced when a delivery is settled
	watches       map[*watch]struct{}
	activity      engine.Activity
	requests      []engine.BreakerRequest
	schemas       map[typenames.Key]engine.Schema // of payloads, by the types of programs
	audit         []engine.AuditEntry             // ids count from 1
	limits        map[limitKey]engine.LimitBucket // of rates
	limitTime     engine.LimitTime
	schedules     []engine.Schedule // of the log that dispatches, or did so last
}

// dedupeKey is an idempotency key of an event type, by the name it was used with.
type dedupeKey struct{ eventType, key string }

// first is the event that was stored with an idempotency key.
type first struct {
	id      uuid.UUID
	seq     int64
	version int
	digest  [sha256.Size]byte
	expires time.Time
}

// Log is an open log. It implements [engine.Log].
type Log struct {
	*store
	options engine.Options
	done    chan struct{} // closed by Close

	// Guarded by the store's mu.
	own       map[string]string // names of this process's catalogue, by these and their aliases
	here      map[string]string // what this process calls types, by the names under which events were published
	consumers []*consumer
	closed    bool

	// Guarded by the store's telling.
	paused   []engine.Pause // as told last
	watchers []func([]engine.Pause)
	asked    func([]engine.BreakerRequest)
}

var _ engine.Log = (*Log)(nil)

// enter locks the store, unless the log is closed.
func (l *Log) enter() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return engine.ErrClosed
	}
	return nil
}

// Traits implements [engine.Log].
func (l *Log) Traits() engine.Traits { return engine.Traits{Target: l.target, StoresKeys: true} }

// Close implements [engine.Log].
func (l *Log) Close() error {
	if l.enter() != nil {
		return nil
	}
	defer l.mu.Unlock()
	l.closed = true
	close(l.done)
	for _, c := range l.consumers {
		c.stop()
	}
	l.logs = slices.DeleteFunc(l.logs, func(other *Log) bool { return other == l })
	if l.owner == l {
		l.owner, l.activity = nil, engine.Activity{}
	}
	return nil
}

// Append implements [engine.Appender].
func (l *Log) Append(ctx context.Context, records []engine.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	if err := l.recogniseAll(records); err != nil {
		return err
	}
	keys := engine.Keys{}
	for i := range records {
		if err := keys.Recognise(&records[i]); err != nil {
			return err
		}
	}
	l.insert(records)
	for i := range records {
		if r := &records[i]; r.Duplicate && r.Seq == 0 { // of an earlier one of the records
			r.Seq = records[slices.IndexFunc(records, func(first engine.Record) bool { return first.ID == r.ID })].Seq
		}
	}
	return nil
}

// Recognise implements [engine.Appender].
func (l *Log) Recognise(_ context.Context, records []engine.Record) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	return l.recogniseAll(records)
}

func (s *store) recogniseAll(records []engine.Record) error {
	for i := range records {
		if err := s.recognise(&records[i]); err != nil {
			return err
		}
	}
	return nil
}

// keep returns those of the staged records whose key no other event has.
func (s *store) keep(staged []engine.Record) (kept []engine.Record) {
	if !slices.ContainsFunc(staged, func(r engine.Record) bool { return r.Dedupe != nil }) {
		return staged
	}
	keys := engine.Keys{}
	for _, r := range staged {
		if r.Dedupe == nil {
			kept = append(kept, r)
			continue
		}
		if r.Duplicate { // the publisher knows
			continue
		}
		tell := r.Dedupe.Settled
		err := s.recognise(&r)
		if err == nil {
			err = keys.Recognise(&r)
		}
		if tell != nil {
			tell(r.ID, err)
		}
		if err == nil && !r.Duplicate {
			kept = append(kept, r)
		}
	}
	return kept
}

// recognise makes a record a duplicate if its idempotency key is remembered.
func (s *store) recognise(r *engine.Record) error {
	if r.Dedupe == nil {
		return nil
	}
	for _, name := range s.namesOf(r.KeyType()) {
		known, ok := s.keys[dedupeKey{name, r.Dedupe.Key}]
		if !ok || !known.expires.After(time.Now()) || s.freed(known.seq) {
			continue
		}
		if known.version == r.KeyVersion() { // payloads of different versions cannot be compared
			same, err := r.SameAs(known.id, known.digest[:], func() (payload []byte, err error) {
				if stored := s.events[known.seq]; stored != nil {
					payload = stored.Payload
				}
				return payload, nil
			})
			if err != nil {
				return err
			}
			if !same {
				return &engine.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: known.id}
			}
		}
		r.ID, r.Seq, r.Duplicate = known.id, known.seq, true
	}
	return nil
}

// freed reports whether an event does not have its idempotency key any more: a delivery of it was cancelled, or a
// dead letter discarded or edited.
func (s *store) freed(seq int64) bool {
	return slices.ContainsFunc(s.subscriptions, func(sub *subscription) bool {
		d := sub.deliveries[seq]
		return d != nil && (d.Reason == engine.ReasonCancelled && (d.State == ledger.Discarded || d.Cancelled && d.by == nil) || d.Was != nil)
	})
}

// insert stores records, and wakes the consumers.
func (s *store) insert(records []engine.Record) {
	for i := range records {
		r := &records[i]
		if r.Duplicate || r.IfWanted && !s.wanted(r.Type) {
			continue
		}
		s.declareType(typenames.Key{Name: r.Type, Version: max(r.Version, 1)})
		s.last++
		r.Seq = s.last
		stored := *r
		stored.Version, stored.Dedupe = max(r.Version, 1), nil
		s.events[r.Seq] = &stored
		if r.Dedupe != nil {
			s.keys[dedupeKey{r.KeyType(), r.Dedupe.Key}] = first{r.ID, r.Seq, r.KeyVersion(), r.KeyDigest(), r.Dedupe.Expires}
		}
		if !r.Due.IsZero() {
			for _, sub := range s.subscriptions {
				if sub.routes[r.Type] {
					sub.add(&stored)
				}
			}
		}
	}
	s.wake()
}

// wake makes all consumers poll, and those who watch look.
func (s *store) wake() {
	for w := range s.watches {
		w.wake()
	}
	for _, l := range s.logs {
		for _, c := range l.consumers {
			c.wake()
		}
	}
}

// TakeOver implements [engine.Dispatcher].
func (l *Log) TakeOver(context.Context) (found engine.Recovery, err error) {
	if err := l.enter(); err != nil {
		return found, err
	}
	defer l.mu.Unlock()
	switch l.owner {
	case l:
		return found, nil
	case nil:
	default:
		return found, &engine.OwnedError{Path: l.target, PID: pid, Since: l.since}
	}
	l.owner, l.since, l.activity = l, time.Now(), engine.Activity{}
	for _, sub := range l.subscriptions {
		found.Backlog = max(found.Backlog, l.last-sub.next+1)
		for _, d := range sub.deliveries {
			switch {
			case d.State == ledger.Waiting && d.by == nil:
				found.Waiting++
			case d.State == ledger.Dead:
				found.Dead++
			}
		}
	}
	return found, nil
}

// Flush implements [engine.Dispatcher]. Nothing is kept back.
func (l *Log) Flush(context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	l.mu.Unlock()
	return nil
}

// LetGo implements [engine.Dispatcher]. There are no other processes.
func (l *Log) LetGo(ctx context.Context, _ engine.Consumer) error { return l.Flush(ctx) }

// Show implements [engine.Reporter].
func (l *Log) Show(_ context.Context, a engine.Activity, answered []engine.BreakerRequest) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.mu.Unlock()
	l.activity = a
	l.requests = slices.DeleteFunc(l.requests, func(r engine.BreakerRequest) bool { return slices.Contains(answered, r) })
	return nil
}

// WatchRequests implements [engine.Reporter].
func (l *Log) WatchRequests(f func([]engine.BreakerRequest)) {
	l.telling.Lock()
	defer l.telling.Unlock()
	l.asked = f
}
