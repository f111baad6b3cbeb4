package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// publishing is a function that publishes one event. It notes the event's number.
func publishing(seq *int64) func(tx engine.Tx) error {
	return func(tx engine.Tx) error {
		records := []engine.Record{heldRecord()}
		err := tx.Append(records)
		*seq = records[0].Seq
		return err
	}
}

func heldRecord() engine.Record {
	return engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "a.b", Payload: []byte("{}"), CreatedAt: time.Now()}
}

// counting is a function that asks how many events there are.
func counting(query string, n *int) func(tx engine.Tx) error {
	return func(tx engine.Tx) error {
		return tx.QueryRowContext(context.Background(), query).Scan(n)
	}
}

// The events of functions that share a transaction are written together. Each function finds those of the
// functions before it, however it looks. One event is there before the functions.
func TestAFunctionFindsTheEventsOfThoseBeforeIt(t *testing.T) {
	for _, c := range []struct {
		how    string
		before []string // run in transactions of their own
		within string   // run between publishing and looking, by another function
		look   string
		want   int
	}{
		{"in the view", nil, "", "SELECT count(*) FROM events", 3},
		{"in the table", nil, "", "SELECT count(*) FROM busgen_log", 3},
		{"by another name", nil, "", "SELECT count(id) FROM EVENTS", 3},
		{"in a view of the program", []string{"CREATE VIEW mine AS SELECT * FROM events"}, "", "SELECT count(*) FROM mine", 3},
		{"by a trigger", []string{
			"CREATE TABLE looks (n INTEGER)", "CREATE TABLE found (n INTEGER)",
			"CREATE TRIGGER look AFTER INSERT ON looks BEGIN INSERT INTO found SELECT count(*) FROM events; END",
		}, "INSERT INTO looks VALUES (1)", "SELECT n FROM found", 3},
		{"by a script", []string{"CREATE TABLE found (n INTEGER)"}, "DELETE FROM found; INSERT INTO found SELECT count(*) FROM events", "SELECT n FROM found", 3},
		{"after publishing through outbox", nil, "INSERT INTO outbox (type, payload) VALUES ('a.b', '{}')", "SELECT count(*) FROM events", 4},
	} {
		t.Run(c.how, func(t *testing.T) {
			grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
				for _, statement := range c.before {
					must(t, transact(log, executing(statement)))
				}
				var first, second int64
				var n int
				transact(log, counting(c.look, &n)) // it is prepared now
				must(t, errors.Join(transactTogether(t, log, publishing(&first), publishing(&second), func(tx engine.Tx) error {
					if c.within == "" {
						return nil
					}
					return executing(c.within)(tx)
				}, counting(c.look, &n))...))
				if n != c.want {
					t.Errorf("it finds %d, want %d", n, c.want)
				}
				if first != 2 || second != 3 {
					t.Errorf("the events have the numbers %d and %d, want 2 and 3", first, second)
				}
			})
		})
	}
}

func TestAFunctionFindsEventsInAViewThatAFunctionBeforeItHasChanged(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		must(t, transact(log, executing("CREATE VIEW mine AS SELECT 1 AS id")))
		var seq int64
		var n int
		must(t, transact(log, counting("SELECT count(*) FROM mine", &n)))
		must(t, errors.Join(transactTogether(t, log,
			executing("DROP VIEW mine"), executing("CREATE VIEW mine AS SELECT id FROM events"),
			publishing(&seq), counting("SELECT count(*) FROM mine", &n))...))
		if n != 2 {
			t.Errorf("it finds %d, want 2", n)
		}
	})
}

func TestAFunctionPublishesAfterItHasPublishedThroughOutbox(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		var first, second, third int64
		must(t, errors.Join(transactTogether(t, log, publishing(&first), func(tx engine.Tx) error {
			return errors.Join(executing("INSERT INTO outbox (type, payload) VALUES ('a.b', '{}')")(tx), publishing(&second)(tx))
		}, publishing(&third))...))
		if first != 2 || second != 4 || third != 5 {
			t.Errorf("the numbers are %d, %d and %d, want 2, 4 and 5", first, second, third)
		}
		if got := storedSeqs(t, log); !slices.Equal(got, []int64{1, 2, 3, 4, 5}) {
			t.Errorf("the events %v are stored", got)
		}
	})
}

func storedSeqs(t *testing.T, log *Log) (stored []int64) {
	must(t, log.read(func(c *database.Conn) error {
		return c.Query("SELECT seq FROM busgen_log ORDER BY seq", func(s *sqlite3.Stmt) error {
			stored = append(stored, s.ColumnInt64(0))
			return nil
		})
	}))
	return stored
}

// Another program, or bus.DB, can change what a statement reads between two transactions.
func TestAFunctionFindsEventsInAViewThatAnotherConnectionHasChanged(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		must(t, transact(log, executing("CREATE VIEW mine AS SELECT 1 AS id")))
		var seq int64
		var n int
		must(t, transact(log, counting("SELECT count(*) FROM mine", &n)))
		db := sql.OpenDB(log.Connector(engine.ErrClosed))
		defer db.Close()
		_, err := db.Exec("DROP VIEW mine; CREATE VIEW mine AS SELECT id FROM events")
		must(t, err)
		must(t, errors.Join(transactTogether(t, log, publishing(&seq), counting("SELECT count(*) FROM mine", &n))...))
		if n != 2 {
			t.Errorf("it finds %d, want 2", n)
		}
	})
}

// A function that looks makes the events of others be written in its own savepoint. If it fails,
// they are not lost with that.
func TestEventsThatWereWrittenForAFunctionThatFailsAreStoredAllTheSame(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		var first, refused, second int64
		var n int
		no := errors.New("no")
		errs := transactTogether(t, log, publishing(&first), func(tx engine.Tx) error {
			return errors.Join(publishing(&refused)(tx), counting("SELECT count(*) FROM events", &n)(tx), no)
		}, publishing(&second))
		if errs[0] != nil || !errors.Is(errs[1], no) || errs[2] != nil {
			t.Fatalf("the errors are %v", errs)
		}
		if n != 3 || first != 2 || refused != 3 || second != 3 {
			t.Errorf("the function found %d; the numbers are %d, %d and %d", n, first, refused, second)
		}
		if got := storedSeqs(t, log); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("the events %v are stored", got)
		}
	})
}

// If the events of several functions cannot be written, none of them is told that its own are stored: not
// even if the function that made them be written does not care.
func TestEventsThatCannotBeWrittenTogetherAreNobodysSuccess(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		twice := heldRecord()
		same := func(tx engine.Tx) error { return tx.Append([]engine.Record{twice}) }
		errs := transactTogether(t, log, same, same, func(tx engine.Tx) error {
			var n int
			if err := counting("SELECT count(*) FROM events", &n)(tx); err == nil {
				t.Error("two events with one id are written")
			}
			return nil
		})
		for i, err := range errs {
			if err == nil {
				t.Errorf("function %d is told that all is well", i)
			}
		}
		appendOne(t, log)
		if n, err := log.writer.conn.Int64("SELECT count(*) FROM busgen_log"); n != 2 || err != nil {
			t.Errorf("there are %d events, %v, want 2", n, err)
		}
	})
}

// The context of who looks may end while the events of others are written. That is not theirs to suffer.
func TestWhoEndsWhileTheEventsOfOthersAreWrittenTakesNothingBack(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		ctx, cancel := context.WithCancel(t.Context())
		defer log.writer.conn.UpdateHook(nil)
		runs := 0
		errs := transactTogether(t, log, func(tx engine.Tx) error {
			runs++
			records := make([]engine.Record, maxInsertRows-1)
			for i := range records {
				records[i] = heldRecord()
			}
			return tx.Append(records)
		}, func(tx engine.Tx) error {
			log.writer.conn.UpdateHook(func(sqlite3.AuthorizerActionCode, string, string, int64) { cancel() })
			_, err := tx.ExecContext(ctx, "SELECT count(*) FROM events")
			return err
		})
		if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || runs != 1 {
			t.Errorf("the errors are %v, and the first function ran %d times", errs, runs)
		}
	})
}
