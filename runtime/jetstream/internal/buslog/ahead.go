package buslog

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// What a subscription needs that lags behind the events in memory comes in the stream of a reader, which reads
// ahead while handlers work. Subscriptions that lag alike share one.

const (
	// mostReaders is how many readers a process has at once. A subscription without one reads in pages.
	mostReaders = 4
	// bytesAhead is how many bytes a reader has in memory at most, but for the last event, and Sizes.Ahead how many
	// events. As much again is kept for subscriptions that lag a bit behind the first.
	bytesAhead = 4 << 20
	// aheadTime is how long a subscription waits for a reader. Then a page is asked for, and the leader if there is none.
	aheadTime = 200 * time.Millisecond
	// unusedTime is after how long an unused reader ends.
	unusedTime = 2 * time.Second
)

// ahead has the readers of a log. It has a lock of its own, which may be taken while the log's mu is held.
type ahead struct {
	mu      sync.Mutex
	readers []*aheadReader
}

// aheadReader reads the events from a message on. The mu of its ahead guards it, and methods that do not take that are
// called with it held.
type aheadReader struct {
	in     *ahead
	from   int64 // the events from this on, up to the last one, were read
	last   int64 // message; from-1 before the first event
	events []*engine.Record
	slots  []uint8 // of the events
	bytes  int     // of the events that no subscription has asked for yet
	asked  int64   // the newest message that a subscription has asked for
	used   time.Time
	over   context.Context // it has ended
	cancel context.CancelFunc
	news   chan struct{} // closed when events have come; nil while none is waited for
	room   chan struct{} // closed when a newer message was asked for; nil while it does not wait
}

// after returns events from a message on, up to a page, and their slots. It returns none if no reader has them,
// or they do not come soon.
func (a *ahead) after(on *conn, seq, end int64) (events []*engine.Record, slots []uint8) {
	a.mu.Lock()
	r := a.readerOf(on, seq, end)
	if r == nil {
		a.mu.Unlock()
		return nil, nil
	}
	var late <-chan time.Time
	for {
		if r.from <= seq { // else others have gone on meanwhile, and it has forgotten this
			events, slots = r.take(seq)
		}
		if len(events) > 0 || r.from > seq || r.over.Err() != nil {
			a.mu.Unlock()
			return events, slots
		}
		if r.news == nil {
			r.news = make(chan struct{})
		}
		news := r.news
		a.mu.Unlock()
		if late == nil {
			late = time.After(aheadTime)
		}
		select {
		case <-news:
		case <-r.over.Done():
		case <-late:
			return nil, nil
		}
		a.mu.Lock()
	}
}

// readerOf returns the reader that comes to a message, or has it. The caller holds mu.
func (a *ahead) readerOf(on *conn, seq, end int64) *aheadReader {
	for _, r := range a.readers {
		if r.from <= seq && seq <= r.last+1 {
			return r
		}
	}
	if end-seq < int64(2*Sizes.Page) || len(a.readers) == mostReaders {
		return nil
	}
	r := &aheadReader{in: a, from: seq, last: seq - 1, asked: seq - 1, used: time.Now()}
	r.over, r.cancel = context.WithCancel(context.Background())
	a.readers = append(a.readers, r)
	go r.run(on)
	return r
}

// run reads until it is not used any more.
func (r *aheadReader) run(on *conn) {
	go r.read(on)
	unused := time.NewTicker(unusedTime)
	defer unused.Stop()
	for {
		select {
		case <-unused.C:
			if r.isUnused() {
				r.end()
			}
		case <-on.stopped:
			r.end()
		case <-r.over.Done():
			return
		}
	}
}

// read reads until the reader ends, or the servers cannot be asked. It reads all messages: nearly all are events, and
// servers find the next one of some subjects more slowly than the next one.
func (r *aheadReader) read(on *conn) {
	defer r.end()
	next, stop, err := on.stream.ReadAhead(r.over, r.from, Sizes.Ahead, max(bytesAhead, on.stream.MaxPayload()))
	if err != nil {
		return
	}
	context.AfterFunc(r.over, stop)
	for {
		m, err := next()
		if err != nil {
			return
		}
		r.come(on, m)
	}
}

func (r *aheadReader) isUnused() bool {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	return time.Since(r.used) >= unusedTime
}

// end ends the reader.
func (r *aheadReader) end() {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	r.cancel()
	r.in.readers = slices.DeleteFunc(r.in.readers, func(other *aheadReader) bool { return other == r })
}

// come adds a message that has come, and waits until there is room for more.
func (r *aheadReader) come(on *conn, m stream.Stored) {
	var e *engine.Record
	if kind, _ := split(m.Subject); kind == eventToken {
		var err error
		if e, err = eventOf(m); err != nil {
			on.noteForeign(m, err)
			e = nil
		}
	}
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	if r.last = m.Seq; e != nil {
		r.events, r.slots = append(r.events, e), append(r.slots, uint8(slotOf(e)))
		r.bytes += len(e.Payload) + len(e.Metadata)
	}
	if r.news != nil {
		close(r.news)
		r.news = nil
	}
	for r.isFull() && r.over.Err() == nil {
		room := make(chan struct{})
		r.room = room
		r.in.mu.Unlock()
		select {
		case <-room:
		case <-r.over.Done():
		}
		r.in.mu.Lock()
	}
}

// isFull reports whether enough was read ahead.
func (r *aheadReader) isFull() bool {
	return len(r.events)-r.at(r.asked+1) >= Sizes.Ahead || r.bytes >= bytesAhead
}

// at returns where the first event is that is not before a message.
func (r *aheadReader) at(seq int64) int {
	at, _ := slices.BinarySearchFunc(r.events, seq, func(e *engine.Record, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return at
}

// take returns events from a message on, and forgets those that lie far behind.
func (r *aheadReader) take(seq int64) (events []*engine.Record, slots []uint8) {
	r.used = time.Now()
	at := r.at(seq)
	end := min(at+Sizes.Page, len(r.events))
	if at == end {
		return nil, nil
	}
	events, slots = slices.Clone(r.events[at:end]), slices.Clone(r.slots[at:end])
	if last := events[len(events)-1].Seq; last > r.asked {
		for _, e := range r.events[r.at(r.asked+1):end] {
			r.bytes -= len(e.Payload) + len(e.Metadata)
		}
		r.asked = last
		r.forget(end)
		if r.room != nil && !r.isFull() {
			close(r.room)
			r.room = nil
		}
	}
	return events, slots
}

// forget keeps no more of the events that were read than there may be of others.
func (r *aheadReader) forget(had int) {
	drop, bytes := had, 0
	for drop > 0 && had-drop < Sizes.Ahead && bytes < bytesAhead {
		drop--
		bytes += len(r.events[drop].Payload) + len(r.events[drop].Metadata)
	}
	if drop == 0 {
		return
	}
	r.from = r.events[drop-1].Seq + 1
	clear(r.events[:drop])
	r.events, r.slots = r.events[drop:], r.slots[drop:]
}

// remove takes events out, by their sequence numbers.
func (a *ahead) remove(gone map[int64]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.readers {
		asked, left := r.at(r.asked+1), 0
		for i, e := range r.events {
			if !gone[e.Seq] {
				r.events[left], r.slots[left] = e, r.slots[i]
				left++
			} else if i >= asked {
				r.bytes -= len(e.Payload) + len(e.Metadata)
			}
		}
		clear(r.events[left:])
		r.events, r.slots = r.events[:left], r.slots[:left]
	}
}
