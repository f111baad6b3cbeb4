package sqlite

import (
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/beat"
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
type writer struct {
	conn *database.Conn
	head *database.IndexHead // nil where it cannot be mapped
	log  *Log

	mu        sync.Mutex
	queue     []*request
	starting  []*request // taken from the queue; the transaction has not begun
	dirty     []dirtyConsumer
	lastGroup int  // how many requests the last transaction served
	expected  int  // how long the queue has to be for regroup to end; 0 if it does not wait
	watch     bool // look for the writes of other processes
	closing   bool
	lasting   bool // it closes, and goes on trying while another process holds the lock

	wake     chan struct{}
	done     chan struct{}
	complete chan struct{} // the queue is as long as expected
	patience *time.Timer   // of regroup
	doubt    int           // grows while it waits in vain
	rhythm   rhythm

	logger   *slog.Logger
	lost     error                  // of the last dispositions that could not be written, until all could
	failing  map[*consumer]struct{} // whose dispositions these are
	unsynced bool                   // events are left to the operating system

	owns     atomic.Bool  // this process dispatches
	since    atomic.Int64 // and has done so since this microsecond, as the row of owner says; 0 for never
	requests sync.Pool    // of *request; channels must not travel between logs

	inside   atomic.Uint64 // the goroutine on which a part runs; 0 for none
	programs *sql.DB       // makes what parts are given; nil before the first

	foreign atomic.Pointer[foreign] // an event of a transaction of the program; nil for none

	gate     gate         // for the connections of the program
	lookNow  atomic.Bool  // they have published
	long     atomic.Int64 // how many pages the write-ahead log has, if they have made it long
	doubtful atomic.Bool  // the disk has failed one of them

	turn    chan struct{}  // holds a token; whoever has taken it uses conn and what follows
	taken   []*request     // for the transaction that runs
	looked  time.Time      // when lookAround last ran
	cared   time.Time      // when it last did more than look at the version
	back    time.Duration  // by how much the wall clock was set back, which the due times have yet to follow
	version int64          // PRAGMA data_version, as last seen
	seen    database.Head  // of the index, when the version was seen
	known   lineage        // of the log
	placed  time.Time      // when inPlace last looked
	held    heldLog        // the write-ahead log, which readers may hold
	rescue  *rescue        // of what a file has that has to be left; nil before
	events  []logged       // of the transaction at hand
	flushes []flush        // of the transaction at hand
	shared  *sqlapi.Shared // conn, as parts use it; nil before the first
	keys    []settledKey   // of the transaction at hand
	settled []tentative    // by parts of the transaction at hand

	trespasses []string // that other programs had done before

	relay     relay
	limit     *time.Timer // of the part that runs
	appending []logged    // by the part that runs
	entered   bool        // the gate
}

func newWriter(log *Log, c *database.Conn) *writer {
	w := &writer{
		conn: c, log: log, wake: make(chan struct{}, 1), done: make(chan struct{}), turn: make(chan struct{}, 1),
		failing: map[*consumer]struct{}{}, complete: make(chan struct{}, 1), patience: time.NewTimer(time.Hour), doubt: 1,
		requests: sync.Pool{New: func() any { return &request{result: make(chan error, 1)} }},
	}
	w.relay.w, w.relay.ended = w, make(chan error, 1)
	w.turn <- struct{}{}
	w.gate.open()
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
		w.lookAround()
		held := w.held.look(w)
		group, wait, closing := w.gather()
		if group.empty() {
			return min(wait, held, w.rescue.run(closing)), closing
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
	flushing []*consumer
	full     bool // a request has to be on disk before the answer
}

func (g group) empty() bool { return len(g.requests) == 0 && len(g.flushing) == 0 }

// gather takes what is to be done now, or says how long there is nothing.
func (w *writer) gather() (g group, wait time.Duration, closing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wait = time.Hour
	if w.watch {
		wait = w.untilLook()
	}
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

// takeDirty removes the consumers that are due, or says how long none is.
func (w *writer) takeDirty(wait time.Duration) (due []*consumer, _ time.Duration) {
	if len(w.dirty) == 0 {
		return nil, wait
	}
	now := time.Now()
	left := w.dirty[:0]
	for _, d := range w.dirty {
		if w.closing || !d.at.After(now) {
			due = append(due, d.consumer)
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
	w.events, w.flushes = w.events[:0], w.flushes[:0]
	w.relay.direct = false
	full, before := g.full, w.conn.Commits()
	for _, c := range g.flushing {
		f := c.take()
		full = full || f.staged
		w.flushes = append(w.flushes, f)
	}
	var err error
	if !begun {
		err = w.begin(full && !w.unsynced)
	}
	g.requests = w.started()
	began, applied := time.Now(), time.Time{}
	apply := func() error {
		err := w.applyHere(g)
		applied = time.Now()
		return err
	}
	if err == nil {
		err = w.conn.Finish(apply)
	}
	for tries := 0; errors.Is(err, errBeginAnew) || tries < changesLimit && w.changed(err) || tries == 0 && w.renew(err); tries++ {
		if tries == anewLimit {
			separate(g.requests)
		}
		w.unsettle()
		clear(w.events)
		w.events = w.events[:0]
		err = w.conn.Commit(full && !w.unsynced, apply)
	}
	w.ended()
	took = time.Since(began)
	w.rhythm.committed(time.Since(applied))
	if err = fault.Wrap("write", w.conn.Path, err); err == nil {
		w.known.appended(w.events)
		w.tellKeys()
		w.tellSettled()
		w.log.tail.append(w.events, len(w.log.all())+int(w.log.arrivals.count.Load()))
	}
	w.noteWrite(err, g.requests, w.conn.Commits() != before)
	if err != nil {
		w.unsettle()
		if !errors.Is(err, sqlite3.BUSY) {
			w.giveUp()
		}
	}
	for _, f := range w.flushes {
		if err == nil {
			f.consumer.written(f)
			delete(w.failing, f.consumer)
		} else {
			f.consumer.restore(f)
			w.failing[f.consumer] = struct{}{}
		}
	}
	w.report(err)
	// Publishers first: while they get their next events ready for the next
	// transaction, handlers have the time that it takes.
	g.requests = w.queueAgain(g.requests)
	for _, r := range g.requests {
		if r.refused != nil && err == nil {
			r.result <- r.refused
		} else {
			r.result <- err
		}
	}
	if err == nil {
		w.log.appended(w.events)
	}
	clear(w.taken)
	clear(w.events)
	clear(w.flushes)
	clear(w.keys)
	if w.rescue == nil {
		w.conn.Tidy() // nobody waits for it
	}
	if w.held.due(w) {
		w.signal() // this may be the goroutine of a publisher
	}
	return took
}

// renew takes another connection if a transaction has failed for want of memory, and tells whether that may do.
func (w *writer) renew(err error) bool {
	if !errors.Is(err, fault.ErrNoMemory) {
		return false
	}
	if w.shared != nil {
		w.shared.Close()
		w.shared = nil
	}
	if err := w.conn.Renew(); err != nil {
		w.logger.Warn("the connection that writes has too little memory, and cannot be opened again", "path", w.conn.Path, "error", err)
		return false
	}
	w.version, w.seen, w.known.version = -1, database.Head{}, -1 // which no version is: the log is looked at
	return true
}

// report tells the log when writing dispositions begins to fail and when all of them
// could be written again. Publishers are told by their errors.
func (w *writer) report(err error) {
	switch {
	case len(w.failing) == 0 && w.lost != nil:
		w.logger.Info("dispositions can be written again")
		w.lost = nil
	case len(w.flushes) == 0 || err == nil:
	case w.lost == nil:
		w.logger.Error("dispositions cannot be written; they are kept in memory and tried again", "error", err)
		fallthrough
	default:
		w.lost = err
	}
}

// apply does what a transaction is for.
func (w *writer) apply(g group) error {
	w.keys = w.keys[:0]
	if err := w.relay.pass(g.requests); err != nil {
		return err
	}
	w.takeSettled()
	for i := range w.flushes {
		if err := w.writeFlush(&w.flushes[i]); err != nil {
			return err
		}
	}
	return nil
}

func isConflict(err error) bool {
	_, ok := err.(*event.ConflictError)
	return ok
}

// lookAround notices what other processes have written.
func (w *writer) lookAround() {
	w.mu.Lock()
	watch := w.watch
	w.mu.Unlock()
	if pages := w.long.Swap(0); pages > 0 {
		w.conn.TidyFor(int(pages))
	}
	if now := w.lookNow.Swap(false); !watch || !now && w.untilLook() > 0 {
		return
	}
	w.looked = time.Now()
	if beat.Passed(w.cared, pollDelay) {
		w.cared = w.looked
		if w.inPlace() != nil {
			return
		}
		w.log.claims.Keep(w.logger)
		w.followClock()
	}
	head := w.head.Read() // before the version: what is written meanwhile is for the next look
	if head == w.seen && head != (database.Head{}) {
		return
	}
	version, err := w.dataVersion()
	if err != nil {
		return
	}
	w.seen = head
	if version == w.version {
		return
	}
	w.version = version
	w.changed(w.verify())
	w.arrived() // before what it ends the looking for is read: a commit may come in between
	if w.log.refresh(w.conn) != nil {
		w.seen, w.version = database.Head{}, -1 // which no version is, so the next look tries again
	}
}
