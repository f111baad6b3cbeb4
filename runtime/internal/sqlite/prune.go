package sqlite

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

const (
	// pruneWindow is how many positions of the log one step looks at.
	pruneWindow = 1000
	// pruneDelete is how many events one transaction deletes.
	pruneDelete = 250
	// prunePause lets others write between two steps.
	prunePause = 10 * time.Millisecond
)

// upkeep makes the file smaller.
type upkeep struct {
	*ground
	writer *writer
	awaits *awaits
	kept   kept
}

// Prune implements [engine.Log].
func (u *upkeep) Prune(ctx context.Context, before time.Time) (pruned int, err error) {
	var from, end int64
	err = u.read(func(c *database.Conn) error {
		if from, err = c.Int64("SELECT min(seq) FROM busgen_log"); err != nil {
			return err
		}
		end, err = firstSince(c, before)
		return err
	})
	u.kept.mu.Lock()
	defer u.kept.mu.Unlock()
	var asks int64
	if err == nil {
		asks, err = u.mayAsk()
	}
	for err == nil && from < end {
		var n int
		n, from, err = u.pruneStretch(ctx, from, end, asks, before)
		pruned += n
	}
	if err == nil {
		err = u.awaits.sweep(ctx)
	}
	if err == nil {
		err = u.sweepLimits(ctx)
	}
	return pruned, fault.Wrap("prune", u.path, err)
}

// pruneStretch deletes what nobody needs of the next events in [from, end), to the end of
// their stretch at most, and returns where to go on. asks is that of mayAsk.
func (u *upkeep) pruneStretch(ctx context.Context, from, end, asks int64, before time.Time) (pruned int, next int64, err error) {
	number := from / stretch
	until := min(end, (number+1)*stretch)
	if next, err = u.afterKept(number); err != nil || next > 0 {
		return 0, next, err
	}
	for err == nil && from < until {
		var seqs []int64
		if seqs, from, err = u.prunable(from, until, asks, before); err != nil {
			break
		}
		for len(seqs) > 0 && err == nil {
			step := seqs[:min(len(seqs), pruneDelete)]
			seqs = seqs[len(step):]
			err = u.writer.do(ctx, func(c *database.Conn) error { return deleteEvents(c, step) })
			if err == nil {
				pruned += len(step)
				err = pause(ctx)
			}
		}
	}
	if err == nil && until == (number+1)*stretch {
		err = u.keep(number)
	}
	if err == nil {
		next, err = u.eventFrom(until, end)
	}
	return pruned, next, err
}

// firstSince returns the position of the first event that is not older than the
// given time, or of the newest one, which is never deleted. Times grow with
// positions closely enough for a binary search.
func firstSince(c *database.Conn, since time.Time) (int64, error) {
	low, err := c.Int64("SELECT min(seq) FROM busgen_log")
	if err != nil {
		return 0, err
	}
	high, err := c.Int64("SELECT max(seq) FROM busgen_log")
	for err == nil && low < high {
		middle := low + (high-low)/2
		seq, created := high, int64(0)
		err = c.Query("SELECT seq, created_at FROM busgen_log WHERE seq >= ? ORDER BY seq LIMIT 1", func(s *sqlite3.Stmt) error {
			seq, created = s.ColumnInt64(0), s.ColumnInt64(1)
			return nil
		}, middle)
		if created < since.UnixMicro() {
			low = seq + 1
		} else {
			high = middle
		}
	}
	return min(low, high), err
}

// prunable returns those of the next events in [from, end) that nobody needs,
// and where to go on. One that was imported is older than its place says, so
// what comes before it may be younger than the search has found.
func (u *upkeep) prunable(from, end, asks int64, before time.Time) (seqs []int64, next int64, err error) {
	next = end
	if end-from > pruneWindow {
		next = from + pruneWindow
	}
	err = u.read(func(c *database.Conn) error {
		err := c.Query(`
			SELECT l.seq FROM busgen_log l
			WHERE l.seq >= ? AND l.seq < ? AND l.created_at < ?
			  AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq)
			  AND NOT EXISTS (SELECT 1 FROM busgen_routes r JOIN busgen_subscriptions s ON s.id = r.subscription
			                  WHERE r.type = l.type AND s.cursor < l.seq)
			  AND NOT EXISTS (SELECT 1 FROM busgen_steps x WHERE x.event = l.seq)
			  AND NOT (l.seq > ? AND EXISTS (SELECT 1 FROM busgen_event_keys k WHERE k.seq = l.seq))
			ORDER BY l.seq`, func(s *sqlite3.Stmt) error {
			seqs = append(seqs, s.ColumnInt64(0))
			return nil
		}, from, next, before, asks)
		return err
	})
	if err == nil && next < end {
		next, err = u.eventFrom(next, end)
	}
	return seqs, next, err
}

// mayAsk returns the place of the oldest event whose handler may yet ask for the events behind it that have a key: it has
// done a step, and is not settled. The caller holds the mu of kept, which remembers it.
func (u *upkeep) mayAsk() (oldest int64, err error) {
	at := &u.kept.asks
	err = u.read(func(c *database.Conn) error {
		if keys, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_event_keys)"); err != nil || keys == 0 {
			*at = tables.RowKey{Subscription: 0, Seq: math.MaxInt64}
			return err
		}
		still, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE subscription = ? AND seq = ? AND state <> 'dead')", at.Subscription, at.Seq)
		if err != nil || still != 0 {
			return err
		}
		*at = tables.RowKey{Subscription: 0, Seq: math.MaxInt64}
		return c.Query(`
			SELECT d.subscription, d.seq FROM busgen_deliveries d INDEXED BY busgen_deliveries_open
			WHERE d.subscription IN (SELECT id FROM busgen_subscriptions) AND d.state <> 'dead'
			  AND EXISTS (SELECT 1 FROM busgen_steps x WHERE x.seq = d.seq AND x.subscription = d.subscription)
			ORDER BY d.seq LIMIT 1`, func(s *sqlite3.Stmt) error {
			*at = tables.RowKey{Subscription: s.ColumnInt64(0), Seq: s.ColumnInt64(1)}
			return nil
		})
	})
	return at.Seq, err
}

// eventFrom returns the first event from a place on, because what was pruned before may have
// left a gap of any size, or end if there is none.
func (u *upkeep) eventFrom(from, end int64) (int64, error) {
	return valueOf(u.ground, func(c *database.Conn) (int64, error) {
		return c.Int64("SELECT coalesce(min(seq), ?2) FROM busgen_log WHERE seq >= ?1", from, end)
	})
}

func deleteEvents(c *database.Conn, seqs []int64) error {
	for _, seq := range seqs {
		// It may have been imported as a dead letter meanwhile.
		if needed, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_deliveries WHERE seq = ?)", seq); err != nil {
			return err
		} else if needed != 0 {
			continue
		}
		for _, kept := range []string{
			"DELETE FROM busgen_attempts WHERE seq = ?", "DELETE FROM busgen_outcomes WHERE seq = ?", "DELETE FROM busgen_crashes WHERE seq = ?",
			"DELETE FROM busgen_discarded WHERE seq = ?", "DELETE FROM busgen_cancelled WHERE seq = ?", "DELETE FROM busgen_audit_deliveries WHERE seq = ?",
			"DELETE FROM busgen_origins WHERE seq = ?", "DELETE FROM busgen_event_keys WHERE seq = ?", "DELETE FROM busgen_waits WHERE seq = ?", "DELETE FROM busgen_steps WHERE seq = ?",
		} {
			if err := c.Exec(kept, seq); err != nil {
				return err
			}
		}
		if err := c.Exec("DELETE FROM busgen_log WHERE seq = ?", seq); err != nil {
			return err
		}
	}
	return nil
}

// Compact implements [engine.Log].
func (u *upkeep) Compact(ctx context.Context) (freed int64, err error) {
	const step = 64 // pages
	if err := u.sweepLimits(ctx); err != nil {
		return 0, fault.Wrap("compact", u.path, err)
	}
	for {
		var before, after, size int64
		err := u.writer.do(ctx, func(c *database.Conn) error {
			var err error
			if size, err = c.Int64("PRAGMA page_size"); err != nil {
				return err
			}
			if before, err = c.Int64("PRAGMA freelist_count"); err != nil || before == 0 {
				return err
			}
			// Each row of the pragma is a page given back.
			if err := c.Exec("PRAGMA incremental_vacuum(64)"); err != nil {
				return err
			}
			after, err = c.Int64("PRAGMA freelist_count")
			return err
		})
		freed += (before - after) * size
		if err != nil || before-after < step {
			return freed, fault.Wrap("compact", u.path, err)
		}
		if err := pause(ctx); err != nil {
			return freed, err
		}
	}
}

// pause waits a moment, or until ctx ends.
func pause(ctx context.Context) error {
	timer := time.NewTimer(prunePause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Dead letters are never pruned, and there can be a million of them before the first event that
// can be. Pruning remembers where there is nothing else, so that it need not read their events
// again each minute: the log is divided into stretches, and of one in which every event has a
// row in deliveries it knows how many events that are. As long as that many have a row, all of
// them do: no event is added in the middle of the log. To count them takes the index of the rows
// alone, which is a thirtieth of their events.

// stretch is how many positions of the log a stretch has.
const stretch = 1 << 16

// kept says of stretches in which every event has a row how many events they have.
type kept struct {
	mu         sync.Mutex    // held while a prune runs
	asks       tables.RowKey // that of mayAsk, as of the last look
	generation int64         // of the log for which this holds
	events     map[int64]int64
}

const (
	countRowed  = "SELECT count(DISTINCT seq) FROM busgen_deliveries INDEXED BY busgen_deliveries_seq WHERE seq >= ? AND seq < ?"
	countEvents = "SELECT count(*) FROM busgen_log NOT INDEXED WHERE seq >= ? AND seq < ?"
)

// afterKept returns the place behind a stretch in which there is nothing to prune, or 0 if there
// may be something. The caller holds mu.
func (u *upkeep) afterKept(number int64) (next int64, err error) {
	events, known := u.kept.events[number]
	if !known || u.kept.generation != u.generation.Load() {
		return 0, nil
	}
	err = u.read(func(c *database.Conn) error {
		rowed, err := c.Int64(countRowed, number*stretch, (number+1)*stretch)
		if err != nil || rowed != events {
			return err
		}
		next, err = c.Int64("SELECT coalesce(min(seq), ?1) FROM busgen_log WHERE seq >= ?1", (number+1)*stretch)
		return err
	})
	return next, err
}

// keep remembers a stretch after everything of it was pruned that can be, if every event that is
// left has a row. The caller holds mu.
func (u *upkeep) keep(number int64) error {
	if now := u.generation.Load(); u.kept.events == nil || u.kept.generation != now {
		u.kept.events, u.kept.generation = map[int64]int64{}, now
	}
	delete(u.kept.events, number)
	return u.read(func(c *database.Conn) error {
		rowed, err := c.Int64(countRowed, number*stretch, (number+1)*stretch)
		if err != nil || rowed == 0 {
			return err
		}
		events, err := c.Int64(countEvents, number*stretch, (number+1)*stretch)
		if err == nil && events == rowed {
			u.kept.events[number] = events
		}
		return err
	})
}
