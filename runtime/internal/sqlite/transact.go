package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/goroutine"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
)

// A part is a function of the program that runs within the writer's transaction, in a
// savepoint of its own, on the goroutine of who has called Transact. The connection goes from
// caller to caller meanwhile: see [relay]. The writer waits, and takes it back when the time of a
// function is up. So a function that never returns costs others no more than its limit.
//
// What a part does wrong is taken back with its savepoint. But SQLite rolls the whole
// transaction back when a statement that writes is interrupted or finds no space, and when the
// program says ON CONFLICT ROLLBACK. Then everything begins anew without that part, and the functions
// that had run before it run again. So do those that were refused after others had written: the row
// that was in the way may be gone now.
type part struct {
	engine.Transaction
	turn      chan *run // the connection is the function's, until it ends its run
	goroutine uint64    // of who waits
	refused   error     // by itself: nothing of it is stored
	final     bool      // it is refused whatever becomes of the others
	postponed bool      // to the next transaction
	separate  bool      // that is to be its own
}

// groupTime is how long the parts of one transaction run, together. What is left comes with
// the next one: other processes wait for the lock.
const groupTime = 50 * time.Millisecond

// anewLimit is how often a transaction begins anew. After that each part that is left has one of
// its own: else many that roll back everything would make each other run as often as they are many.
const anewLimit = 4

// parts are those of one transaction.
type parts struct {
	first time.Time // when it began to run
	wrote bool      // something that is not stored yet, which the next part sees
}

// next tells whether a part is to run now.
func (all *parts) next(p *part) bool {
	if p.final {
		return false
	}
	p.refused = nil // what was in the way may have been rolled back since
	now := time.Now()
	switch {
	case all.first.IsZero():
		all.first = now
	case now.Sub(all.first) >= groupTime:
		p.postponed = true
	}
	return !p.postponed
}

// separate postpones the parts that are left, each to a transaction of its own.
func separate(requests []*request) {
	for _, r := range requests {
		if p := r.part; p != nil && !p.final {
			p.refused, p.postponed, p.separate = nil, true, true
		}
	}
}

// alone tells whether r is to have a transaction of its own.
func (r *request) alone() bool { return r.exec != nil || r.part != nil && r.part.separate }

// queueAgain puts the parts that were postponed before all that came later, and takes them
// out of the requests that have run.
func (w *writer) queueAgain(requests []*request) (ran []*request) {
	if !slices.ContainsFunc(requests, (*request).postponed) {
		return requests
	}
	var again []*request
	for _, r := range requests {
		if r.postponed() {
			r.part.postponed = false
			again = append(again, r)
		} else {
			ran = append(ran, r)
		}
	}
	w.mu.Lock()
	for _, r := range again {
		r.pending = true
	}
	w.queue = append(again, w.queue...)
	w.mu.Unlock()
	return ran
}

// postponed tells whether r did not run in the transaction that it was taken for.
func (r *request) postponed() bool { return r.part != nil && r.part.postponed }

// Transact implements [engine.Transactor].
func (l *Log) Transact(ctx context.Context, t engine.Transaction) error {
	r := l.writer.newRequest()
	r.generation = l.generation.Load()
	if r.turn == nil {
		r.turn = make(chan *run, 1) // nobody waits for this caller
	}
	r.part = &part{Transaction: t, turn: r.turn, goroutine: goroutine.Identity()}
	err := l.writer.submit(ctx, r)
	if p := r.part; p.refused != nil && (p.final || err == nil) {
		err = p.refused // the program's own, which passes as it is
	} else {
		err = fault.Wrap("write", l.path, err)
	}
	l.writer.free(r)
	return err
}

// awaitPart runs the function of a part whenever its turn comes, until the outcome is known.
func (w *writer) awaitPart(ctx context.Context, r *request) error {
	done := ctx.Done()
	for {
		select {
		case turn := <-r.part.turn:
			w.runPart(ctx, r, turn)
		case err := <-r.result:
			return err
		case <-done:
			if w.withdraw(r) {
				return ctx.Err()
			}
			done = nil
		}
	}
}

// runPart calls the function. If it does not return, what it did is taken back before
// the panic goes on.
func (w *writer) runPart(ctx context.Context, r *request, turn *run) {
	turn.begin()
	returned := false
	defer func() {
		if !returned {
			turn.end(errUnwinding)
			<-r.result
			w.free(r)
		}
	}()
	err := ctx.Err() // it may have waited for another transaction, too
	if err == nil {
		err = r.part.Run(turn)
	}
	returned = true
	turn.end(err)
}

// errUnwinding stands for a function that does not return, because of a panic or because its
// goroutine ends.
var errUnwinding = errors.New("the function of the transaction has panicked, or ended its goroutine")

// spoilt is the error of a part after which the transaction cannot go on. What is broken may be so for
// this part only: for want of memory, or because SQLite also says that something else is full, such as the
// numbers of a table with AUTOINCREMENT. If it is the disk, which has failed then, the others find out by
// themselves.
func (w *writer) spoilt(err, broken error, failed bool) error {
	own := errors.Is(broken, sqlapi.ErrPanicked) || errors.Is(broken, sqlite3.FULL) && !failed
	switch {
	case broken != nil && !own:
		return fault.Wrap("write", w.log.path, broken)
	case err != nil:
		return err
	case broken != nil:
		return broken
	}
	return errors.New("the transaction was rolled back by a statement of its function")
}

// errBeginAnew says that the transaction is gone because of one part, which is refused.
var errBeginAnew = errors.New("the transaction was rolled back by a part of it")

// unresolved returns an error if rows refer to others that are missing, which SQLite would
// find at the end of the transaction only.
func (w *writer) unresolved() error {
	n, _, err := w.conn.Status(sqlite3.DBSTATUS_DEFERRED_FKS, false)
	if err == nil && n != 0 {
		err = errors.New("a row that was written refers to one that is missing (FOREIGN KEY constraint failed)")
	}
	return err
}

// share makes the writer's connection usable for programs, once.
func (w *writer) share() (err error) {
	if w.shared == nil {
		w.shared, err = sqlapi.Share(w.conn.Conn, guard())
	}
	if w.programs == nil {
		w.limit = time.NewTimer(time.Hour)
		w.programs = sql.OpenDB(sessions{})
		w.programs.SetMaxIdleConns(-1) // a connection is a session
	}
	return err
}

// unshare undoes share.
func (w *writer) unshare() {
	if w.shared != nil {
		w.shared.Close()
	}
	if w.programs != nil {
		w.programs.Close()
	}
}

// publicViews are what the bus has in the file for others to use. Everything else of it has a
// name that begins with busgen_.
var publicViews = []string{"events", "dead_letters", "event_subscriptions", "outbox"}

// isOurs tells whether a name in the database belongs to the bus.
func isOurs(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "busgen_") || slices.Contains(publicViews, name)
}
