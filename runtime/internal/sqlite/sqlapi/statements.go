package sqlapi

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/ncruces/go-sqlite3"
)

// Prepare implements [driver.Conn].
func (s *Session) Prepare(query string) (driver.Stmt, error) {
	return s.PrepareContext(context.Background(), query)
}

// PrepareContext implements [driver.ConnPrepareContext].
func (s *Session) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	prepared := &stmt{session: s, query: query}
	err := s.with(ctx, func() error {
		raw, err := s.shared.take(query)
		if errors.Is(err, errNothing) {
			return nil
		}
		if err == nil {
			prepared.inputs = inputs(raw)
			s.shared.give(query, raw)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return prepared, nil
}

// ExecContext implements [driver.ExecerContext].
func (s *Session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return s.exec(ctx, query, len(args), func(raw *sqlite3.Stmt) error { return bindAll(raw, args) })
}

// Exec runs a statement with values that [IsPlain] is true for. It is ExecContext without
// what database/sql does before.
func (s *Session) Exec(ctx context.Context, query string, args []any) (driver.Result, error) {
	return s.exec(ctx, query, len(args), func(raw *sqlite3.Stmt) error { return bindPlain(raw, args) })
}

// exec runs a statement with as many values, which bind gives it.
func (s *Session) exec(ctx context.Context, query string, values int, bind func(raw *sqlite3.Stmt) error) (driver.Result, error) {
	var done result
	err := s.with(ctx, func() error {
		s.done = result{}
		raw, err := s.shared.take(query)
		several := values == 0 && errors.Is(err, errSeveral)
		if err == nil {
			defer s.shared.give(query, raw)
		}
		if err == nil && s.touchesOurs(raw) || several {
			if failed := s.before(); failed != nil {
				return failed
			}
		}
		before := s.shared.conn.TotalChanges()
		switch {
		case values == 0 && errors.Is(err, errNothing):
			return nil
		case err == nil:
			if err = bind(raw); err == nil {
				err = s.run(raw, before)
			}
		case several:
			err = s.script(query, before)
		}
		done = s.done
		return err
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// run runs a statement to its end, and notes what it and those before it have done.
func (s *Session) run(raw *sqlite3.Stmt, before int64) (err error) {
	defer s.ran(raw)
	if s.own == nil {
		return s.toEnd(raw, before)
	}
	if err := s.own.mayWrite(&s.until, raw.ReadOnly()); err != nil {
		return err
	}
	return s.own.checked(raw, func() error { return s.toEnd(raw, before) })
}

func (s *Session) toEnd(raw *sqlite3.Stmt, before int64) error {
	err := raw.Exec()
	s.done = s.shared.result(before)
	return err
}

// begin runs a statement up to its first row, if there is one.
func (s *Session) begin(raw *sqlite3.Stmt) (more bool, err error) {
	defer s.ran(raw)
	if s.own != nil {
		if err := s.own.mayWrite(&s.until, true); err != nil {
			return false, err
		}
	}
	if raw.Step() { // which prepares anew what is older than the schema
		return true, nil
	}
	return false, raw.Err()
}

// ran notes what a statement that has run does.
func (s *Session) ran(raw *sqlite3.Stmt) {
	s.shared.prepared(raw) // it may have been prepared anew
	m := s.shared.mark(raw)
	s.published = s.published || m.publishes
	s.shared.rebuilt = s.shared.rebuilt || m.rebuilds
}

// script runs several statements, one after the other.
func (s *Session) script(text string, before int64) error {
	for !blank(text) {
		raw, tail, err := s.shared.conn.Prepare(text)
		if err != nil {
			return err
		}
		if raw != nil {
			s.shared.prepared(raw)
			if err := s.runOnce(raw, before); err != nil {
				return err
			}
		}
		text = tail
	}
	return nil
}

// runOnce runs a statement that is not kept.
func (s *Session) runOnce(raw *sqlite3.Stmt, before int64) error {
	defer s.shared.close(raw)
	return s.run(raw, before)
}

// QueryContext implements [driver.QueryerContext].
func (s *Session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	var found *rows
	err := s.with(ctx, func() (err error) {
		found, err = s.query(query, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	found.ctx = ctx
	return found, nil
}

func (s *Session) query(query string, args []driver.NamedValue) (*rows, error) {
	raw, err := s.shared.take(query)
	if len(args) == 0 && errors.Is(err, errNothing) {
		return &rows{closed: true, session: s}, nil
	}
	if err != nil {
		return nil, err
	}
	kept := false
	defer func() {
		if !kept { // also when the driver panics
			s.shared.give(query, raw)
		}
	}()
	if s.touchesOurs(raw) {
		err = s.before()
	}
	if err == nil {
		err = bindAll(raw, args)
	}
	if err != nil {
		return nil, err
	}
	if s.own != nil && !raw.ReadOnly() {
		kept = true
		return s.queryAll(query, raw)
	}
	more, err := s.begin(raw)
	if err != nil {
		return nil, err
	}
	r := newRows(s, query, raw, more)
	kept = true
	if s.open == nil {
		s.open = map[*rows]struct{}{}
	}
	s.open[r] = struct{}{}
	return r, nil
}

// queryAll reads all rows of a query that writes now, so that the transaction of the statement ends.
func (s *Session) queryAll(query string, raw *sqlite3.Stmt) (r *rows, err error) {
	defer s.shared.give(query, raw)
	defer s.ran(raw)
	if err := s.own.mayWrite(&s.until, false); err != nil {
		return nil, err
	}
	err = s.own.checked(raw, func() error {
		more := raw.Step() // which prepares anew what is older than the schema
		if err := raw.Err(); !more && err != nil {
			return err
		}
		r = newRows(s, query, raw, more)
		return r.readAll()
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// CheckNamedValue implements [driver.NamedValueChecker].
func (s *Session) CheckNamedValue(value *driver.NamedValue) error { return s.check(value) }

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

func (p *stmt) CheckNamedValue(value *driver.NamedValue) error { return p.session.check(value) }

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
