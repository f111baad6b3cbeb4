package sqlite

import (
	"context"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

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
