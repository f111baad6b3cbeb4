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

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
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
	var join *engine.JoinError
	switch {
	case errors.As(err, &join), errors.Is(err, sql.ErrTxDone), errors.Is(err, sql.ErrConnDone):
		return err
	case errors.Is(err, sqlite3.READONLY):
		return &engine.JoinError{Problem: "the transaction, or its connection, can only read: begin one that can write"}
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
		return &engine.JoinError{Problem: fmt.Sprintf("the transaction is on the file %q, and the bus uses %s: open the same file", path, j.path)}
	}
	var version, readsOnly, hiding int64
	err := s.row("PRAGMA user_version", nil, &version)
	if err == nil {
		err = s.row("PRAGMA query_only", nil, &readsOnly)
	}
	if err == nil {
		err = s.row(`SELECT count(*) FROM sqlite_temp_schema
			WHERE lower(name) IN ('busgen_types', 'busgen_log', 'busgen_dedupe', 'busgen_routes', 'busgen_deliveries')`, nil, &hiding)
	}
	switch {
	case err != nil:
		return err
	case version != schemaVersion:
		return &engine.JoinError{Problem: fmt.Sprintf("the file has schema version %d, and this program works with version %d: "+
			"another program has upgraded it, so update this one", version, schemaVersion)}
	case readsOnly != 0:
		return &engine.JoinError{Problem: "the transaction can only read: begin one that can write"}
	case hiding != 0:
		return &engine.JoinError{Problem: "its connection has a temporary table with the name of one of the bus: give it another name"}
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
		return &engine.JoinError{Problem: fmt.Sprintf("the file does not know version %d of the event type %s: close the bus and open it again",
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
		return nil
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
		return &engine.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: first}
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
func (j *joiner) Holds(_ context.Context, seq int64, id uuid.UUID) (held bool, err error) {
	err = j.read(func(c *database.Conn) (err error) {
		held, err = holds(c, seq, id)
		return err
	})
	return held, fault.Wrap("read", j.path, err)
}

func holds(c *database.Conn, seq int64, id uuid.UUID) (bool, error) {
	n, err := c.Int64("SELECT count(*) FROM busgen_log WHERE seq = ? AND id = ?", seq, id[:])
	return n > 0, err
}
