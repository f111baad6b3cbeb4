package sqlite

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// withRows opens a log with a subscription that has so many dead letters and then so many open
// retries, of events of their own.
func withRows(t *testing.T, dead, waiting int) *Log {
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	must(t, log.Declare(t.Context(), nil, []engine.ConsumerSpec{{Name: "ship", Pattern: "order.*"}}))
	must(t, log.Append(t.Context(), []engine.Record{{ID: uuid.New(), Type: "order.placed", Version: 1, Payload: []byte("{}"), CreatedAt: time.Now()}}))
	must(t, log.writer.do(t.Context(), func(c *database.Conn) error {
		must(t, c.Exec(`
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO busgen_log (id, type, payload, created_at) SELECT randomblob(16), (SELECT type FROM busgen_log), '{}', 1 FROM n WHERE i <= ?1`, dead+waiting))
		must(t, c.Exec(`
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, dead_at, reason, fingerprint)
			SELECT 1, seq, 'dead', 1, 1, 'permanent', 'x' FROM busgen_log WHERE seq > 1 AND seq <= 1 + ?`, dead))
		must(t, c.Exec(`
			INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, wait)
			SELECT 1, seq, 'waiting', 1, 4e15, 4e15 FROM busgen_log WHERE seq > 1 + ?`, dead))
		return c.Exec("UPDATE busgen_subscriptions SET cursor = (SELECT max(seq) FROM busgen_log)")
	}))
	return log
}

// trace has SQLite call f about the statements of both connections, while nobody uses them; a nil f ends that.
func trace(t *testing.T, log *Log, events sqlite3.TraceEvent, f func(sqlite3.TraceEvent, any, any) error) {
	<-log.writer.turn
	must(t, log.writer.conn.Trace(events, f))
	log.writer.turn <- struct{}{}
	must(t, log.read(func(c *database.Conn) error { return c.Trace(events, f) }))
}

// stepsOf returns how many instructions SQLite executes while do runs, except in statements
// that have one of the texts.
func stepsOf(t *testing.T, log *Log, do func(), except ...string) int {
	var steps atomic.Int64
	trace(t, log, sqlite3.TRACE_PROFILE, func(_ sqlite3.TraceEvent, stmt, _ any) error {
		s := stmt.(*sqlite3.Stmt)
		n := s.Status(sqlite3.STMTSTATUS_VM_STEP, true)
		for _, text := range except {
			if strings.Contains(s.SQL(), text) {
				return nil
			}
		}
		steps.Add(int64(n))
		return nil
	})
	do()
	trace(t, log, 0, nil)
	return int(steps.Load())
}

// What a process does when it takes over does not depend on how many dead letters there are, if
// they are more than it counts.
func TestATakeoverReadsNoMoreDeadLettersThanItCounts(t *testing.T) {
	short.Skip(t, "the file has many rows")
	steps := func(dead, waiting int) int {
		log := withRows(t, dead, waiting)
		defer log.Close()
		return stepsOf(t, log, func() {
			found, err := log.TakeOver(t.Context())
			must(t, err)
			if found.Dead != min(dead, rowsCounted) || found.Waiting != waiting {
				t.Errorf("%d dead letters and %d retries are found, want %d and %d", found.Dead, found.Waiting, min(dead, rowsCounted), waiting)
			}
		})
	}
	enough, more := steps(rowsCounted, 3), steps(rowsCounted+20_000, 3)
	if more > enough+1000 {
		t.Errorf("a takeover takes %d steps with %d dead letters, and %d with 20,000 more", enough, rowsCounted, more)
	}
	if few := steps(1000, 3); few > 50_000 {
		t.Errorf("a takeover takes %d steps with 1,000 dead letters", few)
	}
}

func TestTheSearchForUnhandledEventsPassesDeadLetters(t *testing.T) {
	short.Skip(t, "the file has many rows")
	for _, test := range []struct{ dead, waiting, found int }{
		{0, 0, 0}, {100, 0, 0}, {100, 2, 1}, {5 * unhandledLooked, 0, 0}, {5 * unhandledLooked, 2, 1},
	} {
		log := withRows(t, test.dead, test.waiting)
		look := func() {
			found, err := log.Unhandled(t.Context(), nil, 0, func(string) bool { return true })
			must(t, err)
			if len(found.Consumers) != test.found {
				t.Errorf("%d dead letters, %d retries: %v are found, want %d", test.dead, test.waiting, found.Consumers, test.found)
			}
		}
		look()
		if steps := stepsOf(t, log, look, "SELECT type FROM busgen_log"); steps > 30*unhandledLooked {
			t.Errorf("%d dead letters: a look takes %d steps", test.dead, steps)
		}
		must(t, log.Close())
	}
}

// Each minute the owner looks for events to prune. Events with dead letters stay, and it does not
// read them again each time.
func TestPruningDoesNotReadTheEventsOfDeadLettersAgain(t *testing.T) {
	short.Skip(t, "the file has many rows")
	log := withRows(t, 2*stretch+100, 0)
	defer log.Close()
	_, err := log.TakeOver(t.Context())
	must(t, err)
	rows := func(sql string, args ...any) (n int64) {
		must(t, log.read(func(c *database.Conn) error { n, err = c.Int64(sql, args...); return err }))
		return n
	}
	events := rows("SELECT count(*) FROM busgen_log")
	prune := func() (pruned, windows int) {
		var looks atomic.Int64
		trace(t, log, sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, stmt, _ any) error {
			if strings.Contains(stmt.(*sqlite3.Stmt).SQL(), "l.created_at < ?") {
				looks.Add(1)
			}
			return nil
		})
		pruned, err := log.Prune(t.Context(), time.Now().Add(time.Hour))
		must(t, err)
		trace(t, log, 0, nil)
		return pruned, int(looks.Load())
	}
	const all = 2 * stretch / pruneWindow
	if pruned, windows := prune(); pruned != 1 || windows < all { // that of the first event
		t.Errorf("the first time %d events are pruned in %d windows, want 1 in all of them", pruned, windows)
	}
	if pruned, windows := prune(); pruned != 0 || windows > 3 {
		t.Errorf("the second time %d events are pruned in %d windows, want none in those after the last stretch", pruned, windows)
	}
	// An operator purges one of the dead letters, and nobody tells the owner.
	must(t, log.writer.do(t.Context(), func(c *database.Conn) error {
		return c.Exec("DELETE FROM busgen_deliveries WHERE seq = ?", stretch+17)
	}))
	if pruned, windows := prune(); pruned != 1 || windows < all/2-3 || windows > all/2+6 {
		t.Errorf("after a purge %d events are pruned in %d windows, want 1 in those of its stretch", pruned, windows)
	}
	if pruned, windows := prune(); pruned != 0 || windows > 3 {
		t.Errorf("then %d events are pruned in %d windows, want none", pruned, windows)
	}
	if left := rows("SELECT count(*) FROM busgen_log"); left != events-2 {
		t.Errorf("%d of %d events are left, want all but two", left, events)
	}
	// In another log the same numbers mean nothing.
	log.generation.Add(1)
	if _, windows := prune(); windows < all {
		t.Errorf("in a log that was restored %d windows are read, want all", windows)
	}
}

// Dead letters are grouped in the order of the log if there are many, and found by their index if
// there are few.
func TestDeadLettersAreGroupedInTheOrderOfTheLog(t *testing.T) {
	for _, test := range []struct {
		dead, waiting int
		filter        engine.Filter
		byIndex       bool
	}{{50, 3, engine.Filter{}, false}, {3, 50, engine.Filter{}, true}, {50, 3, engine.Filter{Filter: event.Filter{Group: "x"}}, true}} {
		log := withRows(t, test.dead, test.waiting)
		var plan []string
		must(t, log.read(func(c *database.Conn) error {
			sql := ""
			must(t, c.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, stmt, _ any) error {
				if text := stmt.(*sqlite3.Stmt).SQL(); strings.Contains(text, "d.dead_at, d.subscription, l.type") {
					sql = text
				}
				return nil
			}))
			groups, err := readGroups(c, test.filter)
			must(t, err)
			if len(groups) != 1 || groups[0].Count != test.dead {
				t.Errorf("%d dead letters: the groups are %+v, want one with all of them", test.dead, groups)
			}
			must(t, c.Trace(0, nil))
			s, _, err := c.Prepare("EXPLAIN QUERY PLAN " + sql)
			must(t, err)
			defer s.Close()
			for s.Step() {
				plan = append(plan, s.ColumnText(3))
			}
			return s.Err()
		}))
		if byIndex := strings.Contains(strings.Join(plan, "\n"), "busgen_deliveries_"); byIndex != test.byIndex {
			t.Errorf("%d dead letters and %d retries, %+v: %q, by an index should be %v", test.dead, test.waiting, test.filter, plan, test.byIndex)
		}
		must(t, log.Close())
	}
}
