package sqlite

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// selectEvent reads events with the status that the view events shows. A delayed
// event is in nobody's backlog: without a row it is done.
var selectEvent = `
	SELECT l.seq, l.id, t.name, ` + bounded("l.payload") + `, ` + bounded("l.metadata") + `, l.created_at, l.due_at,
	       CASE
	         WHEN EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state = 'running') THEN 'processing'
	         WHEN EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state IN ('waiting', 'held')) THEN 'pending'
	         WHEN EXISTS (
	                SELECT 1 FROM busgen_routes r JOIN busgen_subscriptions s ON s.id = r.subscription
	                WHERE r.type = l.type AND ` + notPassed + `
	                  AND NOT EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.subscription = s.id AND d.seq = l.seq)) THEN 'pending'
	         WHEN EXISTS (SELECT 1 FROM busgen_deliveries d WHERE d.seq = l.seq AND d.state = 'dead') THEN 'dlq'
	         ELSE 'done'
	       END AS status,
	       ` + failuresOf + `, t.version
	FROM busgen_log l JOIN busgen_types t ON t.id = l.type`

// listEvents lists the newest events that match, or with oldestFirst the oldest. There are
// few events that are not done, so that candidates finds those of a status without reading
// the log.
func listEvents(candidates string, oldestFirst, seen bool) string {
	order := "DESC"
	place := "l.seq"
	if strings.Contains(candidates, "l.seq IN") {
		place = "+l.seq" // SQLite would read that part of the log, and look for each event in the candidates
	}
	if oldestFirst {
		order = "ASC"
	}
	return selectEvent + `
	WHERE ` + place + ` >= ?1 AND ` + place + ` < ?2 AND l.type IN (SELECT value FROM json_each(?3))
	  AND l.created_at >= ?4 AND l.created_at < ?5
	  AND (?6 IS NULL OR ` + containing("?6", seen) + ` OR ` + inErrors("", "?6", seen) + `)
	  AND (?7 IS NULL OR ` + correlationIs("?7", seen) + `)
	  AND (?8 IS NULL OR l.id IN (SELECT unhex(value) FROM json_each(?8)))
	  AND (?9 IS NULL OR status = ?9)` + candidates + `
	ORDER BY l.seq ` + order + ` LIMIT ?11 OFFSET ?12`
}

// findEvents reads the events that match in a part of the log, with the first place in it
// and the one behind it. The candidates are a condition that all events of the status meet. Of payloads with more than
// most bytes it reads the beginning. Who asks for long payloads is given errPageFull if they have many bytes, with one
// event more than was read.
func findEvents(c *database.Conn, f engine.Filter, args eventArgs, candidates string, first, end int64, limit, offset int, oldestFirst bool, most int64) (found []eventRow, err error) {
	size := int64(0)
	err = c.Query(listEvents(candidates+args.children, oldestFirst, args.seen), func(s *sqlite3.Stmt) error {
		payload := columnOf(s, 3)
		if size += min(payload.size, most); size > pageBytes && len(found) > 0 && most > listedBytes {
			found = append(found, eventRow{seq: s.ColumnInt64(0)})
			return errPageFull
		}
		one, err := readEvent(c, s, payload, most)
		found = append(found, one)
		return err
	}, max(first, args.first), end, args.types, args.since, args.until, args.text, args.correlation, args.ids, text(f.Status), args.parent, limit, offset)
	return found, err
}

// clockSlack is how far the clocks of publishers may disagree before a list by
// time misses an event of the one that is behind.
const clockSlack = time.Hour

// openListed is up to how many open deliveries are listed to find the events of a status.
const openListed = 10_000

// eventRow is an event with its position in the log.
type eventRow struct {
	event.Event
	seq int64
}

// firstStep is how many candidates a list looks through first.
const firstStep = 1000

// listInSteps reads a page of events, and one more. SQLite finds out what has become of all candidates
// before it returns the newest one, so they are looked through in parts of the log, the newest first. Each has twice as many
// of them as the one before.
func listInSteps(c *database.Conn, f engine.Filter, args eventArgs, candidates string, places []string, before int64, p event.Page) (found []eventRow, err error) {
	inSteps := candidates != "" && p.Offset == 0
	for most := firstStep; ; most *= 2 {
		first := args.first
		if inSteps {
			if first, err = searchedFrom(c, places, args.first, before, most); err != nil {
				return nil, err
			}
		}
		part, err := findEvents(c, f, args, candidates, first, before, p.Limit+1-len(found), p.Offset, false, listedBytes)
		found = append(found, part...)
		if err != nil || len(found) > p.Limit || first <= args.first {
			return found, err
		}
		before = first
	}
}

// readEvent reads a row of selectEvent, whose payload was read. Of a payload with more than most bytes it reads the beginning.
func readEvent(c *database.Conn, s *sqlite3.Stmt, payload longValue, most int64) (eventRow, error) {
	read, err := readContents(c, payload, columnOf(s, 4), s.ColumnInt64(0), most)
	e := eventRow{seq: s.ColumnInt64(0), Event: event.Event{
		ID: database.UUID(s, 1), Type: s.ColumnText(2), Payload: read.payload, PayloadBytes: read.size, Metadata: read.metadata, PublishedAt: database.Time(s, 5),
		Status: s.ColumnText(7), Failures: s.ColumnInt(8), Version: s.ColumnInt(9),
	}}
	if s.ColumnType(6) != sqlite3.NULL {
		e.Due = database.Time(s, 6)
	}
	e.Seq = e.seq
	l := engine.LineageOf(e.Metadata)
	e.CorrelationID, e.ParentID, e.PublishedBy, e.Hops = l.CorrelationID, l.ParentID, l.PublishedBy, l.Hops
	return e, err
}

// EventsWithID implements [engine.EventReader].
func (i *Inspection) EventsWithID(ctx context.Context, digits []byte, limit int) (ids []uuid.UUID, err error) {
	low, high := idRange(digits)
	err = i.look(ctx, "look for an event in", func(c *database.Conn) error {
		return c.Query("SELECT id FROM busgen_log WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?", func(s *sqlite3.Stmt) error {
			ids = append(ids, database.UUID(s, 0))
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
