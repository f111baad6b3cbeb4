package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// mark is where a log stood when its status was read, for the next status to
// measure from.
type mark struct {
	at            time.Time
	log           []byte    // which log it is
	head          int64     // its newest event
	id            uuid.UUID // and the id of that
	died          int64     // when the newest dead letter died
	subscriptions map[int64]stand
}

// stand is where a subscription stood.
type stand struct {
	cursor int64
	rows   int // of all states
	lag    event.SubscriptionState
}

// readMark reads where the log and its subscriptions stand. The lags are of the same
// transaction.
func readMark(c *database.Conn, lags []event.SubscriptionState) (now mark, err error) {
	now.at, now.subscriptions = time.Now(), make(map[int64]stand, len(lags))
	err = c.Query(`
		SELECT (SELECT log FROM busgen_identity), l.seq, l.id, (SELECT max(dead_at) FROM busgen_deliveries WHERE state = 'dead')
		FROM (SELECT max(seq) AS seq FROM busgen_log) m LEFT JOIN busgen_log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		// A dead letter may come from a clock that is ahead; later ones count all the same.
		now.log, now.head, now.id, now.died = s.ColumnBlob(0, nil), s.ColumnInt64(1), database.UUID(s, 2), min(s.ColumnInt64(3), now.at.UnixMicro())
		return nil
	})
	if err != nil {
		return now, err
	}
	n := 0
	err = c.Query("SELECT id, cursor FROM busgen_subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
		lag := lags[n]
		n++
		now.subscriptions[s.ColumnInt64(0)] = stand{s.ColumnInt64(1), lag.Running + lag.Waiting + lag.Held + lag.Dead, lag}
		return nil
	})
	return now, err
}

// rates adds to a status how fast the bus has worked since an earlier mark, unless
// that was of another log, or of a later state of this one.
func (now mark) rates(c *database.Conn, before mark, status *event.Status) error {
	seconds := now.at.Sub(before.at).Seconds()
	if seconds <= 0 || !bytes.Equal(before.log, now.log) || now.head < before.head {
		return nil
	}
	if before.head > 0 {
		// A restored file may have grown past where it was. Pruned events never come back.
		other, err := c.Int64("SELECT count(*) FROM busgen_log WHERE seq = ? AND id <> ?", before.head, before.id[:])
		if err != nil || other > 0 {
			return err
		}
	}
	status.Rates = &event.Rates{Seconds: seconds, Published: float64(now.head-before.head) / seconds}
	dead := map[int64]int{}
	err := c.Query(`
		SELECT subscription, count(*) FROM busgen_deliveries INDEXED BY busgen_deliveries_dead
		WHERE state = 'dead' AND dead_at > ? GROUP BY subscription`, func(s *sqlite3.Stmt) error {
		dead[s.ColumnInt64(0)] = s.ColumnInt(1)
		return nil
	}, before.died)
	if err != nil {
		return err
	}
	var ids []int64
	err = c.Query("SELECT id FROM busgen_subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
		ids = append(ids, s.ColumnInt64(0))
		return nil
	})
	for n, id := range ids {
		from, known := before.subscriptions[id]
		if err != nil || !known {
			continue
		}
		var done progress
		done, err = now.subscriptions[id].since(c, id, from, before.head, now.head, dead[id])
		status.Subscriptions[n].Rates = done.rates(seconds, status.Subscriptions[n].BacklogAtMost)
	}
	return err
}

// progress is what has happened to a subscription.
type progress struct {
	published int // events that match it
	handled   int // deliveries that ended without becoming dead letters
	dead      int // those that became some
	// shrunk is by how much the backlog has become smaller, as far as it was counted
	// in the same way both times.
	shrunk int
}

func (p progress) rates(seconds float64, left int) *event.SubscriptionRates {
	rates := &event.SubscriptionRates{
		Published: float64(p.published) / seconds, Handled: float64(p.handled) / seconds, Dead: float64(p.dead) / seconds,
	}
	if left == 0 || p.shrunk > 0 {
		drained := 0.0
		if left > 0 {
			drained = float64(left) * seconds / float64(p.shrunk)
		}
		rates.DrainedIn = &drained
	}
	return rates
}

// since counts, of one subscription, what was published between two heads of the
// log, and what has left its backlog: what its cursor has passed and what got a row
// at once, but for the rows that are left.
func (to stand) since(c *database.Conn, id int64, from stand, before, head int64, dead int) (progress, error) {
	done := progress{dead: dead}
	passed := 0
	err := c.Query(`
		SELECT
		  (SELECT count(*) FROM busgen_log l WHERE l.seq > ?2 AND l.seq <= ?3 AND l.type IN (SELECT type FROM busgen_routes WHERE subscription = ?1)
		     AND NOT EXISTS (SELECT 1 FROM busgen_origins o WHERE o.seq = l.seq)),
		  (SELECT count(*) FROM busgen_log l WHERE l.seq > ?2 AND l.seq <= ?3 AND l.type IN (SELECT type FROM busgen_routes WHERE subscription = ?1)
		     AND l.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM busgen_origins o WHERE o.seq = l.seq)),
		  (SELECT count(*) FROM busgen_log l WHERE l.seq > ?4 AND l.seq <= ?5 AND l.type IN (SELECT type FROM busgen_routes WHERE subscription = ?1)
		     AND l.due_at IS NULL)`, func(s *sqlite3.Stmt) error {
		done.published, passed = s.ColumnInt(0), s.ColumnInt(1)+s.ColumnInt(2)
		return nil
	}, id, before, head, from.cursor, to.cursor)
	grown := to.rows - from.rows
	if from.lag.Partial || to.lag.Partial { // not all rows were counted
		grown = dead
	}
	done.handled = max(0, passed-grown)
	if counted := to.lag.BacklogAtMost == to.lag.Backlog; counted == (from.lag.BacklogAtMost == from.lag.Backlog) {
		done.shrunk = from.lag.BacklogAtMost - to.lag.BacklogAtMost
	}
	return done, err
}

// Hour implements [engine.StatusReader].
func (i *Inspection) Hour(ctx context.Context) (hour event.Hour, err error) {
	err = i.look(ctx, "read", func(c *database.Conn) error {
		count := engine.CountHour(time.Now())
		if err := countPublished(c, count); err != nil {
			return err
		}
		err := countDied(c, count)
		hour = count.Hour
		return err
	})
	return hour, err
}

// countDied counts the dead letters one by one: SQL would sort them by their minutes, which
// takes four times as long.
func countDied(c *database.Conn, hour *engine.HourCount) error {
	died := map[int64]*[engine.HourMinutes]int{}
	err := c.Query(`
		SELECT subscription, dead_at FROM busgen_deliveries INDEXED BY busgen_deliveries_dead
		WHERE state = 'dead' AND dead_at >= ?`, func(s *sqlite3.Stmt) error {
		id := s.ColumnInt64(0)
		if died[id] == nil {
			died[id] = &[engine.HourMinutes]int{}
		}
		died[id][hour.Minute(database.Time(s, 1))]++
		return nil
	}, hour.Begin())
	if err != nil {
		return err
	}
	return c.Query("SELECT id, name FROM busgen_subscriptions ORDER BY name", func(s *sqlite3.Stmt) error {
		if minutes := died[s.ColumnInt64(0)]; minutes != nil {
			for minute, letters := range minutes {
				if letters > 0 {
					hour.Died(s.ColumnText(1), minute, letters)
				}
			}
		}
		return nil
	})
}

// countPublished counts the newest events one by one. If these are not all events of the
// hour, it looks for the places where the minutes begin, because a million would take
// seconds. That takes for granted that events are in the order of their times: imported
// events and a clock that was set back move a place.
func countPublished(c *database.Conn, hour *engine.HourCount) error {
	head, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
	if err != nil {
		return err
	}
	first, at, err := eventFrom(c, head-engine.HourEvents)
	if err != nil || first == 0 {
		return err
	}
	if head <= engine.HourEvents || at.Before(hour.Begin()) {
		return c.Query("SELECT created_at FROM busgen_log WHERE seq >= ?", func(s *sqlite3.Stmt) error {
			hour.Publish(database.Time(s, 0))
			return nil
		}, first)
	}
	if first, _, err = eventFrom(c, 0); err != nil {
		return err
	}
	place, err := placeOf(c, hour.Begin(), first, head+1)
	for m := 0; m < engine.HourMinutes && err == nil; m++ {
		next := head + 1
		if m+1 < engine.HourMinutes {
			next, err = placeOf(c, hour.Begin().Add(time.Duration(m+1)*time.Minute), place, head+1)
		}
		hour.Published[m], place = int(next-place), next
	}
	return err
}

// placeOf returns the first place from low on, and up to high, before which no event is as
// young as a time. It reads few events.
func placeOf(c *database.Conn, at time.Time, low, high int64) (int64, error) {
	for low < high {
		middle := low + (high-low)/2
		seq, published, err := eventFrom(c, middle)
		switch {
		case err != nil:
			return 0, err
		case seq == 0 || seq >= high || !published.Before(at):
			high = middle
		default:
			low = seq + 1
		}
	}
	return low, nil
}

// eventFrom returns the first event from a place on, or 0 for none.
func eventFrom(c *database.Conn, from int64) (seq int64, at time.Time, err error) {
	err = c.Query("SELECT seq, created_at FROM busgen_log WHERE seq >= ? ORDER BY seq LIMIT 1", func(s *sqlite3.Stmt) error {
		seq, at = s.ColumnInt64(0), database.Time(s, 1)
		return nil
	}, from)
	return seq, at, err
}
