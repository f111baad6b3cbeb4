package sqlite

import (
	"fmt"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/words"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

const (
	// inlineBytes is how long a payload may be that a statement hands over. SQLite reads what is longer into memory of
	// its own, twice, and leaves holes there that nothing fits into.
	inlineBytes = 256 << 10
	// readableBytes is how long a payload may be that is read at all. Publishers cannot store one of more than
	// [engine.MaxPayload], but a program that writes the file with SQLite itself can.
	readableBytes = 2 * engine.MaxPayload
	// pageBytes is how many bytes are read at once, unless one event has more.
	pageBytes = 4 << 20
)

// bounded is the SQL of a column of busgen_log for who reads it with a longValue: the value, or the number of its bytes
// if it is long.
func bounded(column string) string {
	return fmt.Sprintf("CASE WHEN octet_length(%[1]s) > %[2]d THEN octet_length(%[1]s) ELSE %[1]s END", column, inlineBytes)
}

// isLong tells whether a column that is bounded holds the number of bytes in the place of the value.
func isLong(s *sqlite3.Stmt, column int) bool { return s.ColumnType(column) == sqlite3.INTEGER }

// bytesOf returns how many bytes the value of a bounded column has.
func bytesOf(s *sqlite3.Stmt, column int) int64 {
	if isLong(s, column) {
		return s.ColumnInt64(column)
	}
	return int64(len(s.ColumnRawBlob(column)))
}

// readBounded sets the payload and the metadata of r, whose Seq is set, from two bounded columns, of which payload is the
// first. What is too long makes r unreadable.
func readBounded(c *database.Conn, s *sqlite3.Stmt, payload int, r *engine.Record) (err error) {
	for i, name := range []string{"payload", "metadata"} {
		if size := bytesOf(s, payload+i); size > readableBytes {
			r.Unreadable = fmt.Errorf("the %s of this event has %s, and no more than %s are read: another program has written it with SQLite",
				name, words.Bytes(size), words.Bytes(readableBytes))
			return nil
		}
	}
	if r.Payload, err = boundedValue(c, s, payload, "payload", r.Seq); err == nil {
		r.Metadata, err = boundedValue(c, s, payload+1, "metadata", r.Seq)
	}
	return err
}

// boundedValue returns the value of a bounded column of the row seq of busgen_log.
func boundedValue(c *database.Conn, s *sqlite3.Stmt, column int, name string, seq int64) ([]byte, error) {
	if !isLong(s, column) {
		return s.ColumnBlob(column, nil), nil
	}
	value := make([]byte, s.ColumnInt64(column))
	return value, c.Beginning("busgen_log", name, seq, value)
}
