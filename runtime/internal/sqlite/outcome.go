package sqlite

import (
	"context"
	"math"
	"sync"
	"sync/atomic"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// waiters are those who wait for deliveries to be settled. They are told when
// something was written that may concern them, and then ask the file.
type waiters struct {
	mu    sync.Mutex
	set   map[*waiter]struct{}
	count atomic.Int32
}

// waiter waits for one event, or for all of them (seq 0).
type waiter struct {
	seq  int64
	news chan struct{}
	wake func() // called instead, if it is not nil; guarded by the mu of the waiters
}

// any says whether someone waits, so that dispositions are written at once.
func (w *waiters) any() bool { return w.count.Load() > 0 }

func (w *waiters) add(seq int64) *waiter {
	one := &waiter{seq: seq, news: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.set == nil {
		w.set = map[*waiter]struct{}{}
	}
	w.set[one] = struct{}{}
	w.count.Store(int32(len(w.set)))
	return one
}

func (w *waiters) remove(one *waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.set, one)
	w.count.Store(int32(len(w.set)))
}

// notify makes the waiter call a function, which must not block.
func (w *waiters) notify(one *waiter, wake func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one.wake = wake
}

// settled tells those whose event is covered by what f has written: the cursor
// has moved from old to f.cursor.
func (w *waiters) settled(old int64, f flush) {
	if !w.any() || old == f.cursor && len(f.dispositions) == 0 {
		return
	}
	w.tell(func(seq int64) bool {
		if seq == 0 || old < seq && seq <= f.cursor {
			return true
		}
		for _, v := range f.dispositions {
			if v.Seq == seq {
				return true
			}
		}
		return false
	})
}

// all tells everyone: another process has written.
func (w *waiters) all() { w.tell(func(int64) bool { return true }) }

func (w *waiters) tell(concerns func(seq int64) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for one := range w.set {
		if !concerns(one.seq) {
			continue
		}
		if one.wake != nil {
			one.wake()
			continue
		}
		select {
		case one.news <- struct{}{}:
		default:
		}
	}
}

// observer answers what this process wants to know of the log.
type observer struct {
	*ground
	writer    *writer
	consumers *consumers
	lookout   *lookout
}

// wait calls done after everything that may have changed its answer, until it
// says yes.
func (ob *observer) wait(ctx context.Context, seq int64, done func() (bool, error)) error {
	one := ob.waiters.add(seq)
	defer ob.waiters.remove(one)
	ob.lookout.watchOthers()
	ob.writer.hasten()
	for generation := ob.generation.Load(); ; {
		select {
		case <-ob.writer.done:
			return engine.ErrClosed
		default:
		}
		if why := ob.stopped.Load(); why != nil {
			return why
		}
		if ob.generation.Load() != generation {
			return engine.ErrRestored
		}
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-one.news:
		case <-ctx.Done():
			return ctx.Err()
		case <-ob.writer.done:
			return engine.ErrClosed
		}
	}
}

// Outcome implements [engine.Log].
func (ob *observer) Outcome(ctx context.Context, seq int64) (outcome []engine.Settlement, err error) {
	err = ob.wait(ctx, seq, func() (bool, error) {
		open := false
		outcome = outcome[:0]
		err := ob.read(func(c *database.Conn) error {
			return c.Query(`
				SELECT s.name, d.state, d.reason, s.cursor >= ?1 OR (SELECT due_at FROM busgen_log WHERE seq = ?1) IS NOT NULL
				         OR EXISTS (SELECT 1 FROM busgen_express a WHERE a.subscription = s.id AND a.seq = ?1),
				       (SELECT count(*) FROM busgen_attempts a WHERE a.seq = ?1 AND a.subscription = s.id),
				       (SELECT error FROM busgen_attempts a WHERE a.seq = ?1 AND a.subscription = s.id ORDER BY n DESC LIMIT 1),
				       (SELECT reason FROM busgen_discarded x WHERE x.seq = ?1 AND x.subscription = s.id), s.id,
				       (SELECT coalesce(answer, 0) FROM busgen_cancelled x WHERE x.seq = ?1 AND x.subscription = s.id AND x.reason = ?2)
				FROM busgen_routes r JOIN busgen_subscriptions s ON s.id = r.subscription
				LEFT JOIN busgen_deliveries d ON d.subscription = s.id AND d.seq = ?1
				WHERE r.type = (SELECT type FROM busgen_log WHERE seq = ?1) AND s.start < ?1
				  AND (d.seq IS NOT NULL OR NOT EXISTS (SELECT 1 FROM busgen_origins o WHERE o.seq = ?1 AND o.subscription <> s.id))
				ORDER BY s.id`, func(s *sqlite3.Stmt) error {
				one := engine.Settlement{Subscription: ob.consumers.nameOf(s.ColumnInt64(7), s.ColumnText(0)), State: event.StateDone, Failures: s.ColumnInt(4), Error: s.ColumnText(5)}
				switch state := s.ColumnText(1); {
				case state == tables.RowDead:
					one.State, one.Reason = event.StateDead, s.ColumnText(2)
				case state != "" || !s.ColumnBool(3):
					if s.ColumnType(8) != sqlite3.NULL && ob.consumers.neverBegins(s.ColumnInt64(7), seq, s.ColumnInt(8)) {
						one.State, one.Reason = event.StateDiscarded, engine.ReasonCancelled // as soon as a pause ends
					} else {
						open = true
					}
				case s.ColumnType(6) != sqlite3.NULL:
					one.State, one.Reason = event.StateDiscarded, s.ColumnText(6)
				}
				outcome = append(outcome, one)
				return nil
			}, seq, engine.ReasonCancelled)
		})
		if err == nil && len(outcome) == 0 {
			err = ob.knows(seq)
		}
		return !open, err
	})
	return outcome, fault.Wrap("read", ob.path, err)
}

// neverBegins tells whether it is known that no handler is called any more for a delivery that was cancelled and
// is not settled yet. answer is that of the file.
func (cs *consumers) neverBegins(subscription, seq int64, answer int) bool {
	if !cs.owns.Load() {
		return answer == answerNone
	}
	for _, c := range cs.all() {
		if c.id == subscription {
			_, marked := c.Cancelled(seq)
			return marked && !c.begun(seq)
		}
	}
	return answer == answerNone
}

// WaitSettled implements [engine.Log].
func (ob *observer) WaitSettled(ctx context.Context, consumers []engine.Consumer) error {
	err := ob.wait(ctx, 0, func() (bool, error) {
		for _, one := range consumers {
			c := one.(*consumer)
			if c.gone() {
				return false, ob.why()
			}
			polled, idle := c.idle()
			if !idle {
				return false, nil
			}
			// The file may have more than this process has noticed: another one may have published.
			open, err := valueOf(ob.ground, func(conn *database.Conn) (int64, error) {
				return conn.Int64(`SELECT EXISTS (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE subscription = ?1 AND state <> 'dead')
					OR coalesce((SELECT max(seq) FROM busgen_log), 0) > ?2`, c.id, polled)
			})
			if open > 0 || err != nil {
				return false, err
			}
		}
		return true, nil
	})
	return fault.Wrap("read", ob.path, err)
}

// knows returns ErrRestored if the event at seq is not in the log because that was restored: it is younger than all
// events in there, or missing after a restore. The file may have been replaced a moment ago, before the writer
// notices.
func (ob *observer) knows(seq int64) error {
	return ob.read(func(c *database.Conn) error {
		lost, err := c.Int64(`SELECT coalesce((SELECT max(seq) FROM busgen_log), 0) < ?1
			OR ?2 AND NOT EXISTS (SELECT 1 FROM busgen_log WHERE seq = ?1)`, seq, ob.generation.Load() > 0)
		if err == nil && lost != 0 {
			err = engine.ErrRestored
		}
		return err
	})
}

// Pending implements [engine.Log].
func (ob *observer) Pending(ctx context.Context, limit int) (most int, err error) {
	err = ob.read(func(c *database.Conn) error {
		type position struct{ id, cursor int64 }
		var all []position
		err := c.Query("SELECT id, cursor FROM busgen_subscriptions", func(s *sqlite3.Stmt) error {
			all = append(all, position{s.ColumnInt64(0), s.ColumnInt64(1)})
			return nil
		})
		for _, one := range all {
			if err != nil {
				return err
			}
			var rows int64
			rows, err = c.Int64(`
				SELECT count(*) FROM (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_open
				WHERE subscription = ? AND state <> 'dead' LIMIT ?)`, one.id, limit)
			if err != nil {
				return err
			}
			behind, err := window{one.cursor, math.MaxInt64}.count(c, one.id, limit)
			if err != nil {
				return err
			}
			most = max(most, int(rows)+behind)
		}
		return err
	})
	return min(most, limit), fault.Wrap("read", ob.path, err)
}

// AwaitSettled implements [engine.Log].
func (ob *observer) AwaitSettled(ctx context.Context) error {
	one := ob.waiters.add(0)
	defer ob.waiters.remove(one)
	ob.lookout.watchOthers()
	ob.writer.hasten()
	select {
	case <-one.news:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-ob.writer.done:
		return engine.ErrClosed
	}
}
