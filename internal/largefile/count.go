package largefile

import (
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"
)

// Reads is what connections that look have read. One row takes about ten steps, or some more with what is
// beside it; a page has some tens of rows.
type Reads struct {
	Steps int64 // instructions of SQLite
	Pages int64 // pages of the file: SQLite counts the rows of a table in one step
}

var steps, pages atomic.Int64

// watching has SQLite count in each connection that is opened from now on.
var watching = sync.OnceFunc(func() {
	sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
		if looks, _ := c.ReadOnly("main"); !looks {
			return nil
		}
		return c.Trace(sqlite3.TRACE_PROFILE, func(_ sqlite3.TraceEvent, stmt, _ any) error {
			if s, ok := stmt.(*sqlite3.Stmt); ok {
				steps.Add(int64(s.Status(sqlite3.STMTSTATUS_VM_STEP, true)))
			}
			for _, of := range []sqlite3.DBStatus{sqlite3.DBSTATUS_CACHE_HIT, sqlite3.DBSTATUS_CACHE_MISS} {
				n, _, err := c.Status(of, true)
				if err != nil {
					return err
				}
				pages.Add(n)
			}
			return nil
		})
	})
})

// Count returns what do reads through connections that look and that it has opened.
func Count(do func()) Reads {
	watching()
	steps.Store(0)
	pages.Store(0)
	do()
	return Reads{steps.Load(), pages.Load()}
}
