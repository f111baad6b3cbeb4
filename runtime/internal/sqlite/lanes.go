package sqlite

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// A parked delivery is a row of deliveries in state held, with a lane. Free makes it one that waits, and the row keeps its lane
// until its turn ends. So an index finds the next one of a lane, and whether a lane has any, without looking at others.

// lanes is what a consumer knows of the lanes of its subscription that the file does not say yet.
type lanes struct {
	any atomic.Bool // some delivery may be in a lane

	mu        sync.Mutex
	unwritten map[string][]int64 // by lane: deliveries that are settled with it, and not written
	frees     map[string]int     // by lane: how many to make due
	last      string             // the lane that was freed last for no reason of its own
}

// park notes that a delivery is to be parked.
func (l *lanes) park(seq int64, d *engine.Disposition) {
	l.any.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwritten == nil {
		l.unwritten = map[string][]int64{}
	}
	l.unwritten[d.Lane] = append(l.unwritten[d.Lane], seq)
	if d.Key != "" {
		l.unwritten[d.Key] = append(l.unwritten[d.Key], seq)
	}
}

// written notes that the file says so.
func (l *lanes) written(seq int64, d *engine.Disposition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lane := range [...]string{d.Lane, d.Key} {
		left := slices.DeleteFunc(l.unwritten[lane], func(one int64) bool { return one == seq })
		if l.unwritten[lane] = left; len(left) == 0 {
			delete(l.unwritten, lane)
		}
	}
}

// first returns the place of the first lane that has a delivery of before seq which is not written, or -1.
func (l *lanes) first(lanes []string, seq int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.IndexFunc(lanes, func(lane string) bool {
		return slices.ContainsFunc(l.unwritten[lane], func(one int64) bool { return one < seq })
	})
}

// free notes that n deliveries of a lane are to be made due.
func (l *lanes) free(lane string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frees == nil {
		l.frees = map[string]int{}
	}
	l.frees[lane] += n
}

// take returns what is to be freed, and back takes it back.
func (l *lanes) take() (frees map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	frees, l.frees = l.frees, nil
	return frees
}

func (l *lanes) back(frees map[string]int) {
	for lane, n := range frees {
		l.free(lane, n)
	}
}

// Parked implements [engine.Parker].
func (c *consumer) Parked() bool { return c.lanes.any.Load() }

// inLane is the SQL condition that a row of before a place in the log is in a lane of the subscription.
const inLane = `
	SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_lane WHERE subscription = ?1 AND lane = ?2 AND seq < ?3
	UNION ALL SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_key WHERE subscription = ?1 AND key = ?2 AND seq < ?3`

// errFound ends a query that has found what it looks for.
var errFound = errors.New("found")

// Behind implements [engine.Parker].
func (c *consumer) Behind(lanes []string, seq int64) (at int, err error) {
	if !c.lanes.any.Load() {
		return -1, nil
	}
	c.polling.Lock()
	defer c.polling.Unlock()
	c.mu.Lock()
	c.reading = true // what has ended may be read as if it waited: it stays in hand meanwhile
	c.mu.Unlock()
	defer c.endReading(never)
	// What is not written now is found below, and what is written by then is in the file.
	if at = c.lanes.first(lanes, seq); at >= 0 {
		lanes = lanes[:at]
	}
	err = c.ground.read(func(conn *database.Conn) error {
		for i, lane := range lanes {
			err := conn.Query(inLane, func(s *sqlite3.Stmt) error {
				if c.has(s.ColumnInt64(0)) {
					return nil
				}
				return errFound
			}, c.id, lane, seq)
			if errors.Is(err, errFound) {
				at = i
				return nil
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return at, fault.Wrap("read", c.ground.path, err)
}

// has tells whether this process has the delivery of an event in hand, or its end is not written yet. It has not what it has
// parked, although that stays among the rows for as long as others are read.
func (c *consumer) has(seq int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.rows[seq]
	return own != nil && !own.parked
}

// Free implements [engine.Parker].
func (c *consumer) Free(lane string, n int) {
	if !c.lanes.any.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.replaced {
		return
	}
	c.lanes.free(lane, n)
	c.queue(0)
}

// writeFrees makes parked deliveries due, and reports whether there were any. It is called within the writer's transaction.
func (b *batch) writeFrees(f *flush) (err error) {
	frees := maps.Clone(f.frees)
	for i := range f.dispositions {
		for _, lane := range f.dispositions[i].Frees {
			if frees == nil {
				frees = map[string]int{}
			}
			frees[lane]++
		}
	}
	for lane, n := range frees {
		if lane == "" {
			err = b.freeNext(f, n)
		} else {
			err = b.freeLane(f, lane, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextInLane finds the next parked deliveries of a lane. The index is named because statistics of another day may speak
// for one that has all that are open.
const nextInLane = `
	SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_lane
	WHERE subscription = ?1 AND lane = ?2 AND state = 'held' ORDER BY seq LIMIT ?3`

func (b *batch) freeLane(f *flush, lane string, n int) error {
	freed, err := freeFirst(b.conn, f.id, lane, n, b.clock.now())
	f.freed = f.freed || freed > 0
	return err
}

// freeFirst makes the first n parked deliveries of a lane due, and returns how many there were.
func freeFirst(c *database.Conn, subscription int64, lane string, n int, now time.Time) (freed int, err error) {
	var next []int64
	err = c.Query(nextInLane, func(s *sqlite3.Stmt) error {
		next = append(next, s.ColumnInt64(0))
		return nil
	}, subscription, lane, n)
	for _, seq := range next {
		if err == nil {
			err = c.Exec("UPDATE busgen_deliveries SET state = 'waiting', due_at = ?, wait = 0 WHERE subscription = ? AND seq = ?", now, subscription, seq)
		}
	}
	return len(next), err
}

// freeNext frees one delivery of each of the next n lanes, and notes if there is none at all.
func (b *batch) freeNext(f *flush, n int) error {
	from := f.lanes.last
	for done := range n {
		next := ""
		err := b.conn.Query("SELECT min(lane) FROM busgen_deliveries WHERE subscription = ? AND lane > ?", func(s *sqlite3.Stmt) error {
			next = s.ColumnText(0)
			return nil
		}, f.id, f.lanes.last)
		if err != nil {
			return err
		}
		if f.lanes.last = next; next == "" {
			f.none = from == "" && done == 0
			return nil
		}
		if err := b.freeLane(f, next, 1); err != nil {
			return err
		}
	}
	return nil
}

// starved is how many dispositions may be unwritten before nothing further is read of the log.
const starved = 4096

// starving tells whether so much is unwritten that the log is not to be read. The consumer is woken when that ends. The
// caller holds mu.
func (c *consumer) starving() bool {
	c.starves = c.lanes.any.Load() && len(c.dispositions) >= starved
	return c.starves
}

// endFrees is told that f is written. The caller holds mu.
func (c *consumer) endFrees(f flush) {
	if f.freed {
		c.dueAt(0)
	}
	if f.none && c.lanes.empty() {
		c.lanes.any.Store(false)
	}
	if c.starves && len(c.dispositions) < starved/2 {
		c.starves = false
		c.dueAt(0) // which wakes whoever polls
	}
}

// empty tells whether the file says all there is to know.
func (l *lanes) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unwritten)+len(l.frees) == 0
}

// lanesCounted is how many parked deliveries are counted at most.
const lanesCounted = 100_000

// readLanes returns the lanes with the most parked deliveries.
func readLanes(c *database.Conn) (all []event.Lane, err error) {
	all = []event.Lane{}
	err = c.Query(`
		SELECT s.name, x.lane, x.n, l.created_at
		FROM (SELECT subscription, lane, count(*) AS n, min(seq) AS first
			FROM (SELECT subscription, lane, seq FROM busgen_deliveries INDEXED BY busgen_deliveries_lane WHERE lane IS NOT NULL LIMIT ?1)
			GROUP BY subscription, lane ORDER BY n DESC, subscription, lane LIMIT ?2) x
		JOIN busgen_subscriptions s ON s.id = x.subscription JOIN busgen_log l ON l.seq = x.first
		ORDER BY x.n DESC, s.name, x.lane`, func(s *sqlite3.Stmt) error {
		one := engine.Named(s.ColumnText(1))
		one.Subscription, one.Waiting, one.Since = s.ColumnText(0), s.ColumnInt(2), database.Time(s, 3)
		all = append(all, one)
		return nil
	}, lanesCounted, engine.LanesShown)
	return all, err
}
