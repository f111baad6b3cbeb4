package database

import (
	"io"

	"github.com/ncruces/go-sqlite3"
)

// SQLite has one copy of a value in its memory to hand it over, and often two. What is long is read in pieces.

// pieceBytes is how many bytes are read at once.
const pieceBytes = 64 << 10

// Beginning reads the first bytes of a value of a row into data, or all of them. They take no memory of SQLite. It is
// for values that are texts or blobs, and read by their numbers of rows.
func (c *Conn) Beginning(table, column string, row int64, data []byte) (err error) {
	if c.panicked != nil {
		return c.panicked
	}
	defer c.Recovered(&err)
	value, err := c.OpenBlob("main", table, column, row, false)
	if err != nil {
		return c.disk.explain(err)
	}
	defer Quietly(func() { value.Close() })
	for len(data) > 0 {
		n, err := value.Read(data[:min(len(data), pieceBytes)])
		if err != nil && err != io.EOF {
			return c.disk.explain(err)
		}
		if n == 0 {
			return io.ErrUnexpectedEOF
		}
		data = data[n:]
	}
	return nil
}

// Limited runs f, in which each value that SQLite makes or reads has so many bytes at most. A longer one is
// [sqlite3.TOOBIG].
func (c *Conn) Limited(bytes int, f func() error) error {
	defer c.Limit(sqlite3.LIMIT_LENGTH, c.Limit(sqlite3.LIMIT_LENGTH, bytes))
	return f()
}
