package sqlite

import (
	"context"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

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
		candidates, places, err := candidatesOf(c, f.Status, openListed)
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
	candidates, places, err := candidatesOf(c, f.Status, most)
	if err != nil {
		return nil, 0, err
	}
	if first, err = searchedFrom(c, places, args.first, before, most); err != nil {
		return nil, 0, err
	}
	found, err = findEvents(c, f, args, candidates, first, before, p.Limit+1, p.Offset, false, listedBytes)
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

// candidatesOf returns a condition that all events of a status meet, and the lists of their
// places that bound a search: each has an index in the order of the log. No index has the open
// rows in that order. If there are up to most of them, all are candidates. Else those are the
// events with any row, which a search goes through in its order.
func candidatesOf(c *database.Conn, status string, most int) (condition string, lists []string, err error) {
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
