package sqlite

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	// listedBytes is how long a payload may be that a list shows, and that is searched for texts. Of a longer one lists
	// show so many bytes as shownBytes.
	listedBytes = 1 << 20
	shownBytes  = 1 << 10
)

// bounded is the SQL of a column of busgen_log for who reads it with a longValue: the value, or the number of its bytes
// if it is long.
func bounded(column string) string {
	return fmt.Sprintf("CASE WHEN octet_length(%[1]s) > %[2]d THEN octet_length(%[1]s) ELSE %[1]s END", column, inlineBytes)
}

// longValue is the value of a bounded column. Each look at a column is a call of SQLite, so it is read once.
type longValue struct {
	bytes []byte // nil if it is long
	size  int64
	long  bool
}

func columnOf(s *sqlite3.Stmt, column int) longValue {
	if s.ColumnType(column) == sqlite3.INTEGER {
		return longValue{size: s.ColumnInt64(column), long: true}
	}
	value := s.ColumnBlob(column, nil)
	return longValue{bytes: value, size: int64(len(value))}
}

// read returns the whole value, of a column of the row seq of busgen_log.
func (v longValue) read(c *database.Conn, name string, seq int64) ([]byte, error) {
	if !v.long {
		return v.bytes, nil
	}
	value := make([]byte, v.size)
	return value, c.Beginning("busgen_log", name, seq, value)
}

// bytesOf returns how many bytes the value of a bounded column has, without copying it.
func bytesOf(s *sqlite3.Stmt, column int) int64 {
	if s.ColumnType(column) == sqlite3.INTEGER {
		return s.ColumnInt64(column)
	}
	return int64(len(s.ColumnRawBlob(column)))
}

// readBounded sets the payload and the metadata of r, whose Seq is set, from two bounded columns, of which payload is the
// first. What is too long makes r unreadable.
func readBounded(c *database.Conn, s *sqlite3.Stmt, payload int, r *engine.Record) (err error) {
	one, other := columnOf(s, payload), columnOf(s, payload+1)
	if r.Unreadable = cmp.Or(tooLong("payload", one.size), tooLong("metadata", other.size)); r.Unreadable != nil {
		return nil
	}
	if r.Payload, err = one.read(c, "payload", r.Seq); err == nil {
		r.Metadata, err = other.read(c, "metadata", r.Seq)
	}
	return err
}

// tooLong returns the error of a value that is not read, or nil.
func tooLong(name string, size int64) error {
	if size <= readableBytes {
		return nil
	}
	return fmt.Errorf("the %s of this event has %s, and no more than %s are read: another program has written it into the file",
		name, words.Bytes(size), words.Bytes(readableBytes))
}

// contents are the payload and the metadata of an event as people see them.
type contents struct {
	payload, metadata json.RawMessage
	size              int64 // of the payload, if that is its beginning only; else 0
}

// readContents reads the payload and the metadata of the row seq. Of a payload with more than most bytes it
// returns the beginning, as a text in JSON, and no metadata that is longer than the bus writes any.
func readContents(c *database.Conn, payload, metadata longValue, seq, most int64) (read contents, err error) {
	if metadata.size <= engine.MaxMetadata {
		if read.metadata, err = metadata.read(c, "metadata", seq); err != nil {
			return read, err
		}
	}
	if payload.size <= most {
		read.payload, err = payload.read(c, "payload", seq)
		return read, err
	}
	beginning := make([]byte, shownBytes)
	if err := c.Beginning("busgen_log", "payload", seq, beginning); err != nil {
		return read, err
	}
	read.size = payload.size
	read.payload, err = json.Marshal(strings.ToValidUTF8(string(beginning), "") + "… (the beginning of " + words.Bytes(payload.size) + ")")
	return read, err
}

// containing is the SQL of whether the payload or the metadata of l contains the text that sql is, where it may be seen.
func containing(sql string, seen bool) string {
	return "(" + inListed("l.payload", sql, seen) + " OR " + inListed("l.metadata", sql, seen) + ")"
}

// inListed is the SQL of whether a column of l that is not long contains the text.
func inListed(column, sql string, seen bool) string {
	return fmt.Sprintf("octet_length(%s) <= %d AND %s", column, listedBytes, instr(column, sql, seen))
}

// inErrors is the SQL of whether the error of an attempt at l contains the text. The condition chooses attempts a.
func inErrors(condition, sql string, seen bool) string {
	return "EXISTS (SELECT 1 FROM busgen_attempts a WHERE a.seq = l.seq" + condition + " AND " + instr("a.error", sql, seen) + ")"
}

// copies are bytes of several events in one piece of memory, which is allocated once. Who keeps those of one event
// keeps the piece, so it is small.
type copies []byte

const copiesAtOnce = 4096

// of returns a copy of data, which is nil if that is empty, when there are to be copies for more events, this one
// included. A copy of much has memory of its own.
func (c *copies) of(data []byte, more int) []byte {
	switch {
	case len(data) == 0:
		return nil
	case len(data) > copiesAtOnce/4:
		return bytes.Clone(data)
	case len(data) > cap(*c)-len(*c):
		*c = make([]byte, 0, min(copiesAtOnce, more*len(data)))
	}
	start := len(*c)
	*c = append(*c, data...)
	return slices.Clip((*c)[start:])
}
