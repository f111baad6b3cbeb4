package sqlite

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// Event implements [engine.EventReader].
func (i *Inspection) Event(ctx context.Context, id uuid.UUID) (history event.EventHistory, err error) {
	err = i.look(ctx, "read an event of", func(c *database.Conn) error {
		found := eventRow{}
		err := c.Query(selectEvent+" WHERE l.id = ?", func(s *sqlite3.Stmt) (err error) {
			found, err = readEvent(c, s, tables.ColumnOf(s, 3), tables.ReadableBytes)
			return err
		}, id[:])
		if err == nil && found.seq == 0 {
			err = &event.NotFoundError{Thing: "event", Name: id.String()}
		}
		if err != nil {
			return err
		}
		history.Event = found.Event
		if err := readHistory(c, &history, found.seq); err != nil {
			return err
		}
		activity, _, err := currentActivity(c)
		for _, r := range activity.Attempts {
			if r.Event == id {
				history.Running = append(history.Running, r)
			}
		}
		return err
	})
	return history, err
}

func readHistory(c *database.Conn, h *event.EventHistory, seq int64) error {
	deliveries, err := readDeliveries(c, seq)
	if err != nil {
		return err
	}
	h.Deliveries = []event.DeliveryState{}
	for _, d := range deliveries {
		if err := readSteps(c, tables.RowKey{Subscription: d.subscription, Seq: seq}, &d.DeliveryState); err != nil {
			return err
		}
		h.Deliveries = append(h.Deliveries, d.DeliveryState)
	}
	err = c.Query("SELECT parent FROM busgen_origins WHERE seq = ?", func(s *sqlite3.Stmt) error {
		if parent := database.UUID(s, 0); parent != uuid.Nil {
			h.MadeFrom = &parent
		}
		return nil
	}, seq)
	if err != nil {
		return err
	}
	err = c.Query("SELECT l.id FROM busgen_origins o JOIN busgen_log l ON l.seq = o.seq WHERE o.parent = ? ORDER BY o.seq", func(s *sqlite3.Stmt) error {
		h.MadeInto = append(h.MadeInto, database.UUID(s, 0))
		return nil
	}, h.ID[:])
	if err != nil {
		return err
	}
	h.Audit, err = auditOf(c, h.ID, tables.RowKey{Seq: seq})
	return err
}

// deliveryState is the state of a delivery with the number of its subscription.
type deliveryState struct {
	event.DeliveryState
	subscription int64
	cancelled    bool   // it is open, and is discarded when its turn comes
	reason       string // for which it is
}

// withDelivery joins to event l and subscription s what became of the one for the other. Where concerned holds there is
// a delivery, and stateOf is its state.
const (
	withDelivery = `
		LEFT JOIN busgen_deliveries d ON d.subscription = s.id AND d.seq = l.seq
		LEFT JOIN busgen_discarded x ON x.subscription = s.id AND x.seq = l.seq
		LEFT JOIN busgen_cancelled k ON k.subscription = s.id AND k.seq = l.seq -- discarded, and not yet settled
		LEFT JOIN busgen_origins o ON o.seq = l.seq`
	// An event is for the subscriptions of its type that are not younger, or for the one it was made for. One that has a
	// row is concerned whatever its pattern is by now.
	concerned = `(d.seq IS NOT NULL OR x.seq IS NOT NULL
		       OR iif(o.seq IS NOT NULL, o.subscription = s.id,
		              s.start < l.seq AND EXISTS (SELECT 1 FROM busgen_routes r WHERE r.type = l.type AND r.subscription = s.id)))`
	stateOf = `
		CASE WHEN k.seq IS NOT NULL AND d.state IN ('waiting', 'held') THEN 'discarded'
		            WHEN d.state = 'held' AND d.waitlist IS NOT NULL THEN 'waiting'
		            WHEN d.due_at < 0 THEN 'pending' -- it goes ahead of the log
		            WHEN d.state IS NOT NULL THEN d.state
		            WHEN x.seq IS NOT NULL THEN 'discarded'
		            WHEN ` + notPassed + ` THEN iif(k.seq IS NULL, 'pending', 'discarded')
		            ELSE 'done' END`
)

// readDeliveries lists the subscriptions that an event is for.
func readDeliveries(c *database.Conn, seq int64) (deliveries []deliveryState, err error) {
	err = c.Query(`
		SELECT s.id, s.name, d.due_at, d.dead_at, d.reason, d.failures, coalesce(x.at, k.at), coalesce(x.reason, k.reason),
		       `+stateOf+`,
		       k.seq IS NOT NULL AND x.seq IS NULL, `+heldSince+`, iif(d.state = 'held', d.waitlist, NULL)
		FROM busgen_log l JOIN busgen_subscriptions s`+withDelivery+`
		WHERE l.seq = ? AND `+concerned+`
		ORDER BY s.name`, func(s *sqlite3.Stmt) error {
		one := deliveryState{subscription: s.ColumnInt64(0)}
		one.Subscription, one.State, one.Counted = s.ColumnText(1), s.ColumnText(8), s.ColumnInt(5)
		if one.State == event.StateDiscarded || one.State == event.StateRunning {
			one.cancelled, one.reason = s.ColumnBool(9), s.ColumnText(7)
		}
		switch one.State {
		case tables.RowHeld:
			if s.ColumnType(10) != sqlite3.NULL {
				one.Due, one.Held = dueAt(s, 2), database.Time(s, 10)
			}
		case tables.RowWaiting:
			if one.WaitsFor = s.ColumnText(11); one.WaitsFor == "" {
				one.Due = dueAt(s, 2)
			}
		case tables.RowDead:
			one.Settled, one.Reason = database.Time(s, 3), s.ColumnText(4)
		case event.StateDiscarded:
			one.Settled, one.Reason = database.Time(s, 6), s.ColumnText(7)
		}
		deliveries = append(deliveries, one)
		return nil
	}, seq)
	for i := range deliveries {
		one := &deliveries[i]
		if err == nil {
			one.Attempts, err = readAttempts(c, tables.RowKey{Subscription: one.subscription, Seq: seq})
			one.Failures = len(one.Attempts)
		}
		if err == nil {
			one.Crashes, err = readCrashes(c, tables.RowKey{Subscription: one.subscription, Seq: seq})
		}
	}
	return deliveries, err
}

// readCrashes returns the ends of the process that do not count for a delivery,
// oldest first.
func readCrashes(c *database.Conn, at tables.RowKey) (crashes []event.SharedCrash, err error) {
	err = c.Query("SELECT at FROM busgen_crashes WHERE seq = ? AND subscription = ? AND counted <> ? ORDER BY at", func(s *sqlite3.Stmt) error {
		crashes = append(crashes, event.SharedCrash{At: database.Time(s, 0), Beside: []event.Key{}})
		return nil
	}, at.Seq, at.Subscription, crashCounted)
	for i := range crashes {
		if err != nil {
			break
		}
		err = c.Query(`
			SELECT l.id, s.name FROM busgen_crashes o JOIN busgen_log l ON l.seq = o.seq JOIN busgen_subscriptions s ON s.id = o.subscription
			WHERE o.at = ?3 AND (o.seq, o.subscription) <> (?1, ?2) ORDER BY s.name, o.seq`, func(s *sqlite3.Stmt) error {
			crashes[i].Beside = append(crashes[i].Beside, event.Key{EventID: database.UUID(s, 0), Subscription: s.ColumnText(1)})
			return nil
		}, at.Seq, at.Subscription, crashes[i].At)
	}
	return crashes, err
}

// readAttempts returns the failed attempts of a delivery, oldest first.
func readAttempts(c *database.Conn, at tables.RowKey) (attempts []event.FailedAttempt, err error) {
	err = c.Query(`
		SELECT kind, started_at, ended_at, error, error_type, member, stack, log FROM busgen_attempts
		WHERE seq = ? AND subscription = ? ORDER BY n`, func(s *sqlite3.Stmt) error {
		a := event.FailedAttempt{
			Kind: s.ColumnText(0), Ended: database.Time(s, 2), Error: s.ColumnText(3), ErrorType: s.ColumnText(4),
			Member: s.ColumnText(5), Stack: s.ColumnText(6), Log: s.ColumnText(7),
		}
		if s.ColumnType(1) != sqlite3.NULL {
			a.Started = database.Time(s, 1)
		}
		attempts = append(attempts, a)
		return nil
	}, at.Seq, at.Subscription)
	return attempts, err
}

// Follow implements [engine.EventReader].
func (i *Inspection) Follow(ctx context.Context, f engine.Following) (part event.Followed, err error) {
	from, err := f.Mark()
	if err == nil {
		err = f.Check()
	}
	if err != nil {
		return part, err
	}
	err = i.look(ctx, "follow the events of", func(c *database.Conn) error {
		part = event.Followed{}
		end, err := endOfLog(c)
		if err != nil {
			return err
		}
		after, filter := int64(0), f.Filter
		if from != nil {
			after = from.Seq
			if part.Restarted, err = gone(c, *from, end); err != nil {
				return err
			}
		}
		if part.Restarted {
			after = 0
			if from.At.After(filter.Since) {
				filter.Since = from.At
			}
		}
		args, err := eventArgsOf(c, filter)
		if err != nil {
			return err
		}
		if from == nil && f.Newest {
			part.Next = end.Cursor()
			if f.Limit == 0 {
				return nil
			}
			found, err := findEvents(c, filter, args, "", 0, end.Seq+1, f.Limit, 0, false, tables.ListedBytes)
			slices.Reverse(found)
			part.Events = eventsOf(found)
			return err
		}
		found, err := findEvents(c, filter, args, "", after+1, end.Seq+1, f.Limit+1, 0, true, tables.ReadableBytes)
		if errors.Is(err, errPageFull) {
			f.Limit, err = len(found)-1, nil
		}
		if part.More = len(found) > f.Limit; part.More {
			found = found[:f.Limit]
			last := found[f.Limit-1]
			end.Seq, end.ID = last.seq, last.ID
		}
		part.Events, part.Next = eventsOf(found), end.Cursor()
		if err != nil || from == nil || part.Restarted || end.Seq == after {
			return err
		}
		left, err := c.Int64("SELECT count(*) FROM busgen_log WHERE seq > ? AND seq <= ?", after, end.Seq)
		part.Pruned = end.Seq - after - left
		return err
	})
	return part, err
}

func eventsOf(found []eventRow) (events []event.Event) {
	for _, one := range found {
		events = append(events, one.Event)
	}
	return events
}

// endOfLog returns the place of the newest event.
func endOfLog(c *database.Conn) (end engine.FollowMark, err error) {
	end.At = time.Now()
	err = c.Query(`
		SELECT (SELECT log FROM busgen_identity), l.seq, l.id
		FROM (SELECT max(seq) AS seq FROM busgen_log) m LEFT JOIN busgen_log l ON l.seq = m.seq`, func(s *sqlite3.Stmt) error {
		end.Log, end.Seq = database.UUID(s, 0), s.ColumnInt64(1)
		if end.Seq > 0 {
			end.ID = database.UUID(s, 2)
		}
		return nil
	})
	return end, err
}

// gone tells whether a place is of another log, or of a later state of this one, into which
// a backup was restored since. A restored log may have grown past the place.
func gone(c *database.Conn, place, end engine.FollowMark) (bool, error) {
	if place.Log != end.Log || place.Seq > end.Seq {
		return true, nil
	}
	if place.ID == uuid.Nil {
		return false, nil
	}
	others, err := c.Int64("SELECT count(*) FROM busgen_log WHERE seq = ? AND id <> ?", place.Seq, place.ID[:])
	return others > 0, err
}

// dueAt reads the due time of a delivery; zero for one that was not put off.
func dueAt(s *sqlite3.Stmt, column int) time.Time {
	if s.ColumnInt64(column) <= tables.AtOnce.UnixMicro() {
		return time.Time{}
	}
	return database.Time(s, column)
}
