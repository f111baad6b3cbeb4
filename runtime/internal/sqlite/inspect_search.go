package sqlite

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// SearchEvents implements [engine.EventReader].
func (i *Inspection) SearchEvents(ctx context.Context, f engine.Filter, p engine.Page, most int) (search engine.EventSearch, err error) {
	after, err := p.Place(1)
	if err != nil {
		return search, err
	}
	err = i.look(ctx, "search the events of", func(c *database.Conn) error {
		search = engine.EventSearch{}
		args, err := eventArgsOf(c, f)
		if err != nil || args.types == noTypes {
			return err
		}
		before, err := searchedBefore(c, f, after)
		if err != nil {
			return err
		}
		first, err := searchedFrom(c, f.Status, args.first, before, most)
		if err != nil {
			return err
		}
		found, err := findEvents(c, f, args, first, before, p.Limit+1, p.Offset, false)
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
// events that may have a status; lowest if there are no more of them.
func searchedFrom(c *database.Conn, status string, lowest, before int64, most int) (first int64, err error) {
	first = lowest
	for _, places := range searched[status] {
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

// searched are the places of the events that may have a status, as lists of which each has
// an index.
var searched = map[string][]string{
	"":                      {searchedLog},
	engine.StatusDone:       {searchedLog},
	engine.StatusDLQ:        {"SELECT DISTINCT seq FROM busgen_deliveries INDEXED BY busgen_deliveries_seq WHERE seq >= ?1 AND seq < ?2"},
	engine.StatusProcessing: {searchedOpen},
	engine.StatusPending:    {searchedBeyond, searchedOpen},
}

const (
	searchedLog = "SELECT seq FROM busgen_log WHERE seq >= ?1 AND seq < ?2"
	// searchedBeyond is what some subscription has yet to read.
	searchedBeyond = "SELECT seq FROM busgen_log WHERE seq >= max(?1, (SELECT min(cursor) + 1 FROM busgen_subscriptions)) AND seq < ?2"
	// searchedOpen sorts the rows that are not dead: no index has them in the order of the log.
	searchedOpen = "SELECT DISTINCT seq FROM (" + openRows + ")"
)
