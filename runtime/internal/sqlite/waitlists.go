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

// A parked delivery is a row of deliveries in state held, with a waitlist. Free makes it one that waits, and the row
// keeps its waitlist until its turn ends. So an index finds the next one of a waitlist, and whether a waitlist has any,
// without looking at others.

// waitlists is what a consumer knows of the waitlists of its subscription that the file does not say yet.
type waitlists struct {
	any atomic.Bool // some delivery may be in a waitlist

	mu        sync.Mutex
	unwritten map[string][]int64 // by waitlist: deliveries that are settled with it, and not written
	frees     map[string]int     // by waitlist: how many to make due
	last      string             // the waitlist that was freed last for no reason of its own
}

// park notes that a delivery is to be parked.
func (l *waitlists) park(seq int64, d *engine.Disposition) {
	l.any.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unwritten == nil {
		l.unwritten = map[string][]int64{}
	}
	l.unwritten[d.Waitlist] = append(l.unwritten[d.Waitlist], seq)
	if d.Key != "" {
		l.unwritten[d.Key] = append(l.unwritten[d.Key], seq)
	}
}

// written notes that the file says so.
func (l *waitlists) written(seq int64, d *engine.Disposition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, waitlist := range [...]string{d.Waitlist, d.Key} {
		left := slices.DeleteFunc(l.unwritten[waitlist], func(one int64) bool { return one == seq })
		if l.unwritten[waitlist] = left; len(left) == 0 {
			delete(l.unwritten, waitlist)
		}
	}
}

// first returns the place of the first waitlist that has a delivery of before seq which is not written, or -1.
func (l *waitlists) first(waitlists []string, seq int64) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.IndexFunc(waitlists, func(waitlist string) bool {
		return slices.ContainsFunc(l.unwritten[waitlist], func(one int64) bool { return one < seq })
	})
}

// free notes that n deliveries of a waitlist are to be made due.
func (l *waitlists) free(waitlist string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.frees == nil {
		l.frees = map[string]int{}
	}
	l.frees[waitlist] += n
}

// take returns what is to be freed, and back takes it back.
func (l *waitlists) take() (frees map[string]int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	frees, l.frees = l.frees, nil
	return frees
}

func (l *waitlists) back(frees map[string]int) {
	for waitlist, n := range frees {
		l.free(waitlist, n)
	}
}

// Parked implements [engine.Parker].
func (c *consumer) Parked() bool { return c.waitlists.any.Load() }

// inWaitlist is the SQL condition that a row of before a place in the log is in a waitlist of the subscription.
const inWaitlist = `
	SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_waitlist WHERE subscription = ?1 AND waitlist = ?2 AND seq < ?3
	UNION ALL SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_key WHERE subscription = ?1 AND key = ?2 AND seq < ?3`

// errFound ends a query that has found what it looks for.
var errFound = errors.New("found")

// Behind implements [engine.Parker].
func (c *consumer) Behind(waitlists []string, seq int64) (at int, err error) {
	if !c.waitlists.any.Load() {
		return -1, nil
	}
	c.polling.Lock()
	defer c.polling.Unlock()
	c.mu.Lock()
	c.reading = true // what has ended may be read as if it waited: it stays in hand meanwhile
	c.mu.Unlock()
	defer c.endReading(never)
	// What is not written now is found below, and what is written by then is in the file.
	if at = c.waitlists.first(waitlists, seq); at >= 0 {
		waitlists = waitlists[:at]
	}
	err = c.ground.read(func(conn *database.Conn) error {
		for i, waitlist := range waitlists {
			err := conn.Query(inWaitlist, func(s *sqlite3.Stmt) error {
				if c.has(s.ColumnInt64(0)) {
					return nil
				}
				return errFound
			}, c.id, waitlist, seq)
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

// has tells whether this process has the delivery of an event in hand, or its end is not written yet. It has not what
// it has parked, although that stays among the rows for as long as others are read.
func (c *consumer) has(seq int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.rows[seq]
	return own != nil && !own.parked
}

// Free implements [engine.Parker].
func (c *consumer) Free(waitlist string, n int) {
	if !c.waitlists.any.Load() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.replaced {
		return
	}
	c.waitlists.free(waitlist, n)
	c.queue(0)
}

// writeFrees makes parked deliveries due, and reports whether there were any. It is called within the writer's
// transaction.
func (b *batch) writeFrees(f *flush) (err error) {
	frees := maps.Clone(f.frees)
	for i := range f.dispositions {
		for _, waitlist := range f.dispositions[i].Frees {
			if frees == nil {
				frees = map[string]int{}
			}
			frees[waitlist]++
		}
	}
	for waitlist, n := range frees {
		if waitlist == "" {
			err = b.freeNext(f, n)
		} else {
			err = b.freeWaitlist(f, waitlist, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// nextInWaitlist finds the next parked deliveries of a waitlist. The index is named because statistics of another day
// may speak for one that has all that are open.
const nextInWaitlist = `
	SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_waitlist
	WHERE subscription = ?1 AND waitlist = ?2 AND state = 'held' ORDER BY seq LIMIT ?3`

func (b *batch) freeWaitlist(f *flush, waitlist string, n int) error {
	freed, err := freeFirst(b.conn, f.id, waitlist, n, b.clock.now())
	f.freed = f.freed || freed > 0
	return err
}

// freeFirst makes the first n parked deliveries of a waitlist due, and returns how many there were.
func freeFirst(c *database.Conn, subscription int64, waitlist string, n int, now time.Time) (freed int, err error) {
	var next []int64
	err = c.Query(nextInWaitlist, func(s *sqlite3.Stmt) error {
		next = append(next, s.ColumnInt64(0))
		return nil
	}, subscription, waitlist, n)
	for _, seq := range next {
		if err == nil {
			err = c.Exec("UPDATE busgen_deliveries SET state = 'waiting', due_at = ?, wait = 0 WHERE subscription = ? AND seq = ?", now, subscription, seq)
		}
	}
	return len(next), err
}

// freeNext frees one delivery of each of the next n waitlists, and notes if there is none at all.
func (b *batch) freeNext(f *flush, n int) error {
	from := f.waitlists.last
	for done := range n {
		next := ""
		err := b.conn.Query("SELECT min(waitlist) FROM busgen_deliveries WHERE subscription = ? AND waitlist > ?", func(s *sqlite3.Stmt) error {
			next = s.ColumnText(0)
			return nil
		}, f.id, f.waitlists.last)
		if err != nil {
			return err
		}
		if f.waitlists.last = next; next == "" {
			f.none = from == "" && done == 0
			return nil
		}
		if err := b.freeWaitlist(f, next, 1); err != nil {
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
	c.starves = c.waitlists.any.Load() && len(c.dispositions) >= starved
	return c.starves
}

// endFrees is told that f is written. The caller holds mu.
func (c *consumer) endFrees(f flush) {
	if f.freed {
		c.dueAt(0)
	}
	if f.none && c.waitlists.empty() {
		c.waitlists.any.Store(false)
	}
	if c.starves && len(c.dispositions) < starved/2 {
		c.starves = false
		c.dueAt(0) // which wakes whoever polls
	}
}

// empty tells whether the file says all there is to know.
func (l *waitlists) empty() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.unwritten)+len(l.frees) == 0
}

// waitlistsCounted is how many parked deliveries are counted at most.
const waitlistsCounted = 100_000

// readWaitlists returns the waitlists with the most parked deliveries.
func readWaitlists(c *database.Conn) (all []event.Waitlist, err error) {
	all = []event.Waitlist{}
	err = c.Query(`
		SELECT s.name, x.waitlist, x.n, l.created_at
		FROM (SELECT subscription, waitlist, count(*) AS n, min(seq) AS first
			FROM (SELECT subscription, waitlist, seq FROM busgen_deliveries INDEXED BY busgen_deliveries_waitlist WHERE waitlist IS NOT NULL LIMIT ?1)
			GROUP BY subscription, waitlist ORDER BY n DESC, subscription, waitlist LIMIT ?2) x
		JOIN busgen_subscriptions s ON s.id = x.subscription JOIN busgen_log l ON l.seq = x.first
		ORDER BY x.n DESC, s.name, x.waitlist`, func(s *sqlite3.Stmt) error {
		one := engine.Named(s.ColumnText(1))
		one.Subscription, one.Waiting, one.Since = s.ColumnText(0), s.ColumnInt(2), database.Time(s, 3)
		all = append(all, one)
		return nil
	}, waitlistsCounted, engine.WaitlistsShown)
	return all, err
}
