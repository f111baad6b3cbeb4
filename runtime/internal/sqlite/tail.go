package sqlite

import (
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Sizes are how many events are held in memory at once. Tests make them small before they open a log.
var Sizes = struct {
	Tail  int64 // in the tail, at most tailEvents
	Ahead int   // in a page that is read ahead
}{tailEvents, 1024}

// The tail holds at most this many events and bytes of payload. Consumers
// that are further behind read the file.
const (
	tailEvents = 8192
	tailBytes  = 8 << 20
)

// logged is a record with its type's number.
type logged struct {
	engine.Record
	typeID   int64
	declared bool     // typeID was found in a transaction, which may not have been stored
	express  *[]int64 // the subscriptions whose deliveries go ahead of the log; nil for nearly all
}

// passes tells whether polls of the log pass the event over for a subscription: its delivery has a row.
func (e *logged) passes(subscription int64) bool {
	return !e.Due.IsZero() || e.express != nil && slices.Contains(*e.express, subscription)
}

// tail is the newest part of the log in memory: what this process appended,
// without gaps. It is safe for concurrent use.
type tail struct {
	mu    sync.RWMutex
	ring  []*logged // grows to tailEvents, then wraps
	first int64     // seq of the oldest event held
	next  int64     // seq after the newest event known to be in the log
	bytes int
}

// reset forgets everything held; the log is known to end before next.
func (t *tail) reset(next int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(next)
}

// drop forgets everything held. The log ends where it did.
func (t *tail) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(t.next)
}

func (t *tail) forget(next int64) {
	clear(t.ring)
	t.ring = t.ring[:0]
	t.first, t.next, t.bytes = next, next, 0
}

// append adds copies of events that were just committed, for that many
// readers. When another process has appended in between there is a gap, and what
// came before it is forgotten. Without readers nothing is held: those that come
// later read the file.
func (t *tail) append(events []logged, readers int) {
	if len(events) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if readers == 0 {
		t.forget(events[len(events)-1].Seq + 1)
		return
	}
	if events[0].Seq != t.next {
		t.forget(events[0].Seq)
	}
	held := slices.Clone(events)
	var memos []engine.Memo
	if readers > 1 {
		memos = make([]engine.Memo, len(held))
	}
	for i := range held {
		if readers > 1 {
			held[i].Memo = &memos[i]
		}
		t.evict(len(held[i].Payload))
		t.put(&held[i])
	}
}

// evict makes room for one more event of the given size.
func (t *tail) evict(size int) {
	for t.next > t.first && (t.next-t.first >= Sizes.Tail || t.bytes+size > tailBytes) {
		oldest := &t.ring[t.first%tailEvents]
		t.bytes -= len((*oldest).Payload)
		*oldest = nil
		t.first++
	}
}

// since is read with the delayed events among the others.
func (t *tail) since(dst []*logged, from int64, limit int, match func(typeID int64) bool) (_ []*logged, next int64, held bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if from < t.first {
		return dst, from, false
	}
	for ; from < t.next && len(dst) < limit; from++ {
		if event := t.ring[from%tailEvents]; match(event.typeID) {
			dst = append(dst, event)
		}
	}
	return dst, from, true
}

func (t *tail) put(event *logged) {
	at := int(event.Seq % tailEvents)
	for len(t.ring) <= at {
		t.ring = append(t.ring, nil)
	}
	t.ring[at] = event
	t.next = event.Seq + 1
	t.bytes += len(event.Payload)
}

// end returns the seq after the newest event known to be in the log.
func (t *tail) end() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.next
}

// read appends events from seq on that match and come with the log, until limit is reached or the
// tail ends, and returns the seq to go on from. It reports false when it no
// longer holds seq.
func (t *tail) read(dst []*logged, from int64, limit int, subscription int64, match func(typeID int64) bool) (_ []*logged, next int64, held bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if from < t.first {
		return dst, from, false
	}
	for ; from < t.next && len(dst) < limit; from++ {
		if event := t.ring[from%tailEvents]; !event.passes(subscription) && match(event.typeID) {
			dst = append(dst, event)
		}
	}
	return dst, from, true
}
