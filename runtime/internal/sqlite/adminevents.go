package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// EventFilter chooses events; its zero value chooses all but the bus's own.
type EventFilter struct {
	Types         []string // globs, or names of the bus's own types; any of them
	Status        string
	Since, Until  time.Time // published at Since or later, before Until
	Text          string    // in the payload, the metadata or the error of an attempt, letter by letter
	CorrelationID string
	Before        int64 // only events before this position; 0 for all
	Limit         int
}

// EventLine is an event with the state of its deliveries rolled up.
type EventLine struct {
	engine.Record
	Status   string
	Failures int
}

// eventStatus is that of the events view. A delayed event is on nobody's way:
// without a row it is done.
const eventStatus = `
	CASE
	  WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.seq AND d.state = 'running') THEN 'processing'
	  WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.seq AND d.state IN ('waiting', 'held')) THEN 'pending'
	  WHEN l.due_at IS NULL AND EXISTS (
	         SELECT 1 FROM routes r JOIN subscriptions s ON s.id = r.subscription
	         WHERE r.type = l.type AND s.cursor < l.seq
	           AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)) THEN 'pending'
	  WHEN EXISTS (SELECT 1 FROM deliveries d WHERE d.seq = l.seq AND d.state = 'dead') THEN 'dlq'
	  ELSE 'done'
	END`

const selectEvent = `
	SELECT l.seq, l.id, t.name, l.payload, l.metadata, l.created_at, l.due_at,` + eventStatus + ` AS status,
	       ` + failuresOf + `, t.version
	FROM log l JOIN types t ON t.id = l.type`

// listEvents lists those that a status leaves over; of the events that are not
// done there are few, and they can be found without reading the log.
func listEvents(status string) string {
	const withRow = "SELECT seq FROM deliveries"
	switch status {
	case "processing", "dlq":
		return listEventsBegin + " AND l.seq IN (" + withRow + ")" + listEventsEnd
	case "pending":
		return listEventsBegin + " AND l.seq IN (" + withRow +
			" UNION SELECT seq FROM log WHERE seq > (SELECT min(cursor) FROM subscriptions))" + listEventsEnd
	}
	return listEventsBegin + listEventsEnd
}

const (
	listEventsBegin = selectEvent + `
	WHERE l.seq >= ?1 AND l.seq < ?2 AND l.type IN (SELECT value FROM json_each(?3))
	  AND l.created_at >= ?4 AND l.created_at < ?5
	  AND (?6 IS NULL OR instr(l.payload, ?6) > 0 OR instr(l.metadata, ?6) > 0
	       OR EXISTS (SELECT 1 FROM attempts a WHERE a.seq = l.seq AND instr(a.error, ?6) > 0))
	  AND (?7 IS NULL OR json_extract(l.metadata, '$.correlation_id') = ?7)
	  AND (?8 IS NULL OR status = ?8)`
	listEventsEnd = `
	ORDER BY l.seq DESC LIMIT ?9`
)

// clockSlack is how far the clocks of publishers may disagree before a list by
// time misses an event of the one that is behind.
const clockSlack = time.Hour

// Events returns events, the newest first.
func (a *Admin) Events(ctx context.Context, f EventFilter) (events []EventLine, err error) {
	err = a.look(ctx, "list the events of", func(c *conn) error {
		types, err := typesOf(c, f.Types)
		if err != nil {
			return err
		}
		first, before, until := int64(0), int64(never), int64(never)
		if !f.Since.IsZero() {
			// Not the whole log, when it is about the last minutes.
			if first, err = firstSince(c, f.Since.Add(-clockSlack)); err != nil {
				return err
			}
		}
		if f.Before != 0 {
			before = f.Before
		}
		if !f.Until.IsZero() {
			until = f.Until.UnixMicro()
		}
		return c.query(listEvents(f.Status), func(s *sqlite3.Stmt) error {
			events = append(events, eventLine(s))
			return nil
		}, first, before, types, f.Since, until, text(f.Text), text(f.CorrelationID), text(f.Status), f.Limit)
	})
	return events, err
}

func eventLine(s *sqlite3.Stmt) EventLine {
	line := EventLine{
		Record: engine.Record{
			Seq: s.ColumnInt64(0), ID: uuidOf(s, 1), Type: s.ColumnText(2), Payload: s.ColumnBlob(3, nil),
			Metadata: s.ColumnBlob(4, nil), CreatedAt: timeOf(s, 5), Version: s.ColumnInt(9),
		},
		Status: s.ColumnText(7), Failures: s.ColumnInt(8),
	}
	if s.ColumnType(6) != sqlite3.NULL {
		line.Due = timeOf(s, 6)
	}
	return line
}

// typesOf returns the numbers of the types that match, as a JSON array.
func typesOf(c *conn, globs []string) (string, error) {
	ids, err := typesMatching(c, globs)
	if len(globs) == 0 {
		ids, err = idsWhere(c, "SELECT id, name FROM types", func(name string) (bool, error) { return name[0] != engine.OwnType, nil })
	}
	if err != nil || len(ids) == 0 {
		return "[]", err
	}
	list, err := json.Marshal(ids)
	return string(list), err
}

// EventsWithID returns the ids that begin with a prefix of hexadecimal digits,
// the lowest first.
func (a *Admin) EventsWithID(ctx context.Context, digits []byte, limit int) (ids []uuid.UUID, err error) {
	low, high := idRange(digits)
	err = a.look(ctx, "look for an event in", func(c *conn) error {
		return c.query("SELECT id FROM log WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", func(s *sqlite3.Stmt) error {
			ids = append(ids, uuidOf(s, 0))
			return nil
		}, low[:], high[:], limit)
	})
	return ids, err
}

// idRange returns the lowest and the highest id that begin with some digits,
// each the value of a hexadecimal one.
func idRange(digits []byte) (low, high uuid.UUID) {
	for i := range 2 * len(low) {
		l, h := byte(0), byte(0xF)
		if i < len(digits) {
			l, h = digits[i], digits[i]
		}
		shift := 4 * (1 - i%2)
		low[i/2] |= l << shift
		high[i/2] |= h << shift
	}
	return low, high
}
