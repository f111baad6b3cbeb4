package sqlite

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
)

const (
	// flushDelay is how long a success may stay in memory while no event is
	// appended: it bounds what runs again after a crash.
	flushDelay = 5 * time.Millisecond
	// faultDelay is the pause after dispositions could not be written, and longFaultDelay if they could not for longFault:
	// a damaged file may refuse them for as long as the process runs.
	faultDelay     = 250 * time.Millisecond
	longFaultDelay = time.Second
	longFault      = time.Minute
	// pollDelay is how often the dispatching process looks for the writes of
	// other processes: at each beat.
	pollDelay = 200 * time.Millisecond
	// groupEvents bounds one transaction, so that nobody waits for too long.
	groupEvents = 4096
	// groupBytes bounds it, too, but for the last of those who wait: a transaction takes memory, see [database.Conn.Renew].
	groupBytes = 64 << 20
)

// writer owns the connection that writes, and runs one transaction after the
// other, each for everyone who is waiting at that moment. That happens on the
// writer's goroutine or, for a publisher that is alone, on the publisher's.
//
// It knows who waits and for how long, and what a transaction costs. Its [content] knows what happens in one.
type writer struct {
	*ground
	content content

	mu        sync.Mutex // guards what follows
	queue     []*request
	starting  []*request // taken from the queue; the transaction has not begun
	dirty     []dirtyClient
	lastGroup int // how many requests the last transaction served
	expected  int // how long the queue has to be for regroup to end; 0 if it does not wait
	closing   bool
	lasting   bool // it closes, and goes on trying while another process holds the lock

	wake     chan struct{}
	done     chan struct{}
	complete chan struct{} // the queue is as long as expected
	requests sync.Pool     // of *request; channels must not travel between logs

	turn     chan struct{} // holds a token; whoever has taken it uses what follows
	conn     *database.Conn
	shared   *sqlapi.Shared // conn, as functions of the program use it; nil before the first
	batch    batch
	taken    []*request  // for the transaction that runs
	patience *time.Timer // of regroup
	doubt    int         // grows while it waits in vain
	rhythm   rhythm
	lost     error               // of the last dispositions that could not be written, until all could
	failing  map[client]struct{} // whose dispositions these are
}

// content is what happens in the transactions of a [writer]. Its methods are called by who has the turn.
type content interface {
	// look notices what other processes have done, and says for how long nothing needs to be looked at.
	look() time.Duration
	// idle is called when there is nothing to write, for the last time if it is closing. It says when to call it again.
	idle(closing bool) time.Duration
	// apply does what a transaction is for.
	apply(b *batch) error
	// anew reports whether a transaction that has failed, and was run anew so many times, is to be run once more.
	anew(b *batch, err error, tries int) bool
	// stored is told that the batch is in the file, before anyone who waits.
	stored(b *batch)
	// ended is called after a transaction, when everyone has been told. It reports whether there is more to do soon.
	ended(b *batch, err error) (more bool)
}

// client has dispositions to write, for which it does not wait.
type client interface {
	take() flush     // what it has to write
	written(f flush) // that is in the file
	restore(f flush) // that could not be written, and has to be tried again
}

func newWriter(g *ground, c *database.Conn) *writer {
	w := &writer{
		ground: g, conn: c, wake: make(chan struct{}, 1), done: make(chan struct{}), turn: make(chan struct{}, 1),
		failing: map[client]struct{}{}, complete: make(chan struct{}, 1), patience: time.NewTimer(time.Hour), doubt: 1,
		requests: sync.Pool{New: func() any { return &request{result: make(chan error, 1)} }},
	}
	w.batch = batch{ground: g, conn: c}
	w.turn <- struct{}{}
	return w
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer w.patience.Stop()
	defer w.unshare()
	for {
		<-w.turn
		wait, closing := w.work()
		w.turn <- struct{}{}
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

// work runs transactions until there is nothing to do, and says for how long.
func (w *writer) work() (wait time.Duration, closing bool) {
	for {
		rest := w.content.look()
		group, wait, closing := w.gather()
		if group.empty() {
			return min(wait, rest, w.content.idle(closing)), closing
		}
		size := len(group.requests)
		w.regroup(size, w.write(group, false))
	}
}

// regroup lets those who have waited for the last transaction queue what they
// do next, so that the next one is as large: without it every other would sync
// for one or two of them only. The last of them wakes the writer, which the
// scheduler then prefers to handlers that have been woken before.
//
// It waits for no longer than the last transaction took, and for less and less
// while it waits in vain: publishers may have something else to do.
func (w *writer) regroup(size int, took time.Duration) {
	if size < 2 {
		return
	}
	w.mu.Lock()
	expected := w.rhythm.next(size, len(w.queue))
	if len(w.queue) >= expected || w.closing {
		w.mu.Unlock()
		return
	}
	w.expected = expected
	w.mu.Unlock()
	began := time.Now()
	w.patience.Reset(took / time.Duration(w.doubt))
	select {
	case <-w.complete:
		w.doubt = max(1, w.doubt/2)
		w.rhythm.waited(time.Since(began))
	case <-w.patience.C:
		w.doubt = min(64, w.doubt*2)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected = 0
	select {
	case <-w.complete: // just now
	default:
	}
}

// queued is told that the queue has grown. The caller holds mu.
func (w *writer) queued() {
	if w.expected > 0 && len(w.queue) >= w.expected {
		w.expected = 0
		w.complete <- struct{}{}
	}
}

// close writes what is queued and ends the goroutine. It returns the error of
// the last dispositions if they could not be written; they are as if never given. With lasting it goes on
// trying while another process holds the lock, until hurry is called.
func (w *writer) close(lasting bool) error {
	w.mu.Lock()
	w.closing, w.lasting = true, lasting
	w.mu.Unlock()
	w.signal()
	<-w.done
	return w.lost
}

// hurry makes the writer wait for no other process any more.
func (w *writer) hurry() {
	w.giveUp()
	w.conn.Hurry()
}

// giveUp ends the trying of close: what cannot be written now is never written.
func (w *writer) giveUp() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lasting = false
}

// group is what one transaction does.
type group struct {
	requests []*request // some may be withdrawn until it has begun
	flushing []client
	full     bool // a request has to be on disk before the answer
}

func (g group) empty() bool { return len(g.requests) == 0 && len(g.flushing) == 0 }

// gather takes what is to be done now, or says how long there is nothing.
func (w *writer) gather() (g group, wait time.Duration, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = time.Hour
	g.requests = w.take()
	w.starting = g.requests
	g.full = slices.ContainsFunc(g.requests, (*request).synced)
	if len(g.requests) > 0 {
		w.lastGroup = len(g.requests)
		if g.requests[0].exec != nil {
			return g, wait, w.closing
		}
	}
	g.flushing, wait = w.takeDirty(wait)
	return g, wait, w.closing
}

// takeDirty removes the clients that are due, or says how long none is.
func (w *writer) takeDirty(wait time.Duration) (due []client, _ time.Duration) {
	if len(w.dirty) == 0 {
		return nil, wait
	}
	now := time.Now()
	left := w.dirty[:0]
	for _, d := range w.dirty {
		if w.closing || !d.at.After(now) {
			due = append(due, d.client)
		} else {
			left = append(left, d)
			wait = min(wait, d.at.Sub(now))
		}
	}
	clear(w.dirty[len(left):])
	w.dirty = left
	return due, wait
}

// take removes from the queue what fits into one transaction: events of many,
// or what one has to itself, whose error is then its own.
func (w *writer) take() (taken []*request) {
	n, size, bytes := 0, 0, 0
	for _, r := range w.queue {
		if size >= groupEvents || bytes >= groupBytes || r.alone() && n > 0 {
			break
		}
		size += len(r.events)
		bytes += sizeOf(r.events)
		n++
		if r.alone() {
			break
		}
	}
	w.taken = append(w.taken[:0], w.queue[:n]...)
	w.queue = slices.Delete(w.queue, 0, n)
	return w.taken
}

// write runs one transaction and tells everyone how it went. It says how long
// that took, without the time that it waited for other processes.
func (w *writer) write(g group, begun bool) (took time.Duration) {
	b := &w.batch
	full, before := g.full, w.conn.Commits()
	for _, c := range g.flushing {
		f := c.take()
		full = full || f.staged
		b.flushes = append(b.flushes, f)
	}
	var err error
	if !begun {
		err = w.begin(full && !w.unsynced)
	}
	b.requests = w.started()
	began, applied := time.Now(), time.Time{}
	apply := func() error {
		err := w.content.apply(b)
		applied = time.Now()
		return err
	}
	if err == nil {
		err = w.conn.Finish(apply)
	}
	for tries := 0; w.content.anew(b, err, tries); tries++ {
		b.takeBack()
		err = w.conn.Commit(full && !w.unsynced, apply)
	}
	w.gate.ended()
	took = time.Since(began)
	w.rhythm.committed(time.Since(applied))
	if err = fault.Wrap("write", w.conn.Path, err); err == nil {
		w.content.stored(b)
	}
	w.faults.noteWrite(err, b.requests, w.conn.Commits() != before)
	if err != nil {
		b.unsettle()
		if !errors.Is(err, sqlite3.BUSY) {
			w.giveUp()
		}
	}
	for _, f := range b.flushes {
		if err == nil {
			f.client.written(f)
			delete(w.failing, f.client)
		} else {
			f.client.restore(f)
			w.failing[f.client] = struct{}{}
		}
	}
	w.report(err)
	// Publishers first: while they get their next events ready for the next
	// transaction, handlers have the time that it takes.
	for _, r := range w.queueAgain(b.requests) {
		if r.refused != nil && err == nil {
			r.result <- r.refused
		} else {
			r.result <- err
		}
	}
	more := w.content.ended(b, err)
	clear(w.taken)
	b.clear()
	if more {
		w.signal() // this may be the goroutine of a publisher
	}
	return took
}

// begin begins a transaction of the writer, when no connection of the program writes.
func (w *writer) begin(full bool) error {
	if why := w.stopped.Load(); why != nil {
		return why
	}
	if w.gate.used.Load() {
		if err := w.gate.admit(w.logger); err != nil {
			return err
		}
		if w.gate.doubtful.Swap(false) {
			w.conn.Doubt()
		}
	}
	return w.conn.Begin(full)
}

// tryBegin is begin that waits for nothing.
func (w *writer) tryBegin(full bool) bool {
	if w.stopped.Load() != nil {
		return false
	}
	if w.gate.used.Load() {
		if w.gate.doubtful.Load() || !w.gate.tryAdmit() {
			return false
		}
	}
	if w.conn.TryBegin(full) {
		return true
	}
	w.gate.ended()
	return false
}

// report tells the log when writing dispositions begins to fail and when all of them
// could be written again. Publishers are told by their errors.
func (w *writer) report(err error) {
	switch {
	case len(w.failing) == 0 && w.lost != nil:
		w.logger.Info("dispositions can be written again")
		w.lost = nil
	case len(w.batch.flushes) == 0 || err == nil:
	case w.lost == nil:
		w.logger.Error("dispositions cannot be written; they are kept in memory and tried again", "error", err)
		fallthrough
	default:
		w.lost = err
	}
}

// share makes conn usable for functions of the program, once.
func (w *writer) share() (err error) {
	if w.shared == nil {
		w.shared, err = sqlapi.Share(w.conn.Conn, guard())
	}
	return err
}

// unshare undoes share.
func (w *writer) unshare() {
	if w.shared != nil {
		w.shared.Close()
		w.shared = nil
	}
}

// rebuilt is told that the file may have other views and triggers.
func (w *writer) rebuilt() {
	if w.shared != nil {
		w.shared.Rebuilt()
	}
}
