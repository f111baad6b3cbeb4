package sqlite

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// A subscription that is far behind, and whose handler is quick, has the next page of the log read while it works on
// this one.
const (
	// bytesAhead is how many bytes are read ahead at once, but for the last event, and Sizes.Ahead how many events. There
	// are two such pages at most.
	bytesAhead = 1 << 20
	// freshFor is how long they may wait: an operator may have erased something since. It is also within what time the
	// page before must have been handled for the handler to be quick.
	freshFor = 50 * time.Millisecond
)

// ahead is what was read ahead. What reads it closes done, and nothing of it is to be used before.
type ahead struct {
	done   chan struct{}
	from   int64 // the first seq that it may have
	next   int64 // the first seq that it cannot have
	events []*logged
	err    error
	began  time.Time
	head   database.Head // of the index, before they were read or last looked for in deliveries
	after  *ahead        // nil until some of the events are handed over
}

// readAhead begins to read the events from a seq on.
func (c *consumer) readAhead(from int64) *ahead {
	a := &ahead{done: make(chan struct{}), from: from, began: time.Now()}
	go func() {
		defer close(a.done)
		a.head = c.ground.head.Read()
		a.events, a.next, a.err = c.readPage(nil, from, Sizes.Ahead, bytesAhead)
	}()
	time.AfterFunc(freshFor, c.dropAhead)
	return a
}

// dropAhead gives memory back that nobody has used in time, as when the subscription was paused.
func (c *consumer) dropAhead() {
	c.polling.Lock()
	defer c.polling.Unlock()
	if c.ahead != nil && time.Since(c.ahead.began) >= freshFor {
		c.ahead = nil
	}
}

// readBacklog is readPage that uses what was read ahead, and reads ahead. The caller holds polling.
func (c *consumer) readBacklog(dst []*logged, from int64, limit int) (_ []*logged, next int64, err error) {
	a := c.ahead
	c.ahead = nil
	quick := time.Since(c.pageRead) < freshFor
	c.pageRead = time.Now()
	usable, err := c.usable(a, from)
	switch {
	case err != nil:
		return dst, 0, err
	case !usable:
		if dst, next, err = c.readPage(dst, from, limit, tables.PageBytes); err == nil && quick && len(dst) == limit {
			c.ahead = c.readAhead(next)
		}
		return dst, next, err
	case len(a.events) == 0:
		return dst, a.next, nil
	}
	if a.after == nil {
		a.after = c.readAhead(a.next)
	}
	if len(a.events) > limit {
		dst, a.events = append(dst, a.events[:limit]...), a.events[limit:]
		a.from, c.ahead = dst[len(dst)-1].Seq+1, a
		return dst, a.from, nil
	}
	c.ahead = a.after
	return append(dst, a.events...), a.next, nil
}

// usable tells whether what was read ahead is what comes now: it is not if one of its events has a row in deliveries
// since, as after Cancel.
func (c *consumer) usable(a *ahead, from int64) (bool, error) {
	if a == nil {
		return false, nil
	}
	<-a.done
	if a.err != nil || a.from != from || time.Since(a.began) >= freshFor {
		return false, nil
	}
	head := c.ground.head.Read()
	if head == a.head && head != (database.Head{}) {
		return true, nil // nobody has written anything; and the connection may be reading the next page
	}
	a.head = head
	changed := false
	err := c.ground.read(func(conn *database.Conn) error {
		return conn.Query("SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq >= ? AND seq < ? LIMIT 1", func(*sqlite3.Stmt) error {
			changed = true
			return nil
		}, c.id, from, a.next)
	})
	return !changed, err
}
