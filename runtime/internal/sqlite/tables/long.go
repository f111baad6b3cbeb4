package tables

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
	// InlineBytes is how long a payload may be that a statement hands over. SQLite reads what is longer into memory of
	// its own, twice, and leaves holes there that nothing fits into.
	InlineBytes = 256 << 10
	// ReadableBytes is how long a payload may be that is read at all. Publishers cannot store one of more than
	// [engine.MaxPayload], but a program that writes the file with SQLite itself can.
	ReadableBytes = 2 * engine.MaxPayload
	// PageBytes is how many bytes are read at once, unless one event has more.
	PageBytes = 4 << 20
	// ListedBytes is how long a payload may be that a list shows, and that is searched for texts. Of a longer one lists
	// show so many bytes as shownBytes.
	ListedBytes = 1 << 20
	shownBytes  = 1 << 10
)

// Bounded is the SQL of a column of busgen_log for who reads it with a longValue: the value, or the number of its bytes
// if it is long.
func Bounded(column string) string {
	return fmt.Sprintf("CASE WHEN octet_length(%[1]s) > %[2]d THEN octet_length(%[1]s) ELSE %[1]s END", column, InlineBytes)
}

// LongValue is the value of a bounded column. Each look at a column is a call of SQLite, so it is read once.
type LongValue struct {
	bytes []byte // nil if it is long
	Size  int64
	long  bool
}

func ColumnOf(s *sqlite3.Stmt, column int) LongValue {
	if s.ColumnType(column) == sqlite3.INTEGER {
		return LongValue{Size: s.ColumnInt64(column), long: true}
	}
	value := s.ColumnBlob(column, nil)
	return LongValue{bytes: value, Size: int64(len(value))}
}

// Read returns the whole value, of a column of the row seq of busgen_log.
func (v LongValue) Read(c *database.Conn, name string, seq int64) ([]byte, error) {
	if !v.long {
		return v.bytes, nil
	}
	value := make([]byte, v.Size)
	return value, c.Beginning("busgen_log", name, seq, value)
}

// BytesOf returns how many bytes the value of a bounded column has, without copying it.
func BytesOf(s *sqlite3.Stmt, column int) int64 {
	if s.ColumnType(column) == sqlite3.INTEGER {
		return s.ColumnInt64(column)
	}
	return int64(len(s.ColumnRawBlob(column)))
}

// ReadBounded sets the payload and the metadata of r, whose Seq is set, from two bounded columns, of which payload is the
// first. What is too long makes r unreadable.
func ReadBounded(c *database.Conn, s *sqlite3.Stmt, payload int, r *engine.Record) (err error) {
	one, other := ColumnOf(s, payload), ColumnOf(s, payload+1)
	if r.Unreadable = cmp.Or(TooLong("payload", one.Size), TooLong("metadata", other.Size)); r.Unreadable != nil {
		return nil
	}
	if r.Payload, err = one.Read(c, "payload", r.Seq); err == nil {
		r.Metadata, err = other.Read(c, "metadata", r.Seq)
	}
	return err
}

// TooLong returns the error of a value that is not read, or nil.
func TooLong(name string, size int64) error {
	if size <= ReadableBytes {
		return nil
	}
	return fmt.Errorf("the %s of this event has %s, and no more than %s are read: another program has written it into the file",
		name, words.Bytes(size), words.Bytes(ReadableBytes))
}

// contents are the payload and the metadata of an event as people see them.
type contents struct {
	Payload, Metadata json.RawMessage
	Size              int64 // of the payload, if that is its beginning only; else 0
}

// ReadContents reads the payload and the metadata of the row seq. Of a payload with more than most bytes it
// returns the beginning, as a text in JSON, and no metadata that is longer than the bus writes any.
func ReadContents(c *database.Conn, payload, metadata LongValue, seq, most int64) (read contents, err error) {
	if metadata.Size <= engine.MaxMetadata {
		if read.Metadata, err = metadata.Read(c, "metadata", seq); err != nil {
			return read, err
		}
	}
	if payload.Size <= most {
		read.Payload, err = payload.Read(c, "payload", seq)
		return read, err
	}
	beginning := make([]byte, shownBytes)
	if err := c.Beginning("busgen_log", "payload", seq, beginning); err != nil {
		return read, err
	}
	read.Size = payload.Size
	read.Payload, err = json.Marshal(strings.ToValidUTF8(string(beginning), "") + "… (the beginning of " + words.Bytes(payload.Size) + ")")
	return read, err
}

// Containing is the SQL of whether the payload or the metadata of l contains the text that sql is, where it may be seen.
func Containing(sql string, seen bool) string {
	return "(" + InListed("l.payload", sql, seen) + " OR " + InListed("l.metadata", sql, seen) + ")"
}

// InListed is the SQL of whether a column of l that is not long contains the text.
func InListed(column, sql string, seen bool) string {
	return fmt.Sprintf("octet_length(%s) <= %d AND %s", column, ListedBytes, Instr(column, sql, seen))
}

// InErrors is the SQL of whether the error of an attempt at l contains the text. The condition chooses attempts a.
func InErrors(condition, sql string, seen bool) string {
	return "EXISTS (SELECT 1 FROM busgen_attempts a WHERE a.seq = l.seq" + condition + " AND " + Instr("a.error", sql, seen) + ")"
}

// Copies are bytes of several events in one piece of memory, which is allocated once. Who keeps those of one event
// keeps the piece, so it is small.
type Copies []byte

const CopiesAtOnce = 4096

// Of returns a copy of data, which is nil if that is empty, when there are to be copies for more events, this one
// included. A copy of much has memory of its own.
func (c *Copies) Of(data []byte, more int) []byte {
	switch {
	case len(data) == 0:
		return nil
	case len(data) > CopiesAtOnce/4:
		return bytes.Clone(data)
	case len(data) > cap(*c)-len(*c):
		*c = make([]byte, 0, min(CopiesAtOnce, more*len(data)))
	}
	start := len(*c)
	*c = append(*c, data...)
	return slices.Clip((*c)[start:])
}

// Instr is the SQL of whether a text of event l contains the text that sql is. With seen, it is asked only of what
// contains it whether it may be seen there: what is shown of a payload was in it. Of a long payload nobody looks for the hidden values,
// so that nothing is found in the texts beside it.
func Instr(part, sql string, seen bool) string {
	within := fmt.Sprintf("instr(%s, %s) > 0", part, sql)
	if !seen {
		return within
	}
	return fmt.Sprintf("(%s AND octet_length(l.payload) <= %d AND %s((SELECT name FROM busgen_types WHERE id = l.type), "+
		"(SELECT version FROM busgen_types WHERE id = l.type), l.payload, %s, %s))", within, ListedBytes, Sees, part, sql)
}

// Sees is the SQL function that asks the [engine.Sight] of the filter of the statement.
const Sees = "busgen_sees"
