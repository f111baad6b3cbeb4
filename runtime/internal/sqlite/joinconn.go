package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
)

// statements run on a connection of the program. What differs between database/sql and
// the driver's own interface ends here.
type statements interface {
	exec(query string, args ...any) error
	// row scans the first row into pointers to int64, string and []byte. The error is errNoRow
	// if there is none.
	row(query string, args []any, dest ...any) error
}

var errNoRow = sql.ErrNoRows

// statementsOf recognises what the program has begun a transaction with. own is the connection, if
// it is one of [Log.Connector].
func statementsOf(ctx context.Context, x any) (_ statements, own *sqlapi.Conn, _ error) {
	switch x := x.(type) {
	case *sql.Tx:
		if x == nil {
			break
		}
		own, err := recogniseTx(ctx, x)
		return throughSQL{ctx, x}, own, err
	case *sql.Conn:
		if x == nil {
			break
		}
		err := x.Raw(func(raw any) error {
			if raw, ok := raw.(*sqlapi.Conn); ok {
				own = raw
				return nil
			}
			native, ok := raw.(interface{ Raw() *sqlite3.Conn })
			if !ok {
				return otherDriver(fmt.Sprintf("%T", raw))
			}
			return underWay(native.Raw())
		})
		return throughSQL{ctx, x}, own, err
	case *sqlite3.Conn:
		if x == nil {
			break
		}
		return native{x}, nil, underWay(x)
	case nil:
		return nil, nil, &event.JoinError{Problem: "the transaction is nil"}
	default:
		return nil, nil, &event.JoinError{Problem: fmt.Sprintf("it is of type %T, which is none of *sql.Tx, *sql.Conn and *sqlite3.Conn", x)}
	}
	return nil, nil, &event.JoinError{Problem: fmt.Sprintf("the transaction is a nil %T", x)}
}

// recogniseTx makes sure that a transaction is of the driver. It shows nothing of itself, but
// only this driver takes such an argument, as a null. If its connection is one of [Log.Connector], it
// is told.
func recogniseTx(ctx context.Context, tx *sql.Tx) (*sqlapi.Conn, error) {
	var null bool
	var whose sqlapi.Whose
	err := tx.QueryRowContext(ctx, "SELECT ? IS NULL", sqlite3.Pointer(&whose)).Scan(&null)
	switch {
	case err == nil && null, errors.Is(err, sql.ErrTxDone), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, sqlite3.INTERRUPT):
		return whose.Conn, err
	case err == nil:
		return nil, otherDriver("its database/sql driver")
	case whose.Conn != nil:
		return nil, err
	}
	return nil, otherDriver(err.Error())
}

func otherDriver(what string) error {
	return &event.JoinError{Problem: fmt.Sprintf("it is not of the driver github.com/ncruces/go-sqlite3 (%s): two SQLite libraries that have the same file "+
		"open in one process can damage it, so use that driver, or publish from another process through the view outbox", what)}
}

// underWay makes sure that a connection has a transaction.
func underWay(c *sqlite3.Conn) (err error) {
	defer func() {
		if recover() != nil { // the driver does not ask whether there is a connection
			err = &event.JoinError{Problem: "the connection is closed"}
		}
	}()
	if c.GetAutocommit() {
		return &event.JoinError{Problem: "no transaction is under way on the connection: begin one, or publish with the bus itself"}
	}
	return nil
}

// throughSQL runs statements through database/sql.
type throughSQL struct {
	ctx context.Context
	db  interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
}

func (s throughSQL) exec(query string, args ...any) error {
	_, err := s.db.ExecContext(s.ctx, query, args...)
	return err
}

func (s throughSQL) row(query string, args []any, dest ...any) error {
	return s.db.QueryRowContext(s.ctx, query, args...).Scan(dest...)
}

// native runs statements on a connection of the driver.
type native struct{ conn *sqlite3.Conn }

func (n native) exec(query string, args ...any) error { return n.run(query, args, nil) }

func (n native) row(query string, args []any, dest ...any) error { return n.run(query, args, dest) }

func (n native) run(query string, args, dest []any) (err error) {
	defer database.Recovered(&err)
	s, _, err := n.conn.Prepare(query)
	if err != nil {
		return err
	}
	defer database.Quietly(func() { s.Close() })
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			err = s.BindNull(i + 1)
		case int64:
			err = s.BindInt64(i+1, v)
		case string:
			err = s.BindText(i+1, v)
		case []byte:
			err = s.BindBlob(i+1, v)
		default:
			err = fmt.Errorf("cannot bind a %T", arg)
		}
		if err != nil {
			return err
		}
	}
	if dest == nil {
		return s.Exec()
	}
	if !s.Step() {
		if err := s.Err(); err != nil {
			return err
		}
		return errNoRow
	}
	for i, to := range dest {
		switch to := to.(type) {
		case *int64:
			*to = s.ColumnInt64(i)
		case *string:
			*to = s.ColumnText(i)
		case *[]byte:
			*to = s.ColumnBlob(i, nil)
		}
	}
	return nil
}
