package database

import (
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"
)

// UUID returns the UUID in a column of the row that s is at.
func UUID(s *sqlite3.Stmt, column int) (id uuid.UUID) {
	copy(id[:], s.ColumnRawBlob(column))
	return id
}

// Time returns the time in a column of the row that s is at, stored as microseconds since
// 1970 in UTC.
func Time(s *sqlite3.Stmt, column int) time.Time {
	return time.UnixMicro(s.ColumnInt64(column)).UTC()
}
