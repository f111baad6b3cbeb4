package sqlapi

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// rows are what a query finds.
type rows struct {
	ctx     context.Context
	session *Session
	query   string
	stmt    *sqlite3.Stmt // not to be touched once the rows are closed or the session is over
	closed  bool
	gone    bool             // with the transaction
	first   bool             // the first row was found by the query
	more    bool             // and there is one
	read    [][]driver.Value // all that were found, if the statement has ended
	names   []string
	types   []string // as declared, in capital letters; empty for what is computed
}

var (
	_ driver.Rows                           = (*rows)(nil)
	_ driver.RowsColumnTypeDatabaseTypeName = (*rows)(nil)
	_ driver.RowsColumnTypeScanType         = (*rows)(nil)
)

func newRows(s *Session, query string, stmt *sqlite3.Stmt, more bool) *rows {
	n := stmt.ColumnCount()
	r := &rows{session: s, query: query, stmt: stmt, first: true, more: more, names: make([]string, n), types: make([]string, n)}
	for i := range n {
		r.names[i] = stmt.ColumnName(i)
		r.types[i] = strings.ToUpper(stmt.ColumnDeclType(i))
	}
	return r
}

// Columns implements [driver.Rows].
func (r *rows) Columns() []string { return r.names }

// Close implements [driver.Rows].
func (r *rows) Close() error {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.closed || s.over != nil {
		return nil
	}
	r.closed = true
	if _, open := s.open[r]; !open {
		return nil
	}
	delete(s.open, r)
	s.shared.give(r.query, r.stmt)
	return nil
}

// Next implements [driver.Rows].
func (r *rows) Next(values []driver.Value) error {
	return r.session.with(r.ctx, func() error { return r.next(values) })
}

func (r *rows) next(values []driver.Value) error {
	if r.gone {
		return sql.ErrTxDone
	}
	if r.closed {
		return io.EOF
	}
	if r.stmt == nil {
		if len(r.read) == 0 {
			return io.EOF
		}
		copy(values, r.read[0])
		r.read = r.read[1:]
		return nil
	}
	more := r.more
	if !r.first {
		more = r.stmt.Step()
	}
	if r.first = false; !more {
		if err := r.stmt.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	for i := range values {
		values[i] = r.value(i)
	}
	return nil
}

// readAll reads all rows, until the statement has ended.
func (r *rows) readAll() error {
	for {
		values := make([]driver.Value, len(r.names))
		switch err := r.next(values); err {
		case nil:
			r.read = append(r.read, values)
		case io.EOF:
			r.stmt = nil
			return nil
		default:
			return err
		}
	}
}

// value returns a column of the row at hand.
func (r *rows) value(i int) driver.Value {
	declared := r.types[i]
	switch r.stmt.ColumnType(i) {
	case sqlite3.INTEGER:
		n := r.stmt.ColumnInt64(i)
		if declared == "BOOLEAN" && (n == 0 || n == 1) {
			return n == 1
		}
		return asTime(declared, n)
	case sqlite3.FLOAT:
		return asTime(declared, r.stmt.ColumnFloat(i))
	case sqlite3.TEXT:
		text := r.stmt.ColumnText(i)
		if declared != "TEXT" {
			if t, ok := written(text); ok {
				return t
			}
		}
		return asTime(declared, text)
	case sqlite3.BLOB:
		return r.stmt.ColumnBlob(i, []byte{})
	}
	return nil
}

// asTime turns a value of a column that is declared to hold times into one, if it is one.
func asTime(declared string, value any) driver.Value {
	if holdsTimes(declared) {
		if t, err := sqlite3.TimeFormatAuto.Decode(value); err == nil {
			return t
		}
	}
	return value
}

func holdsTimes(declared string) bool {
	switch declared {
	case "DATE", "TIME", "DATETIME", "TIMESTAMP":
		return true
	}
	return false
}

// written returns the time whose text is exactly what storing it writes. Read into a
// string it gives the same text again.
func written(text string) (t time.Time, ok bool) {
	if len(text) < len("2006-01-02T15:04:05Z") || len(text) > len(time.RFC3339Nano) || text[4] != '-' || text[10] != 'T' {
		return t, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil && t.Format(time.RFC3339Nano) == text
}

// ColumnTypeDatabaseTypeName implements [driver.RowsColumnTypeDatabaseTypeName].
func (r *rows) ColumnTypeDatabaseTypeName(i int) string {
	name, _, _ := strings.Cut(r.types[i], "(")
	return strings.TrimSpace(name)
}

// ColumnTypeScanType implements [driver.RowsColumnTypeScanType]. SQLite checks declared types
// in strict tables only, so it says something for those that leave no doubt.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	switch declared := r.types[i]; {
	case declared == "INT", declared == "INTEGER":
		return reflect.TypeFor[int64]()
	case declared == "REAL":
		return reflect.TypeFor[float64]()
	case declared == "TEXT":
		return reflect.TypeFor[string]()
	case declared == "BLOB":
		return reflect.TypeFor[[]byte]()
	case declared == "BOOLEAN":
		return reflect.TypeFor[bool]()
	case holdsTimes(declared):
		return reflect.TypeFor[time.Time]()
	}
	return reflect.TypeFor[any]()
}
