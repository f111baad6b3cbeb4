package sqlite

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

const (
	// flushDelay is how long a success may stay in memory while no event is
	// appended: it bounds what runs again after a crash.
	flushDelay = 5 * time.Millisecond
	// faultDelay is the pause after verdicts could not be written.
	faultDelay = 250 * time.Millisecond
	// pollDelay is how often the dispatching process looks for the writes of
	// other processes.
	pollDelay = 200 * time.Millisecond
	// groupEvents bounds one transaction, so that nobody waits for too long.
	groupEvents = 4096
)

// request is something to do in the next transaction, and someone who waits
// for it.
type request struct {
	events  []logged          // appended first
	exec    func(*conn) error // then run
	result  chan error
	pending bool // in the queue, and may still be withdrawn
}

// writer owns the connection that writes. Its goroutine runs one transaction
// after the other, each for everyone who is waiting at that moment.
type writer struct {
	conn *conn
	log  *Log

	mu      sync.Mutex
	queue   []*request
	dirty   []*consumer // with verdicts or a cursor to write
	flushAt time.Time   // when dirty is due; zero for never
	watch   bool        // look for the writes of other processes
	closing bool

	wake chan struct{}
	done chan struct{}

	requests sync.Pool // of *request; channels must not travel between logs

	looked  time.Time // when lookAround last ran
	version int64     // PRAGMA data_version, as last seen
	events  []logged  // of the transaction at hand
}

func newWriter(log *Log, c *conn) *writer {
	return &writer{
		conn: c, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}),
		requests: sync.Pool{New: func() any { return &request{result: make(chan error, 1)} }},
	}
}

// do queues a transaction and waits for its outcome. A context that ends
// while it is still queued withdraws it; later the outcome is waited for,
// because only the outcome tells whether it is stored.
func (w *writer) do(ctx context.Context, events []logged, exec func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := w.requests.Get().(*request)
	r.events, r.exec, r.pending = events, exec, true
	w.mu.Lock()
	if w.closing {
		w.mu.Unlock()
		return engine.ErrClosed
	}
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	w.signal()

	var err error
	select {
	case err = <-r.result:
	case <-ctx.Done():
		if w.withdraw(r) {
			err = ctx.Err()
		} else {
			err = <-r.result
		}
	}
	r.events, r.exec = nil, nil
	w.requests.Put(r)
	return err
}

func (w *writer) withdraw(r *request) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !r.pending {
		return false
	}
	for i, queued := range w.queue {
		if queued == r {
			w.queue = append(w.queue[:i], w.queue[i+1:]...)
			return true
		}
	}
	return false
}

// flush asks for the verdicts of c to be written: within delay, or with the
// next transaction that runs anyway. The caller makes sure that c is not
// queued twice.
func (w *writer) flush(c *consumer, delay time.Duration) {
	w.mu.Lock()
	w.dirty = append(w.dirty, c)
	w.due(delay)
	w.mu.Unlock()
	w.signal()
}

// hasten makes verdicts that are already queued due now.
func (w *writer) hasten() {
	w.mu.Lock()
	w.due(0)
	w.mu.Unlock()
	w.signal()
}

func (w *writer) due(delay time.Duration) {
	if at := time.Now().Add(delay); w.flushAt.IsZero() || at.Before(w.flushAt) {
		w.flushAt = at
	}
}

// watchOthers makes the writer look for the writes of other processes.
func (w *writer) watchOthers() {
	w.mu.Lock()
	w.watch = true
	w.mu.Unlock()
	w.signal()
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close writes what is queued and ends the goroutine.
func (w *writer) close() {
	w.mu.Lock()
	w.closing = true
	w.mu.Unlock()
	w.signal()
	<-w.done
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		w.lookAround()
		group, wait, closing := w.gather()
		if !group.empty() {
			began := time.Now()
			w.write(group)
			w.regroup(len(group.requests), time.Since(began)/4)
			continue
		}
		if closing {
			return
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// regroup lets those who have waited for the last transaction queue what they
// do next, so that the next one is as large: without it every other would sync
// for one or two of them only. It gives up the processor, and after limit gives
// up altogether.
func (w *writer) regroup(size int, limit time.Duration) {
	if size < 2 {
		return
	}
	for began := time.Now(); time.Since(began) < limit; runtime.Gosched() {
		w.mu.Lock()
		queued := len(w.queue)
		w.mu.Unlock()
		if queued >= size {
			return
		}
	}
}

// group is what one transaction does.
type group struct {
	requests []*request
	flushing []*consumer
}

func (g group) empty() bool { return len(g.requests) == 0 && len(g.flushing) == 0 }

// gather takes what is to be done now, or says how long there is nothing.
func (w *writer) gather() (g group, wait time.Duration, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 0
	for len(g.requests) < len(w.queue) && size < groupEvents {
		r := w.queue[len(g.requests)]
		r.pending = false
		size += len(r.events)
		g.requests = w.queue[:len(g.requests)+1]
	}
	w.queue = w.queue[len(g.requests):]
	if len(w.queue) == 0 {
		w.queue = nil
	}

	wait = time.Hour
	if w.watch {
		wait = pollDelay
	}
	if len(w.dirty) > 0 {
		if left := time.Until(w.flushAt); left <= 0 || w.closing {
			g.flushing, w.dirty, w.flushAt = w.dirty, nil, time.Time{}
		} else {
			wait = min(wait, left)
		}
	}
	return g, wait, w.closing
}

// write runs one transaction and tells everyone how it went.
func (w *writer) write(g group) {
	w.events = w.events[:0]
	flushes := make([]flush, 0, len(g.flushing))
	full := false
	for _, r := range g.requests {
		full = full || len(r.events) > 0
	}
	for _, c := range g.flushing {
		f := c.take()
		full = full || f.staged
		flushes = append(flushes, f)
	}

	err := w.conn.transaction(full, func() error {
		for _, r := range g.requests {
			if err := w.insert(r.events); err != nil {
				return err
			}
			if r.exec != nil {
				if err := r.exec(w.conn); err != nil {
					return err
				}
			}
		}
		for i := range flushes {
			if err := w.record(&flushes[i]); err != nil {
				return err
			}
		}
		return nil
	})
	err = storageError("write", w.conn.path, err)

	if err == nil {
		w.log.tail.append(w.events)
		for _, f := range flushes {
			f.consumer.written(f)
		}
		w.log.appended(w.events)
	} else {
		for _, f := range flushes {
			f.consumer.restore(f)
		}
	}
	clear(w.events)
	for _, r := range g.requests {
		r.result <- err
	}
}

// lookAround notices what other processes have written.
func (w *writer) lookAround() {
	w.mu.Lock()
	watch := w.watch
	w.mu.Unlock()
	if !watch || time.Since(w.looked) < pollDelay {
		return
	}
	w.looked = time.Now()
	version, err := w.conn.int64("PRAGMA data_version")
	if err != nil || version == w.version {
		return
	}
	w.version = version
	w.log.refresh(w.conn)
}
