package sqlapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// Shared is a connection with statements that stay prepared for programs, and a guard. It
// belongs to one goroutine at a time, as the connection does.
type Shared struct {
	conn  *sqlite3.Conn
	guard *Guard

	idle map[string][]idleStmt // by their text
	kept int                   // how many there are

	marks map[*sqlite3.Stmt]mark // what the guard has seen in them, if anything

	used uint64 // counts uses, to find those that are used least

	rebuilt bool // the schema has changed: statements may do other things than their marks say
}

// maxKept is how many statements stay prepared.
const maxKept = 256

// idleStmt is a prepared statement that nobody uses.
type idleStmt struct {
	*sqlite3.Stmt
	used uint64
}

// Share makes a connection usable for sessions. It sets the authorizer of the connection.
func Share(conn *sqlite3.Conn, guard *Guard) (*Shared, error) {
	s := &Shared{conn: conn, guard: guard, idle: map[string][]idleStmt{}}
	if err := conn.SetAuthorizer(guard.authorize); err != nil {
		return nil, err
	}
	return s, nil
}

// Renew forgets the statements if the schema was changed, and otherwise does nothing. Nobody uses any.
func (s *Shared) Renew() {
	if s.rebuilt {
		s.rebuilt = false
		s.Close()
	}
}

// Rebuilt says that others have changed the schema.
func (s *Shared) Rebuilt() { s.rebuilt = true }

// Close finalizes the statements. The connection stays open.
func (s *Shared) Close() error {
	var errs []error
	for _, list := range s.idle {
		for _, one := range list {
			errs = append(errs, s.close(one.Stmt))
		}
	}
	clear(s.idle)
	s.kept = 0
	return errors.Join(errs...)
}

// maxLength is how long a value can be in a transaction with a time limit. To write one of a gigabyte
// is one step, which nothing interrupts.
const maxLength = 64 << 20

// limitLength sets how long a value can be, and returns what it was.
func (s *Shared) limitLength(limited bool) (before int) {
	if !limited {
		return s.conn.Limit(sqlite3.LIMIT_LENGTH, -1)
	}
	return s.conn.Limit(sqlite3.LIMIT_LENGTH, maxLength)
}

// errSeveral is the error for several statements where only one can be.
var errSeveral = errors.New("several statements at once cannot be prepared, have parameters or return rows: run them one by one")

// errNothing is the error for a text of comments and white space. To run it is none: there is
// nothing to do.
var errNothing = errors.New("there is no statement in this text")

// take returns a prepared statement for one text.
func (s *Shared) take(query string) (*sqlite3.Stmt, error) {
	if list := s.idle[query]; len(list) > 0 {
		last := list[len(list)-1]
		s.idle[query] = list[:len(list)-1]
		s.kept--
		return last.Stmt, nil
	}
	if at := strings.IndexByte(query, 0); at >= 0 {
		return nil, fmt.Errorf("the text of the statement has a NUL at byte %d, where SQLite would end it: remove that, or give the value as a parameter", at)
	}
	s.guard.unnote()
	stmt, tail, err := s.conn.PrepareFlags(query, sqlite3.PREPARE_PERSISTENT)
	if err != nil {
		return nil, err
	}
	if !blank(tail) {
		stmt.Close()
		return nil, errSeveral
	}
	if stmt == nil {
		return nil, errNothing
	}
	s.prepared(stmt)
	return stmt, nil
}

// prepared notes what the guard has seen while a statement was prepared.
func (s *Shared) prepared(stmt *sqlite3.Stmt) {
	g := s.guard
	seen := mark{publishes: g.published, alters: g.changes, reads: g.reads, rebuilds: g.rebuilds}
	if seen == (mark{}) {
		return
	}
	if s.marks == nil {
		s.marks = map[*sqlite3.Stmt]mark{}
	}
	m := s.marks[stmt]
	s.marks[stmt] = mark{m.publishes || seen.publishes, m.alters || seen.alters, m.reads || seen.reads, m.rebuilds || seen.rebuilds}
	g.unnote()
}

// mark is what the guard has seen in a statement.
type mark struct {
	publishes bool // it writes to the view outbox
	alters    bool // it can make or change a table
	reads     bool // it reads what is the bus's
	rebuilds  bool // it changes the schema
}

// mark returns what the guard has seen in a statement.
func (s *Shared) mark(stmt *sqlite3.Stmt) mark {
	if len(s.marks) == 0 {
		return mark{}
	}
	return s.marks[stmt]
}

// close finalizes a statement.
func (s *Shared) close(stmt *sqlite3.Stmt) (err error) {
	defer database.Recovered(&err)
	delete(s.marks, stmt)
	return stmt.Close()
}

// give takes a statement back, for the next who needs it.
func (s *Shared) give(query string, stmt *sqlite3.Stmt) {
	// What the last use failed with was reported to who used it.
	database.Quietly(func() {
		defer stmt.ClearBindings()
		stmt.Reset()
	})
	if s.kept >= maxKept {
		s.forget()
	}
	s.used++
	s.idle[query] = append(s.idle[query], idleStmt{stmt, s.used})
	s.kept++
}

// forget finalizes the statement that was used least recently.
func (s *Shared) forget() {
	oldest := ""
	var at uint64
	for query, list := range s.idle {
		if len(list) == 0 {
			delete(s.idle, query)
		} else if at == 0 || list[0].used < at {
			oldest, at = query, list[0].used
		}
	}
	list := s.idle[oldest]
	s.close(list[0].Stmt)
	s.idle[oldest] = list[1:]
	s.kept--
}

// blank tells whether nothing but white space, comments and semicolons is left of a text.
func blank(tail string) bool {
	for {
		tail = strings.TrimLeft(tail, " \t\n\f\r;")
		switch {
		case tail == "":
			return true
		case strings.HasPrefix(tail, "--"):
			_, tail, _ = strings.Cut(tail, "\n")
		case strings.HasPrefix(tail, "/*"):
			_, tail, _ = strings.Cut(tail[2:], "*/")
		default:
			return false
		}
	}
}
