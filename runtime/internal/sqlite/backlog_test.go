package sqlite

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// manyRows makes a file with a subscription that has so many dead letters, and behind them
// so many waiting deliveries, three held and one running.
func manyRows(t *testing.T, dead, waiting int) *Inspection {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus.db")
	l, err := Open(path, Options{})
	must(t, err)
	must(t, l.Close())
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	must(t, c.Transaction(false, func() error {
		for _, one := range []string{
			"INSERT INTO busgen_types (id, name, written, version) VALUES (1, 'order.placed', 'order.placed', 1)",
			"INSERT INTO busgen_subscriptions (id, name, pattern, start, cursor, created_at) VALUES (1, 'printer', '*', 0, 1000000, 0)",
			"INSERT INTO busgen_routes (type, subscription) VALUES (1, 1)",
		} {
			must(t, c.Exec(one))
		}
		must(t, c.Exec(`
			WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ?)
			INSERT INTO busgen_log (seq, id, type, payload, created_at) SELECT x, CAST(printf('%016d', x) AS BLOB), 1, '{}', 1000 * x FROM n`, dead+waiting+4))
		return c.Exec(`
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, dead_at, reason, fingerprint)
			SELECT 1, seq, state, 1, iif(state = 'waiting', 10000000 - seq, NULL), iif(state = 'dead', seq, NULL), iif(state = 'dead', 'permanent', NULL), iif(state = 'dead', 'x', NULL)
			FROM (SELECT seq, CASE WHEN seq <= ?1 THEN 'dead' WHEN seq <= ?1 + ?2 THEN 'waiting' WHEN seq <= ?1 + ?2 + 3 THEN 'held' ELSE 'running' END AS state FROM busgen_log)`,
			dead, waiting)
	}))
	must(t, c.Close())
	i, err := Engine{}.Inspect(t.Context(), path, "ada")
	must(t, err)
	t.Cleanup(func() { i.Close() })
	return i.(*Inspection)
}

func TestTheRowsOfASubscriptionAreCountedAsFarAsTheStatusSays(t *testing.T) {
	short.Skip(t, "the file has many rows")
	const limit = 5000
	for name, one := range map[string]struct {
		dead, waiting int
		want          event.SubscriptionState
		oldest        int64
	}{
		"few":                           {3, 5, event.SubscriptionState{Backlog: 9, BacklogAtMost: 9, Running: 1, Held: 3, Waiting: 5, Dead: 3}, 4},
		"few open behind many dead":     {rowsCounted, 2, event.SubscriptionState{Backlog: 6, BacklogAtMost: 6, Partial: true, Running: 1, Held: 3, Waiting: 2, Dead: rowsCounted}, rowsCounted + 1},
		"many dead, as many as counted": {rowsCounted - 4, 0, event.SubscriptionState{Backlog: 4, BacklogAtMost: 4, Partial: true, Running: 1, Held: 3, Dead: rowsCounted - 4}, rowsCounted - 3},
		"a few open among those counted": {rowsCounted - 2, 4, event.SubscriptionState{
			Backlog: 8, BacklogAtMost: 8, Partial: true, Running: 1, Held: 3, Waiting: 4, Dead: rowsCounted - 2}, rowsCounted - 1},
		"many open": {1, rowsCounted, event.SubscriptionState{Backlog: limit, BacklogAtMost: rowsCounted - 1, Partial: true, Waiting: rowsCounted - 1, Dead: 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := manyRows(t, one.dead, one.waiting).Subscriptions(t.Context(), limit)
			must(t, err)
			one.want.Name, one.want.Pattern, one.want.Oldest = "printer", "*", time.UnixMicro(1000*one.oldest).UTC()
			if diff := cmp.Diff([]event.SubscriptionState{one.want}, all); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A subscription that few events are for, and that is far behind, does not make a status read the whole log.
func TestAStatusReadsNoMoreThanItsReachOfTheLog(t *testing.T) {
	short.Skip(t, "the file has many rows")
	const last, limit = 2*windowEvents + 5, 5000
	for name, one := range map[string]struct {
		first  int64 // what is before it was pruned
		few    string
		want   event.SubscriptionState
		oldest int64
	}{
		"none in reach":           {1, "x > 200000", event.SubscriptionState{BacklogAtMost: last - windowEvents}, windowEvents + 1},
		"some in reach":           {1, "x IN (7, 100000, 100001)", event.SubscriptionState{Backlog: 2, BacklogAtMost: 2 + last - windowEvents}, 7},
		"as many as are counted":  {1, "x <= 5000", event.SubscriptionState{Backlog: limit, BacklogAtMost: last}, 1},
		"none behind what is not": {100_010, "x = 0", event.SubscriptionState{}, 0},
		"some behind what is not": {100_010, "x IN (150000, 200005)", event.SubscriptionState{Backlog: 2, BacklogAtMost: 2}, 150_000},
	} {
		t.Run(name, func(t *testing.T) {
			i := manyRows(t, 0, 0)
			c, err := database.Connect(i.Path, "", sqlite3.OPEN_READWRITE)
			must(t, err)
			must(t, c.Transaction(false, func() error {
				for _, one := range []string{
					"DELETE FROM busgen_deliveries", "DELETE FROM busgen_log", "UPDATE busgen_subscriptions SET cursor = 0",
					"INSERT INTO busgen_types (id, name, written, version) VALUES (2, 'order.lost', 'order.lost', 1)",
				} {
					must(t, c.Exec(one))
				}
				return c.Exec(`
					WITH RECURSIVE n (x) AS (SELECT ?1 UNION ALL SELECT x + 1 FROM n WHERE x < ?2)
					INSERT INTO busgen_log (seq, id, type, payload, created_at)
					SELECT x, CAST(printf('%016d', x) AS BLOB), iif(`+one.few+`, 1, 2), '{}', 1000 * x FROM n`, one.first, last)
			}))
			must(t, c.Close())
			all, err := i.Subscriptions(t.Context(), limit)
			must(t, err)
			one.want.Name, one.want.Pattern = "printer", "*"
			if one.oldest > 0 {
				one.want.Oldest = time.UnixMicro(1000 * one.oldest).UTC()
			}
			if diff := cmp.Diff([]event.SubscriptionState{one.want}, all); diff != "" {
				t.Error(diff)
			}
			status, err := i.Status(t.Context(), limit, event.Status{})
			must(t, err)
			if diff := cmp.Diff(all, status.Subscriptions); diff != "" {
				t.Error("the status differs: ", diff)
			}
		})
	}
}

// No index has the open deliveries in the order of the log, so a search that finds many of
// them goes through the log's exceptions instead, which are dead letters among others.
func TestASearchByStatusIsBoundedHoweverManyDeliveriesAreOpen(t *testing.T) {
	const dead, waiting, most = 20, 200, 30
	i := manyRows(t, dead, waiting)
	for status, want := range map[string]int{event.StatusPending: waiting + 3, event.StatusProcessing: 1, event.StatusDLQ: dead} {
		all, err := i.Events(t.Context(), engine.Filter{Filter: event.Filter{Status: status}}, event.Page{Limit: 1000}, 0)
		must(t, err)
		whole := all.Events
		var found []event.Event
		pages, after := 0, ""
		for ; pages == 0 || after != ""; pages++ {
			part, err := i.Events(t.Context(), engine.Filter{Filter: event.Filter{Status: status}}, event.Page{After: after, Limit: 1000}, most)
			must(t, err)
			if len(part.Events) > most {
				t.Errorf("%s: %d events on a page, which has looked through %d", status, len(part.Events), most)
			}
			found, after = append(found, part.Events...), part.Next
		}
		ids := func(events []event.Event) (all []int64) {
			for _, e := range events {
				all = append(all, e.Seq)
			}
			return all
		}
		if len(whole) != want || !slices.Equal(ids(found), ids(whole)) || pages != (dead+waiting+4+most-1)/most {
			t.Errorf("%s: %d pages have %v, want %d: %v", status, pages, ids(found), want, ids(whole))
		}
	}
}
