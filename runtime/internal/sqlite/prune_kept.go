package sqlite

import (
	"sync"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// Dead letters are never pruned, and there can be a million of them before the first event that
// can be. Pruning remembers where there is nothing else, so that it need not read their events
// again each minute: the log is divided into stretches, and of one in which every event has a
// row in deliveries it knows how many events that are. As long as that many have a row, all of
// them do: no event is added in the middle of the log. To count them takes the index of the rows
// alone, which is a thirtieth of their events.

// stretch is how many positions of the log a stretch has.
const stretch = 1 << 16

// kept says of stretches in which every event has a row how many events they have.
type kept struct {
	mu         sync.Mutex // held while a prune runs
	generation int64      // of the log for which this holds
	events     map[int64]int64
}

const (
	countRowed  = "SELECT count(DISTINCT seq) FROM busgen_deliveries INDEXED BY busgen_deliveries_seq WHERE seq >= ? AND seq < ?"
	countEvents = "SELECT count(*) FROM busgen_log NOT INDEXED WHERE seq >= ? AND seq < ?"
)

// afterKept returns the place behind a stretch in which there is nothing to prune, or 0 if there
// may be something. The caller holds mu.
func (u *upkeep) afterKept(number int64) (next int64, err error) {
	events, known := u.kept.events[number]
	if !known || u.kept.generation != u.generation.Load() {
		return 0, nil
	}
	err = u.read(func(c *database.Conn) error {
		rowed, err := c.Int64(countRowed, number*stretch, (number+1)*stretch)
		if err != nil || rowed != events {
			return err
		}
		next, err = c.Int64("SELECT coalesce(min(seq), ?1) FROM busgen_log WHERE seq >= ?1", (number+1)*stretch)
		return err
	})
	return next, err
}

// keep remembers a stretch after everything of it was pruned that can be, if every event that is
// left has a row. The caller holds mu.
func (u *upkeep) keep(number int64) error {
	if now := u.generation.Load(); u.kept.events == nil || u.kept.generation != now {
		u.kept.events, u.kept.generation = map[int64]int64{}, now
	}
	delete(u.kept.events, number)
	return u.read(func(c *database.Conn) error {
		rowed, err := c.Int64(countRowed, number*stretch, (number+1)*stretch)
		if err != nil || rowed == 0 {
			return err
		}
		events, err := c.Int64(countEvents, number*stretch, (number+1)*stretch)
		if err == nil && events == rowed {
			u.kept.events[number] = events
		}
		return err
	})
}
