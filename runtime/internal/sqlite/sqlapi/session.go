package sqlapi

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
)

// Session is a time during which a program may use a connection through database/sql. It
// implements [driver.Conn]. Closing it does nothing: it lasts until [Session.End].
type Session struct {
	shared *Shared
	within bool // a transaction of others

	cut atomic.Bool // what runs is to be interrupted

	mu     sync.Mutex // held while the connection is used
	over   error      // what calls return once the session has ended
	broken error      // a statement has failed because of the disk
	open   map[*rows]struct{}
}

// Within begins a session inside a transaction, which the session can neither begin nor end.
func (s *Shared) Within() *Session { return &Session{shared: s, within: true} }

// Interrupt ends the statement that runs, and those that come.
func (s *Session) Interrupt() { s.cut.Store(true) }

// End ends the session: it waits until the statement at hand has ended, and resets those
// that were left. All that is asked of the session later returns err. It returns the error
// of a statement that has failed for want of space or of a sound disk.
func (s *Session) End(err error) (broken error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.broken
	}
	s.over = err
	for r := range s.open {
		s.shared.give(r.query, r.stmt)
	}
	s.open = nil
	return s.broken
}

// Do runs f while no statement of the session runs, without the guard. It returns the
// session's error if it has ended.
func (s *Session) Do(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over != nil {
		return s.over
	}
	return f()
}

// until is a context that also ends with the session. SQLite asks it for nothing but Err.
type until struct {
	context.Context
	session *Session
}

func (u *until) Err() error {
	if u.session.cut.Load() {
		return context.DeadlineExceeded
	}
	return u.Context.Err()
}

// enter is called before the connection is used, for one statement.
func (s *Session) enter(ctx context.Context) error {
	s.mu.Lock()
	if s.over != nil {
		s.mu.Unlock()
		return s.over
	}
	if err := ctx.Err(); err != nil { // without a word to SQLite, which might roll back
		s.mu.Unlock()
		return err
	}
	s.shared.conn.SetInterrupt(&until{ctx, s})
	s.shared.guard.raise(s.within)
	return nil
}

// leave is called after it, with what came of it, and says what to tell the program.
func (s *Session) leave(err error) error {
	if refused := s.shared.guard.lower(); refused != nil && errors.Is(err, sqlite3.AUTH) {
		err = refused
	}
	s.shared.conn.SetInterrupt(context.Background())
	if err != nil && s.broken == nil && breaks(err) {
		s.broken = err
	}
	s.mu.Unlock()
	return err
}

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

// Prepare implements [driver.Conn].
func (s *Session) Prepare(query string) (driver.Stmt, error) {
	return s.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (s *Session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	raw, err := s.shared.take(query)
	prepared := &stmt{session: s, query: query}
	if err == nil {
		prepared.inputs = inputs(raw)
		s.shared.give(query, raw)
	}
	return prepared, s.leave(err)
}

// ExecContext implements [driver.ExecerContext].
func (s *Session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	result, err := s.exec(query, args)
	return result, s.leave(err)
}

func (s *Session) exec(query string, args []driver.NamedValue) (driver.Result, error) {
	raw, err := s.shared.take(query)
	if errors.Is(err, errSeveral) && len(args) == 0 {
		err = s.shared.conn.Exec(query)
		return s.shared.result(), err
	}
	if err != nil {
		return nil, err
	}
	defer s.shared.give(query, raw)
	if err := bindAll(raw, args); err != nil {
		return nil, err
	}
	if err := raw.Exec(); err != nil {
		return nil, err
	}
	return s.shared.result(), nil
}

// QueryContext implements [driver.QueryerContext].
func (s *Session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	found, err := s.query(ctx, query, args)
	if err = s.leave(err); err != nil {
		return nil, err
	}
	return found, nil
}

func (s *Session) query(ctx context.Context, query string, args []driver.NamedValue) (*rows, error) {
	raw, err := s.shared.take(query)
	if err != nil {
		return nil, err
	}
	if err := bindAll(raw, args); err != nil {
		s.shared.give(query, raw)
		return nil, err
	}
	r := newRows(ctx, s, query, raw)
	if s.open == nil {
		s.open = map[*rows]struct{}{}
	}
	s.open[r] = struct{}{}
	return r, nil
}

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

// CheckNamedValue implements [driver.NamedValueChecker].
func (s *Session) CheckNamedValue(value *driver.NamedValue) error { return check(value) }

// stmt is a text that was prepared once. Each use takes a statement of its own, so that
// rows of an earlier use go on.
type stmt struct {
	session *Session
	query   string
	inputs  int
}

var (
	_ driver.StmtExecContext   = (*stmt)(nil)
	_ driver.StmtQueryContext  = (*stmt)(nil)
	_ driver.NamedValueChecker = (*stmt)(nil)
)

func (p *stmt) Close() error  { return nil }
func (p *stmt) NumInput() int { return p.inputs }

func (p *stmt) CheckNamedValue(value *driver.NamedValue) error { return check(value) }

func (p *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return p.session.ExecContext(ctx, p.query, args)
}

func (p *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return p.session.QueryContext(ctx, p.query, args)
}

// Exec implements [driver.Stmt].
func (p *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return p.ExecContext(context.Background(), numbered(args))
}

// Query implements [driver.Stmt].
func (p *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return p.QueryContext(context.Background(), numbered(args))
}
