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
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// selectEvent reads events with the status that the view events shows. A delayed
// event is in nobody's backlog: without a row it is done.
var selectEvent = `
	SELECT l.seq, l.id, t.name, ` + tables.Bounded("l.payload") + `, ` + tables.Bounded("l.metadata") + `, l.created_at, l.due_at,
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
	       ` + tables.FailuresOf + `, t.version
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
	  AND (?6 IS NULL OR ` + tables.Containing("?6", seen) + ` OR ` + tables.InErrors("", "?6", seen) + `)
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
	values := []any{max(first, args.first), end, args.types, args.since, args.until, args.text, args.correlation, args.ids, tables.Text(f.Status), args.parent, limit, offset}
	if args.delivered != "" {
		values = append(values, args.subscriptions, tables.Text(f.State))
	}
	err = c.Query(listEvents(candidates+args.children+args.delivered, oldestFirst, args.seen), func(s *sqlite3.Stmt) error {
		payload := tables.ColumnOf(s, 3)
		if size += min(payload.Size, most); size > tables.PageBytes && len(found) > 0 && most > tables.ListedBytes {
			found = append(found, eventRow{seq: s.ColumnInt64(0)})
			return errPageFull
		}
		one, err := readEvent(c, s, payload, most)
		found = append(found, one)
		return err
	}, values...)
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
		part, err := findEvents(c, f, args, candidates, first, before, p.Limit+1-len(found), p.Offset, false, tables.ListedBytes)
		found = append(found, part...)
		if err != nil || len(found) > p.Limit || first <= args.first {
			return found, err
		}
		before = first
	}
}

// readEvent reads a row of selectEvent, whose payload was read. Of a payload with more than most bytes it reads the beginning.
func readEvent(c *database.Conn, s *sqlite3.Stmt, payload tables.LongValue, most int64) (eventRow, error) {
	read, err := tables.ReadContents(c, payload, tables.ColumnOf(s, 4), s.ColumnInt64(0), most)
	e := eventRow{seq: s.ColumnInt64(0), Event: event.Event{
		ID: database.UUID(s, 1), Type: s.ColumnText(2), Payload: read.Payload, PayloadBytes: read.Size, Metadata: read.Metadata, PublishedAt: database.Time(s, 5),
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

// Events implements [engine.EventReader].
func (i *Inspection) Events(ctx context.Context, f engine.Filter, p event.Page, most int) (search event.EventSearch, err error) {
	after, err := engine.PlaceOf(p, 1)
	if err != nil {
		return search, err
	}
	err = i.look(ctx, "list the events of", func(c *database.Conn) error {
		search = event.EventSearch{}
		args, err := eventArgsOf(c, f)
		if err != nil || args.types == noTypes {
			return err
		}
		found, first, err := pageOfEvents(c, f, args, after, p, most)
		if err != nil {
			return err
		}
		found, search.Next = engine.CutPage(p, found, func(e eventRow) []int64 { return []int64{e.seq} })
		search.Events = eventsOf(found)
		if search.Next == "" && first > args.first {
			search.Next = engine.CursorAt(first)
			_, search.Back, err = eventFrom(c, first)
		}
		return err
	})
	return search, err
}

// pageOfEvents reads a page of events, and one more, and returns the place up to which it has looked.
func pageOfEvents(c *database.Conn, f engine.Filter, args eventArgs, after []int64, p event.Page, most int) (found []eventRow, first int64, err error) {
	if most == 0 {
		before := int64(never)
		if after != nil {
			before = after[0]
		}
		candidates, places, err := candidatesOf(c, f, openListed)
		if err != nil {
			return nil, 0, err
		}
		found, err = listInSteps(c, f, args, candidates, places, before, p)
		return found, args.first, err
	}
	before, err := searchedBefore(c, f, after)
	if err != nil {
		return nil, 0, err
	}
	candidates, places, err := candidatesOf(c, f, most)
	if err != nil {
		return nil, 0, err
	}
	if first, err = searchedFrom(c, places, args.first, before, most); err != nil {
		return nil, 0, err
	}
	found, err = findEvents(c, f, args, candidates, first, before, p.Limit+1, p.Offset, false, tables.ListedBytes)
	return found, first, err
}

// searchedBefore returns the place before which a search begins.
func searchedBefore(c *database.Conn, f engine.Filter, after []int64) (int64, error) {
	head, err := c.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log")
	before := head + 1
	if after != nil {
		before = min(before, after[0])
	}
	if err != nil || f.Until.IsZero() {
		return before, err
	}
	oldest, _, err := eventFrom(c, 0)
	if err != nil {
		return 0, err
	}
	return placeOf(c, f.Until.Add(clockSlack), min(oldest, before), before)
}

// searchedFrom returns the place at which a search ends that looks through so many of the
// events of each list; lowest if there are no more of them.
func searchedFrom(c *database.Conn, lists []string, lowest, before int64, most int) (first int64, err error) {
	first = lowest
	for _, places := range lists {
		next, err := c.Int64("SELECT coalesce(("+places+" ORDER BY seq DESC LIMIT 1 OFFSET ?3), 0)", first, before, most)
		if err != nil {
			return 0, err
		}
		if next > 0 {
			first = max(first, next+1)
		}
	}
	return first, nil
}

// candidatesOf returns a condition that all events of a status or a state meet, and the lists of their
// places that bound a search: each has an index in the order of the log. No index has the open
// rows in that order. If there are up to most of them, all are candidates. Else those are the
// events with any row, which a search goes through in its order.
func candidatesOf(c *database.Conn, f engine.Filter, most int) (condition string, lists []string, err error) {
	status := f.Status
	if status == "" {
		status = map[string]string{
			event.StatePending: event.StatusPending, event.StateRunning: event.StatusProcessing, event.StateWaiting: event.StatusProcessing,
			event.StateHeld: event.StatusProcessing, event.StateDead: event.StatusDLQ,
		}[f.State] // whose candidates have a row as well
	}
	rows, lists := searchedRows, []string{searchedRows}
	switch status {
	case "", event.StatusDone:
		return "", []string{searchedLog}, nil
	case event.StatusProcessing, event.StatusPending:
		open, err := c.Int64("SELECT count(*) FROM (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE state <> 'dead' LIMIT ?)", most+1)
		if err != nil {
			return "", nil, err
		}
		if open <= int64(most) {
			rows, lists = openRows, nil
		}
	}
	if status == event.StatusPending {
		rows, lists = rows+" UNION "+searchedBeyond, append(lists, searchedBeyond)
	}
	return " AND l.seq IN (" + rows + ")", lists, nil
}

const (
	searchedLog = "SELECT seq FROM busgen_log WHERE seq >= ?1 AND seq < ?2"
	// searchedRows are the events that did not simply go well: dead letters among them.
	searchedRows = "SELECT DISTINCT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_seq WHERE seq >= ?1 AND seq < ?2"
	// openRows are the events that wait or run.
	openRows = "SELECT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE state <> 'dead' AND seq >= ?1 AND seq < ?2"
	// searchedBeyond is what some subscription has yet to read.
	searchedBeyond = "SELECT seq FROM busgen_log WHERE seq >= max(?1, (SELECT min(cursor) + 1 FROM busgen_subscriptions)) AND seq < ?2"
)

// childOf is the condition for events l of the log that a handler of the event ?10 has
// published, or that announce its dead letters. The parameter is the id as text. The
// planner uses the index busgen_log_parent only for these very expressions.
const childOf = ` AND substr(l.metadata, instr(l.metadata, ',"parent_id":"') + 14, 36) = ?10 AND instr(l.metadata, ',"parent_id":"') > 0`

// deliveredTo is the condition for events l of the log that have a delivery to one of the subscriptions ?13, or to any for NULL,
// in the state ?14, or in any.
const deliveredTo = `
	  AND EXISTS (SELECT 1 FROM busgen_subscriptions s` + withDelivery + `
	              WHERE (?13 IS NULL OR s.id IN (SELECT value FROM json_each(?13))) AND ` + concerned + ` AND (?14 IS NULL OR ` + stateOf + ` = ?14))`

// childOfAny is the condition in its place for all events.
const childOfAny = " AND ?10 IS NULL"
