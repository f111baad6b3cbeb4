package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Events can be part of a transaction that the program has begun on a connection of its
// own. To the writer they are those of another process: it looks at the file.

// joiner stores events within transactions of the program.
type joiner struct {
	*ground
	lookout *lookout
}

// Join implements [engine.Joiner].
func (j *joiner) Join(ctx context.Context, x any, records []engine.Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// SQLite rolls back a transaction of which a statement that writes is interrupted.
	ctx = context.WithoutCancel(ctx)
	s, own, err := statementsOf(ctx, x)
	if err != nil {
		return j.joinError(err)
	}
	if own != nil { // the writer will be told when it commits
		return j.joinError(own.Join(ctx, func(conn *sqlite3.Conn) error { return j.store(native{conn}, records) }))
	}
	if err := j.store(s, records); err != nil {
		return j.joinError(err)
	}
	last := &records[len(records)-1]
	j.lookout.expect(last.Seq, last.ID)
	return nil
}

func (j *joiner) store(s statements, records []engine.Record) error {
	if err := j.mayJoin(s); err != nil {
		return err
	}
	return joinAll(s, records)
}

// joinError says what a statement on somebody else's connection has failed with.
func (j *joiner) joinError(err error) error {
	if err == nil {
		return nil
	}
	var join *event.JoinError
	switch {
	case errors.As(err, &join), errors.Is(err, sql.ErrTxDone), errors.Is(err, sql.ErrConnDone):
		return err
	case errors.Is(err, sqlite3.READONLY):
		return &event.JoinError{Problem: "the transaction, or its connection, can only read: begin one that can write"}
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.FULL), errors.Is(err, sqlite3.IOERR):
		return fault.Wrap("append to", j.path, err)
	}
	return err
}

// mayJoin makes sure that events can be stored with these statements. It only reads.
func (j *joiner) mayJoin(s statements) error {
	// Plain pragmas: a table of the program may have the name of the function that returns the same.
	var number int64
	var name, path string
	if err := s.row("PRAGMA database_list", nil, &number, &name, &path); err != nil { // main is the first
		return err
	}
	if !j.isFile(path) {
		return &event.JoinError{Problem: fmt.Sprintf("the transaction is on the file %q, and the bus uses %s: open the same file", path, j.path)}
	}
	var version, readsOnly, hiding int64
	err := s.row("PRAGMA user_version", nil, &version)
	if err == nil {
		err = s.row("PRAGMA query_only", nil, &readsOnly)
	}
	if err == nil {
		err = s.row(`SELECT count(*) FROM sqlite_temp_schema
			WHERE lower(name) IN ('busgen_types', 'busgen_log', 'busgen_dedupe', 'busgen_routes', 'busgen_deliveries', 'busgen_subscriptions', 'busgen_express')`, nil, &hiding)
	}
	switch {
	case err != nil:
		return err
	case version != tables.SchemaVersion:
		return &event.JoinError{Problem: fmt.Sprintf("the file has schema version %d, and this program works with version %d: "+
			"another program has upgraded it, so update this one", version, tables.SchemaVersion)}
	case readsOnly != 0:
		return &event.JoinError{Problem: "the transaction can only read: begin one that can write"}
	case hiding != 0:
		return &event.JoinError{Problem: "its connection has a temporary table with the name of one of the bus: give it another name"}
	}
	return nil
}

// isFile tells whether path is that of the log.
func (j *joiner) isFile(path string) bool {
	if path == j.path {
		return true
	}
	ours, err := os.Stat(j.path)
	if err != nil {
		return false
	}
	theirs, err := os.Stat(path)
	return err == nil && os.SameFile(ours, theirs)
}

// joinAll stores all records or, on an error, none.
func joinAll(s statements, records []engine.Record) error {
	if err := s.exec("SAVEPOINT " + joinSavepoint); err != nil {
		return err
	}
	for i := range records {
		if err := join(s, &records[i]); err != nil {
			// If SQLite has rolled back all of the transaction, there is no savepoint any more.
			s.exec("ROLLBACK TO " + joinSavepoint)
			s.exec("RELEASE " + joinSavepoint)
			return err
		}
	}
	return s.exec("RELEASE " + joinSavepoint)
}

const joinSavepoint = "busgen_in"

// join stores one record, as [writer.insertSpecial] does.
func join(s statements, r *engine.Record) error {
	var typeID int64
	err := s.row("SELECT id FROM busgen_types WHERE written = ? AND version = ?", []any{r.Type, int64(max(r.Version, 1))}, &typeID)
	if errors.Is(err, errNoRow) {
		return &event.JoinError{Problem: fmt.Sprintf("the file does not know version %d of the event type %s: close the bus and open it again",
			max(r.Version, 1), r.Type)}
	}
	if err != nil {
		return err
	}
	if r.Dedupe != nil {
		if err := joinKey(s, r); err != nil || r.Duplicate {
			return err
		}
	}
	var metadata any
	if r.Metadata != nil {
		metadata = textOf(r.Metadata)
	}
	err = s.exec(insertStatements[1], r.ID[:], typeID, textOf(r.Payload), metadata, r.CreatedAt.UnixMicro())
	if err != nil {
		return err
	}
	if err := s.row("SELECT max(seq) FROM busgen_log", nil, &r.Seq); err != nil {
		return err
	}
	if d := r.Dedupe; d != nil {
		digest, of := r.KeyDigest(), typeID
		if d.Scope != "" {
			if of, err = joinScope(s, r.KeyType()); err != nil {
				return err
			}
		}
		if err := s.exec(insertKey, of, d.Key, r.Seq, r.ID[:], digest[:], d.Expires.UnixMicro()); err != nil {
			return err
		}
	}
	if r.Due.IsZero() {
		if r.Express == 0 {
			return nil
		}
		return joinExpress(s, r)
	}
	if err := s.exec(updateDue, r.Due.UnixMicro(), r.Seq); err != nil {
		return err
	}
	return s.exec(insertWaiting, r.Seq, dueOf(r).UnixMicro(), typeID)
}

// joinKey makes a record a duplicate if its key is remembered.
func joinKey(s statements, r *engine.Record) error {
	var id, digest, stored []byte
	var seq, version int64
	own := r.KeyDigest()
	err := s.row(selectKey, []any{r.KeyType(), r.Dedupe.Key, time.Now().UnixMicro(), own[:]}, &id, &seq, &digest, &version, &stored)
	if errors.Is(err, errNoRow) {
		return nil
	}
	if err != nil {
		return err
	}
	first, err := uuid.FromBytes(id)
	if err != nil {
		return err
	}
	same, err := isSame(r, first, int(version), digest, stored)
	if err != nil {
		return err
	}
	if !same {
		return &event.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: first}
	}
	r.ID, r.Seq, r.Duplicate = first, seq, true
	return nil
}

// joinScope returns the number of the type to which the keys of a scope belong. It has no events, and so no
// routes.
func joinScope(s statements, name string) (typeID int64, err error) {
	if err = s.exec("INSERT OR IGNORE INTO busgen_types (name, written, version) VALUES (?1, ?1, 1)", name); err != nil {
		return 0, err
	}
	err = s.row("SELECT id FROM busgen_types WHERE written = ? AND version = 1", []any{name}, &typeID)
	return typeID, err
}

// Holds implements [engine.Joiner].
func (j *joiner) Holds(_ context.Context, seq int64, id uuid.UUID) (bool, error) {
	held, err := valueOf(j.ground, func(c *database.Conn) (bool, error) { return holds(c, seq, id) })
	return held, fault.Wrap("read", j.path, err)
}

func holds(c *database.Conn, seq int64, id uuid.UUID) (bool, error) {
	n, err := c.Int64("SELECT count(*) FROM busgen_log WHERE seq = ? AND id = ?", seq, id[:])
	return n > 0, err
}

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
