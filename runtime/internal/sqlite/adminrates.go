package sqlite

import (
	"bytes"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Mark is where a log stood when it was looked at, for the next look to measure
// from. The zero Mark is no look.
type Mark struct {
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
	lag    engine.Lag
}

// Progress is what has happened to a log between two looks at it.
type Progress struct {
	Elapsed   time.Duration
	Published int64              // events, those of the bus itself included
	Of        []DeliveryProgress // in the order of the lags
}

// DeliveryProgress is what has happened to a subscription.
type DeliveryProgress struct {
	Known     bool // it was there at the first look
	Published int  // events for it
	Handled   int  // deliveries that ended without becoming dead letters
	Dead      int  // those that became some
	// Shrunk is by how much the backlog has become smaller, as far as it was counted
	// in the same way at both looks.
	Shrunk int
}

// mark reads where the log and its subscriptions stand. The lags are of the same
// transaction.
func mark(c *conn, lags []engine.Lag) (now Mark, err error) {
	now.at, now.subscriptions = time.Now(), make(map[int64]stand, len(lags))
	err = c.query(`
		SELECT (SELECT log FROM identity), l.seq, l.id, (SELECT max(dead_at) FROM deliveries WHERE state = 'dead')
		FROM (SELECT max(seq) AS seq FROM log) m LEFT JOIN log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		// A dead letter may come from a clock that is ahead; later ones count all the same.
		now.log, now.head, now.id, now.died = s.ColumnBlob(0, nil), s.ColumnInt64(1), uuidOf(s, 2), min(s.ColumnInt64(3), now.at.UnixMicro())
		return nil
	})
	if err != nil {
		return now, err
	}
	n := 0
	err = c.query("SELECT id, cursor FROM subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
		lag := lags[n]
		n++
		now.subscriptions[s.ColumnInt64(0)] = stand{s.ColumnInt64(1), lag.Running + lag.Waiting + lag.Held + lag.Dead, lag}
		return nil
	})
	return now, err
}

// since measures what has happened since an earlier look; nil if that saw another
// log, or a later state of this one.
func (now Mark) since(c *conn, before Mark) (*Progress, error) {
	if before.at.IsZero() || !bytes.Equal(before.log, now.log) || now.head < before.head {
		return nil, nil
	}
	if before.head > 0 {
		// A restored file may have grown past where it was. Pruned events never come back.
		other, err := c.int64("SELECT count(*) FROM log WHERE seq = ? AND id <> ?", before.head, before.id[:])
		if err != nil || other > 0 {
			return nil, err
		}
	}
	done := &Progress{Elapsed: now.at.Sub(before.at), Published: now.head - before.head}
	dead := map[int64]int{}
	err := c.query(`
		SELECT subscription, count(*) FROM deliveries INDEXED BY deliveries_dead
		WHERE state = 'dead' AND dead_at > ? GROUP BY subscription`, func(s *sqlite3.Stmt) error {
		dead[s.ColumnInt64(0)] = s.ColumnInt(1)
		return nil
	}, before.died)
	if err != nil {
		return nil, err
	}
	var ids []int64
	err = c.query("SELECT id FROM subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
		ids = append(ids, s.ColumnInt64(0))
		return nil
	})
	for _, id := range ids {
		var one DeliveryProgress
		if from, known := before.subscriptions[id]; known && err == nil {
			one, err = now.subscriptions[id].since(c, id, from, before.head, now.head, dead[id])
		}
		done.Of = append(done.Of, one)
	}
	return done, err
}

// since counts, of one subscription, what was published between two heads of the
// log, and what has left its backlog: what its cursor has passed and what got a row
// at once, but for the rows that are left.
func (to stand) since(c *conn, id int64, from stand, before, head int64, dead int) (DeliveryProgress, error) {
	done := DeliveryProgress{Known: true, Dead: dead}
	passed := 0
	err := c.query(`
		SELECT
		  (SELECT count(*) FROM log l WHERE l.seq > ?2 AND l.seq <= ?3 AND l.type IN (SELECT type FROM routes WHERE subscription = ?1)
		     AND NOT EXISTS (SELECT 1 FROM origins o WHERE o.seq = l.seq)),
		  (SELECT count(*) FROM log l WHERE l.seq > ?2 AND l.seq <= ?3 AND l.type IN (SELECT type FROM routes WHERE subscription = ?1)
		     AND l.due_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM origins o WHERE o.seq = l.seq)),
		  (SELECT count(*) FROM log l WHERE l.seq > ?4 AND l.seq <= ?5 AND l.type IN (SELECT type FROM routes WHERE subscription = ?1)
		     AND l.due_at IS NULL)`, func(s *sqlite3.Stmt) error {
		done.Published, passed = s.ColumnInt(0), s.ColumnInt(1)+s.ColumnInt(2)
		return nil
	}, id, before, head, from.cursor, to.cursor)
	grown := to.rows - from.rows
	if from.lag.Partial || to.lag.Partial { // not all rows were counted
		grown = dead
	}
	done.Handled = max(0, passed-grown)
	if counted := to.lag.AtMost == to.lag.Backlog; counted == (from.lag.AtMost == from.lag.Backlog) {
		done.Shrunk = from.lag.AtMost - to.lag.AtMost
	}
	return done, err
}
