package sqlite

import (
	"cmp"
	"math"
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// An express event is in the log as a delayed one is: each subscription has a delivery that waits, from the beginning, and
// the polls of the log pass the event over. So its delivery can be polled ahead of a backlog of any length, by a range of
// an index, and the publishers of other events pay nothing. A subscription whose deliveries have an order polls it when
// its log has come to the event.

// pollExpress hands over express deliveries ahead of the log.
func (c *consumer) pollExpress(dst []*engine.Delivery, limit int) (_ []*engine.Delivery, err error) {
	if !c.express.Swap(false) { // what comes from here on sets it again
		return dst, nil
	}
	found, more, err := c.readExpress(nil, math.MaxInt64, limit)
	for _, own := range found {
		dst = append(dst, &own.Delivery)
	}
	if more || err != nil {
		c.express.Store(true)
	}
	return dst, err
}

// readExpress takes the next express deliveries, up to limit, of events before end. It reports whether there may be more
// of these. The next ones are those after the last that it has taken.
func (c *consumer) readExpress(dst []*delivery, end int64, limit int) (_ []*delivery, more bool, err error) {
	c.mu.Lock()
	c.reading = true
	busy := len(c.rows)
	c.mu.Unlock()
	size, found := int64(0), 0
	err = c.ground.read(func(conn *database.Conn) error {
		return conn.Query(selectDelivery+`
			WHERE d.subscription = ? AND d.state <> 'dead' AND d.due_at = -1 AND d.seq >= ? AND d.seq < ?
			ORDER BY d.seq LIMIT ?`, func(s *sqlite3.Stmt) error {
			if size += bytesOf(s, 4) + bytesOf(s, 5); more || found == limit || found > 0 && size > pageBytes {
				more = true
				return nil
			}
			own, err := c.waitingRow(conn, s)
			if err != nil {
				return err
			}
			if c.hold(own, s) {
				dst = append(dst, own)
				found++
			}
			c.expressFrom = own.Seq + 1
			return nil
		}, c.id, c.expressFrom, end, limit+busy+1)
	})
	c.endReading(never)
	return dst, more, err
}

// expressSeqs returns the places of the next express deliveries, more than limit if there are so many.
func (c *consumer) expressSeqs(limit int) (seqs []int64, err error) {
	c.mu.Lock()
	busy := len(c.rows)
	c.mu.Unlock()
	err = c.ground.read(func(conn *database.Conn) error {
		return conn.Query(`
			SELECT seq FROM busgen_deliveries d
			WHERE d.subscription = ? AND d.state <> 'dead' AND d.due_at = -1 AND d.seq >= ? ORDER BY d.seq LIMIT ?`, func(s *sqlite3.Stmt) error {
			seqs = append(seqs, s.ColumnInt64(0))
			return nil
		}, c.id, c.expressFrom, limit+busy+1)
	})
	return seqs, err
}

// pollInPlace hands over events of the log, which was read up to next, and the express deliveries among them: of both
// together up to limit. It reports whether there is more.
func (c *consumer) pollInPlace(dst []*engine.Delivery, events []*logged, next int64, limit int) (_ []*engine.Delivery, more bool, err error) {
	c.express.Store(false) // what comes from here on sets it again
	express, err := c.expressSeqs(limit)
	i, j := 0, 0 // how many of each
	comes := func() bool { return j < len(express) && express[j] < next }
	for err == nil && i+j < limit && (comes() || i < len(events)) {
		if comes() && (i == len(events) || express[j] < events[i].Seq) {
			j++
		} else {
			i++
		}
	}
	if i < len(events) {
		next, events = events[i].Seq, events[:i]
	}
	end := next
	if j < len(express) {
		end = min(end, express[j])
	}
	var found []*delivery
	if j > 0 {
		found, more, err = c.readExpress(nil, end, j)
	}
	switch {
	case more || err != nil: // what is behind the last of them comes later
		for len(events) > 0 && events[len(events)-1].Seq >= c.expressFrom {
			next, events = events[len(events)-1].Seq, events[:len(events)-1]
		}
	case j < len(express):
		c.expressFrom, more = express[j], express[j] < next
	}
	if err != nil || j < len(express) || more {
		c.express.Store(true)
	}
	before := len(dst)
	dst = c.handLogged(dst, events, next)
	for _, own := range found {
		dst = append(dst, &own.Delivery)
	}
	slices.SortFunc(dst[before:], func(a, b *engine.Delivery) int { return cmp.Compare(a.Seq, b.Seq) })
	return dst, more || err != nil || next < c.ground.tail.end(), err
}
