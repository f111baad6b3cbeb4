package sqlapi

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Session is a time during which a program may use a connection through database/sql. It
// implements [driver.Conn]. Closing it does nothing: it lasts until [Session.End].
type Session struct {
	// Patience is how long End waits for a statement that runs on another goroutine, before it
	// interrupts that; 0 for as long as it takes.
	Patience time.Duration

	// Before runs before a statement that reads what is the bus's, without the guard; nil for nothing.
	Before func() error

	shared *Shared
	within bool  // a transaction of others
	own    *Conn // whose session it is; nil within a transaction of others

	cut atomic.Bool // what runs is to be interrupted

	mu     sync.Mutex // held while the connection is used
	until  until      // SQLite asks it whether what runs is to go on
	over   error      // what calls return once the session has ended
	broken error      // a statement has failed because of the disk, or the driver has panicked
	lost   bool       // a statement has rolled back the transaction
	schema bool       // a statement may have changed the schema
	open   map[*rows]struct{}

	published bool // a statement may have published through the view outbox

	done  result // what the statement at hand has done
	adopt Adopt  // what makes the events that it publishes children; nil for nothing
}

// Adopt makes an event that SQL has published the child of another one.
type Adopt func(r *engine.Record) error

// Within begins a session inside a transaction, which the session can neither begin nor end.
func (s *Shared) Within() *Session {
	s.conn.SetLastInsertRowID(0) // it was somebody else's
	return &Session{shared: s, within: true}
}

// Interrupt ends the statement that runs, and those that come.
func (s *Session) Interrupt() { s.cut.Store(true) }

// Interrupted tells whether Interrupt was called, or statements had to be interrupted by End.
func (s *Session) Interrupted() bool { return s.cut.Load() }

// End ends the session: it waits until the statement at hand has ended, and resets those
// that were left. All that is asked of the session later returns err. It returns the error
// of a statement that has failed for want of space, of a sound disk or of memory.
func (s *Session) End(err error) (broken error) {
	if !s.mu.TryLock() { // a goroutine is at work that the function has left behind
		if s.Patience > 0 {
			defer time.AfterFunc(s.Patience, s.Interrupt).Stop()
		}
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	if s.over != nil {
		return s.broken
	}
	s.closeRows()
	s.over = err
	return s.broken
}

// closeRows resets the statements of rows that were left.
func (s *Session) closeRows() {
	for r := range s.open {
		r.closed, r.gone = true, true
		s.shared.give(r.query, r.stmt)
	}
	s.open = nil
}

// Published tells, once the session has ended, whether a statement of it may have published
// events through the view outbox.
func (s *Session) Published() bool { return s.published }

// Lost tells, once the session has ended, whether a statement of it has rolled back the
// transaction that it was within. Nothing ran after that.
func (s *Session) Lost() bool { return s.lost }

// Changed tells, once the session has ended, whether a statement of it has made or altered a table.
func (s *Session) Changed() bool { return s.schema }

// Do runs f while no statement of the session runs, without the guard. It returns the
// session's error if it has ended. What f inserts does not show in last_insert_rowid().
func (s *Session) Do(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unusable(); err != nil {
		return err
	}
	last := s.shared.conn.LastInsertRowID()
	err := f()
	s.shared.conn.SetLastInsertRowID(last)
	s.note(err)
	return err
}

// touchesOurs tells whether a statement reads what is the bus's, or may do so. The trigger by which
// programs publish does.
func (s *Session) touchesOurs(raw *sqlite3.Stmt) bool {
	return s.shared.mark(raw).reads || s.shared.rebuilt
}

// before calls Before, which the end of the program's context does not interrupt. What that inserts does
// not show in last_insert_rowid().
func (s *Session) before() error {
	if s.Before == nil {
		return nil
	}
	last, up := s.shared.conn.LastInsertRowID(), s.shared.guard.up
	s.shared.guard.up = false
	s.shared.conn.SetInterrupt(context.Background())
	err := s.Before()
	s.shared.guard.up = up
	s.shared.conn.SetLastInsertRowID(last)
	if err == nil {
		err = s.until.Err()
	}
	if err == nil {
		s.shared.conn.SetInterrupt(&s.until)
	}
	return err
}

// unusable returns why nothing runs any more, or nil.
func (s *Session) unusable() error {
	switch {
	case s.over != nil:
		return s.over
	case s.cut.Load():
		return context.DeadlineExceeded
	case s.lost && s.own != nil:
		return errRolledBack
	case s.lost:
		return ErrLost
	case s.broken != nil:
		return s.broken
	}
	return nil
}

// ErrLost is returned by a session after one of its statements has rolled back the transaction.
// Whatever ran now would be a transaction of its own.
var ErrLost = errors.New("a statement before has rolled back the transaction of this function: return its error")

// note looks at what a statement has come to.
func (s *Session) note(err error) {
	if err != nil && s.broken == nil && breaks(err) {
		s.broken = err
		if s.own != nil && errors.Is(err, sqlite3.IOERR) {
			s.own.file.Doubt()
		}
	}
	s.lost = s.lost || (s.within || s.own != nil && s.own.mode != none) && s.shared.conn.GetAutocommit()
}

// until is the context of what runs: it ends with that of the program, and with the session. The
// program's own context may be any code, which may block or panic. So nobody asks it while the session's
// lock is held.
type until struct {
	session *Session
	done    <-chan struct{} // of the program's context
}

var _ context.Context = (*until)(nil)

// Deadline implements [context.Context].
func (u *until) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements [context.Context].
func (u *until) Done() <-chan struct{} { return u.done }

// Value implements [context.Context].
func (u *until) Value(any) any { return nil }

// Err implements [context.Context]. SQLite asks for it now and then.
func (u *until) Err() error {
	if u.session.cut.Load() {
		return context.DeadlineExceeded
	}
	select {
	case <-u.done:
		return errEnded
	default:
		return nil
	}
}

// errEnded stands for the error of the program's context.
var errEnded = errors.New("its context has ended")

// with runs f, which uses the connection for one statement of the program, until ctx ends.
func (s *Session) with(ctx context.Context, f func() error) error {
	ended, done := ctx.Err(), ctx.Done() // before the session's lock: see until
	if s.own != nil {
		adopt, inner := s.own.file.Adopting(ctx), f
		f = func() error {
			s.adopt = adopt
			return inner()
		}
	}
	err := s.locked(ended, done, f)
	if errors.Is(err, errEnded) {
		return cmp.Or(ctx.Err(), context.Canceled)
	}
	return err
}

// locked runs f. What the driver panics with, for want of memory, is an error. ended is what the
// context has said before.
func (s *Session) locked(ended error, done <-chan struct{}, f func() error) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unusable(); err != nil {
		return err
	}
	if ended != nil { // without a word to SQLite, which might roll back
		return ended
	}
	s.until = until{s, done}
	s.shared.conn.SetInterrupt(&s.until)
	s.shared.guard.raise(s.within)
	length := s.shared.limitLength(s.Patience > 0)
	defer func() {
		s.shared.conn.Limit(sqlite3.LIMIT_LENGTH, length)
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", ErrPanicked, cause)
			s.broken = err
		}
		if refused := s.shared.guard.lower(); refused != nil && errors.Is(err, sqlite3.AUTH) {
			err = refused
		}
		s.schema = s.schema || s.shared.guard.changes
		s.shared.conn.SetInterrupt(context.Background())
		s.note(err)
		if s.own != nil {
			s.own.settle(err != nil)
		}
	}()
	return f()
}

// ErrPanicked is wrapped by the error of a statement during which the driver has panicked, for want of
// memory. Nothing runs in the session after that.
var ErrPanicked = errors.New("the driver of SQLite has panicked")

// breaks tells whether an error is about the disk and not about the statement.
func breaks(err error) bool { return errors.Is(err, sqlite3.FULL) || errors.Is(err, sqlite3.IOERR) }

var (
	_ driver.Conn               = (*Session)(nil)
	_ driver.ConnPrepareContext = (*Session)(nil)
	_ driver.ConnBeginTx        = (*Session)(nil)
	_ driver.ExecerContext      = (*Session)(nil)
	_ driver.QueryerContext     = (*Session)(nil)
	_ driver.NamedValueChecker  = (*Session)(nil)
)

// Begin implements [driver.Conn].
func (s *Session) Begin() (driver.Tx, error) {
	return s.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements [driver.ConnBeginTx]. The transaction is there already, and who has begun
// it ends it.
func (s *Session) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return given{}, nil
}

// given is a transaction that others end.
type given struct{}

func (given) Commit() error   { return nil }
func (given) Rollback() error { return nil }

// Close implements [driver.Conn].
func (s *Session) Close() error { return nil }
