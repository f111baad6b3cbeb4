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
)

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
			found, err := findEvents(c, filter, args, "", 0, end.Seq+1, f.Limit, 0, false, listedBytes)
			slices.Reverse(found)
			part.Events = eventsOf(found)
			return err
		}
		found, err := findEvents(c, filter, args, "", after+1, end.Seq+1, f.Limit+1, 0, true, readableBytes)
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
