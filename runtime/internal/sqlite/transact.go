package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
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
	turn    chan *run // the connection is the function's, until it ends its run
	refused error     // by itself: nothing of it is stored
	final   bool      // it is refused whatever becomes of the others
}

// groupTime is how long the parts of one transaction run, together. What is left comes with
// the next one: other processes wait for the lock.
const groupTime = 50 * time.Millisecond

// anewLimit is how often a transaction begins anew. After that each part that is left has one of
// its own: else many that roll back everything would make each other run as often as they are many.
const anewLimit = 4

// next tells whether the part of a request is to run now.
func (r *relay) next(one *request) bool {
	if one.part.final {
		return false
	}
	one.part.refused = nil // what was in the way may have been rolled back since
	now := time.Now()
	switch {
	case r.first.IsZero():
		r.first = now
	case now.Sub(r.first) >= groupTime:
		one.postponed = true
	}
	return !one.postponed
}

// separate postpones the parts that are left, each to a transaction of its own.
func separate(requests []*request) {
	for _, r := range requests {
		if p := r.part; p != nil && !p.final {
			p.refused, r.postponed, r.separate = nil, true, true
		}
	}
}

// Transact implements [engine.Transactor].
func (r *relay) Transact(ctx context.Context, t engine.Transaction) error {
	own := r.writer.newRequest()
	own.generation, own.full = r.generation.Load(), true
	if own.turn == nil {
		own.turn = make(chan *run, 1) // nobody waits for this caller
	}
	own.part = &part{Transaction: t, turn: own.turn}
	err := r.writer.enqueue(ctx, own)
	if err == nil {
		err = r.await(ctx, own)
	}
	if p := own.part; p.refused != nil && (p.final || err == nil) {
		err = p.refused // the program's own, which passes as it is
	} else {
		err = fault.Wrap("write", r.path, err)
	}
	r.writer.free(own)
	return err
}

// await runs the function of a part whenever its turn comes, until the outcome is known.
func (r *relay) await(ctx context.Context, own *request) error {
	done := ctx.Done()
	for {
		select {
		case turn := <-own.part.turn:
			r.call(ctx, own, turn)
		case err := <-own.result:
			if err != errRecheck {
				return err
			}
			if err := r.writer.requeue(ctx, own); err != nil {
				return err
			}
		case <-done:
			if r.writer.withdraw(own) {
				return ctx.Err()
			}
			done = nil
		}
	}
}

// call calls the function. If it does not return, what it did is taken back before
// the panic goes on.
func (r *relay) call(ctx context.Context, own *request, turn *run) {
	turn.begin()
	returned := false
	defer func() {
		if !returned {
			turn.end(errUnwinding)
			<-own.result
			r.writer.free(own)
		}
	}()
	err := ctx.Err() // it may have waited for another transaction, too
	if err == nil {
		err = own.part.Run(turn)
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
func (r *relay) spoilt(err, broken error, failed bool) error {
	own := errors.Is(broken, sqlapi.ErrPanicked) || errors.Is(broken, sqlite3.FULL) && !failed
	switch {
	case broken != nil && !own:
		return fault.Wrap("write", r.path, broken)
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
func (r *relay) unresolved() error {
	n, _, err := r.writer.conn.Status(sqlite3.DBSTATUS_DEFERRED_FKS, false)
	if err == nil && n != 0 {
		err = errors.New("a row that was written refers to one that is missing (FOREIGN KEY constraint failed)")
	}
	return err
}

// open makes what functions of the program need, once.
func (r *relay) open() error {
	if r.pool == nil {
		r.limit = time.NewTimer(time.Hour)
		r.pool = sql.OpenDB(sessions{})
		r.pool.SetMaxIdleConns(-1) // a connection is a session
	}
	return r.writer.share()
}

// close undoes open, after the writer has ended.
func (r *relay) close() {
	if r.pool != nil {
		r.pool.Close()
	}
}

// Some of what a program can do to the schema would spoil the bus's own work: a table that
// refers to one of the bus makes deleting old events fail, and a trigger on one can do anything. Most
// of it is refused while the statement is prepared. The rest is found when a function has changed
// the schema. Another program may have done it all, with a connection of its own.

// findTrespasses returns, in words, what in the schema is in the way of the bus.
func findTrespasses(c *database.Conn) (found []string, err error) {
	var own []string // of the program
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	err = c.Query("SELECT type, name, tbl_name FROM sqlite_schema", func(s *sqlite3.Stmt) error {
		kind, name, table := s.ColumnText(0), s.ColumnText(1), s.ColumnText(2)
		if kind == "table" && !tables.IsOurs(name) {
			own = append(own, name)
		}
		switch {
		case tables.Kinds[strings.ToLower(name)] != "", strings.HasPrefix(strings.ToLower(name), labelPrefix):
		case sqlapi.Hides(name) && (kind == "table" || kind == "view"):
			add("the %s %s hides a function of SQLite that the bus uses", kind, name)
		case tables.IsOurs(name):
			add("the %s %s has a name that belongs to the bus", kind, name)
		case tables.IsOurs(table) && !strings.HasPrefix(name, "sqlite_"): // those are the indexes of constraints
			add("the %s %s is on %s, which belongs to the bus", kind, name, table)
		}
		return nil
	})
	for _, table := range own {
		if err != nil {
			break
		}
		err = c.QueryOnce("PRAGMA foreign_key_list("+sqlite3.QuoteIdentifier(table)+")", func(s *sqlite3.Stmt) error {
			if parent := s.ColumnText(2); tables.IsOurs(parent) {
				add("the table %s refers to %s, which belongs to the bus", table, parent)
			}
			return nil
		})
	}
	return found, err
}

// trespasses are what other programs had done to the schema before.
type trespasses []string

// check returns an error if the schema, which a function of the program has changed, is now in
// the way of the bus. What other programs did before is not the fault of the function.
func (t *trespasses) check(c *database.Conn) error {
	found, err := findTrespasses(c)
	if err != nil {
		return err
	}
	for _, problem := range found {
		if !slices.Contains(*t, problem) {
			return &event.ProtectedError{Problem: problem +
				": choose another name, and refer to what belongs to the bus with a column without REFERENCES"}
		}
	}
	return nil
}

// learn looks for what other programs have done, and tells the logger.
func (t *trespasses) learn(c *database.Conn, logger *slog.Logger) (err error) {
	*t, err = findTrespasses(c)
	for _, problem := range *t {
		logger.Warn("the schema of the file has something of another program that can make the bus fail", "path", c.Path, "problem", problem)
	}
	return err
}
