package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// watchWindow is how many positions of the log a watch reads at once, so that the
// consumers of this process, which use the same connection, do not wait for it.
const watchWindow = 1024

// watchSlack is how far the clocks of publishers may disagree before a watch by time
// misses an event of the one that is behind. It is less than clockSlack, because a watch
// reads all of that, and mostly begins a moment ago.
const watchSlack = time.Minute

// watch is a place in the log. It implements [engine.Watch].
type watch struct {
	ground      *ground
	deliverable bool
	types       typeMatcher
	generation  int64   // of the log
	after       int64   // the events up to here have had their turn
	began       int64   // the newest event when it was made; those before may have been pruned long ago
	news        *waiter // told when there may be more
}

// Watch implements [engine.Watcher]. The watch is told of new events before it looks
// where the log ends, so that none is between.
func (ob *observer) Watch(_ context.Context, spec engine.WatchSpec) (engine.Watch, error) {
	w := &watch{
		ground: ob.ground, deliverable: spec.Deliverable, types: typeMatcher{ground: ob.ground, pattern: strings.Join(spec.Types, " ")},
		generation: ob.generation.Load(), news: ob.arrivals.add(0),
	}
	ob.lookout.watchOthers()
	err := ob.read(func(c *database.Conn) (err error) {
		w.began, err = c.Int64("SELECT max(seq) FROM busgen_log")
		if w.after = w.began; err != nil || spec.Since.IsZero() {
			return err
		}
		first, err := firstSince(c, spec.Since.Add(-watchSlack))
		w.after = first - 1
		return err
	})
	if err != nil {
		w.Close()
		return nil, fault.Wrap("read", ob.path, err)
	}
	return w, nil
}

// Close implements [engine.Watch].
func (w *watch) Close() { w.ground.arrivals.remove(w.news) }

// Notify implements [engine.Watch].
func (w *watch) Notify(wake func()) {
	w.ground.arrivals.notify(w.news, wake)
	wake()
}

// Read implements [engine.Watch].
func (w *watch) Read(ctx context.Context, limit int) (found []*engine.Record, passed int64, err error) {
	for ctx.Err() == nil {
		found, end, pruned, err := w.read(limit)
		switch {
		case w.ground.generation.Load() != w.generation:
			return nil, passed, engine.ErrRestored
		case err != nil:
			return nil, passed, fault.Wrap("read", w.ground.path, err)
		}
		last := w.after
		passed += pruned
		if w.after = end; len(found) > 0 || end == last {
			return found, passed, nil
		}
		// It may not be the end of the log.
	}
	return nil, passed, ctx.Err()
}

// read returns what the next window of the log has, the place behind it, and how many of
// its events were pruned. The tail has none of these.
func (w *watch) read(limit int) (found []*engine.Record, end, passed int64, err error) {
	if w.ground.tail.end() <= w.after+1 {
		return nil, w.after, 0, w.ground.read(func(*database.Conn) error { return nil })
	}
	events, next, held := w.ground.tail.since(nil, w.after+1, limit, w.types.match)
	if held {
		for _, e := range events {
			found = append(found, &e.Record)
		}
		return found, next - 1, 0, nil
	}
	err = w.ground.read(func(c *database.Conn) error {
		last, err := c.Int64("SELECT max(seq) FROM busgen_log")
		if err != nil {
			return err
		}
		if end = max(w.after, min(last, w.after+watchWindow)); end == w.after {
			return nil
		}
		ids, err := tables.TypesMatching(c, strings.Fields(w.types.pattern))
		if err != nil || len(ids) == 0 {
			return err
		}
		size := int64(0)
		types, err := json.Marshal(ids)
		if err != nil {
			return err
		}
		err = c.Query(`
			SELECT seq, id, type, `+tables.Bounded("payload")+`, `+tables.Bounded("metadata")+`, created_at, due_at FROM busgen_log
			WHERE seq > ?1 AND seq <= ?2 AND type IN (SELECT value FROM json_each(?3))
			  AND NOT (?5 AND due_at IS NOT NULL AND EXISTS (SELECT 1 FROM busgen_origins o WHERE o.seq = busgen_log.seq))
			ORDER BY seq LIMIT ?4`, func(s *sqlite3.Stmt) error {
			if size += tables.BytesOf(s, 3) + tables.BytesOf(s, 4); size > tables.PageBytes && len(found) > 0 {
				return errPageFull
			}
			r := &engine.Record{Seq: s.ColumnInt64(0), ID: database.UUID(s, 1), CreatedAt: database.Time(s, 5)}
			if err := tables.ReadBounded(c, s, 3, r); err != nil {
				return err
			}
			if s.ColumnType(6) != sqlite3.NULL {
				r.Due = database.Time(s, 6)
			}
			if err := w.ground.types.resolve(c, s.ColumnInt64(2), r); err != nil {
				return err
			}
			found = append(found, r)
			return nil
		}, w.after, end, string(types), limit, w.deliverable)
		full := errors.Is(err, errPageFull)
		if full {
			err = nil
		}
		if full || len(found) == limit {
			end = found[len(found)-1].Seq
		}
		if first := max(w.after, w.began); err == nil && first < end {
			var left int64
			left, err = c.Int64("SELECT count(*) FROM busgen_log WHERE seq > ? AND seq <= ?", first, end)
			passed = end - first - left
		}
		return err
	})
	return found, end, passed, err
}
