package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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
		db := sql.OpenDB(log.Connector(engine.ErrClosed, func(context.Context) func(*engine.Record) error { return nil }))
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

// A function whose event cannot be written fails alone, whoever makes the events be written, and whoever
// publishes after that.
func TestAFunctionWhoseEventCannotBeWrittenFailsAlone(t *testing.T) {
	looking := func(report bool) func(tx engine.Tx) error {
		return func(tx engine.Tx) error {
			var n int
			err := counting("SELECT count(*) FROM events", &n)(tx)
			if report {
				return err
			}
			return nil
		}
	}
	own := executing("INSERT INTO own VALUES (1)")
	for how, before := range map[string]func(tx engine.Tx) error{
		"nobody looks":                     own,
		"one looks and does not care":      looking(false),
		"one looks and returns the error":  looking(true),
		"one publishes so many that it is": func(tx engine.Tx) error { return tx.Append(heldRecords(maxInsertRows)) },
	} {
		t.Run(how, func(t *testing.T) {
			grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
				must(t, transact(log, executing("CREATE TABLE own (n INTEGER)")))
				var last int64
				runs := 0
				twice := heldRecord()
				same := func(tx engine.Tx) error { return tx.Append([]engine.Record{twice}) }
				errs := transactTogether(t, log, func(tx engine.Tx) error {
					runs++
					return own(tx)
				}, same, same, before, publishing(&last))
				if errs[0] != nil || errs[1] != nil || errs[2] == nil || errs[3] != nil || errs[4] != nil {
					t.Errorf("the errors are %v", errs)
				}
				if runs != 2 {
					t.Errorf("the first function runs %d times, want 2", runs)
				}
				stored := storedSeqs(t, log)
				if newest := stored[len(stored)-1]; newest != last || int(newest) != len(stored) {
					t.Errorf("the last function was told %d, and there are %v", last, stored)
				}
			})
		})
	}
}

func heldRecords(n int) []engine.Record {
	records := make([]engine.Record, n)
	for i := range records {
		records[i] = heldRecord()
	}
	return records
}

// Whether a batch is held depends on its size. Who does wrong does not.
func TestABatchThatCannotBeWrittenFailsAlone(t *testing.T) {
	for _, n := range []int{2, maxInsertRows - 1, maxInsertRows, maxInsertRows + 1} {
		grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
			must(t, transact(log, executing("CREATE TABLE own (n INTEGER)")))
			batch := heldRecords(n)
			batch[n-1].ID = batch[0].ID
			errs := transactTogether(t, log, executing("INSERT INTO own VALUES (1)"), func(tx engine.Tx) error { return tx.Append(batch) })
			if errs[0] != nil || errs[1] == nil {
				t.Errorf("%d events: the errors are %v", n, errs)
			}
		})
	}
}

// Another process has begun to move the file, which refuses events from then on.
func TestFunctionsOfAFileThatIsBeingMovedAreToldSo(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		must(t, transact(log, executing("CREATE TABLE own (n INTEGER)")))
		other, err := database.Connect(log.path, disk.Name(), sqlite3.OPEN_READWRITE)
		must(t, err)
		must(t, setLabel(other, "nats://there/bus"))
		must(t, other.Close())
		var seq int64
		var n int
		errs := transactTogether(t, log, publishing(&seq), counting("SELECT count(*) FROM events", &n), executing("INSERT INTO own VALUES (1)"))
		if errs[0] == nil || !strings.Contains(errs[0].Error(), "were moved to nats://there/bus") || errs[1] != nil || errs[2] != nil {
			t.Errorf("the errors are %v", errs)
		}
	})
}

// A restored file has views and triggers of its own, which statements that were prepared before do not know.
func TestAFunctionFindsEventsInAViewThatWasRestored(t *testing.T) {
	for how, second := range map[string]func(tx engine.Tx) error{
		"by the view":    func(tx engine.Tx) error { return wantCount(tx, "SELECT count(*) FROM mine", 2) },
		"by the trigger": executing("INSERT INTO own VALUES (1)"),
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{})
				must(t, err)
				defer log.Close()
				appendOne(t, log)
				must(t, transact(log, executing("CREATE TABLE own (n INTEGER)")))
				must(t, transact(log, executing("CREATE TRIGGER tr AFTER INSERT ON own BEGIN INSERT INTO outbox (type, payload) VALUES ('a.b', '{}'); END")))
				must(t, transact(log, executing("CREATE VIEW mine AS SELECT id FROM events")))
				backup := filepath.Join(t.TempDir(), "backup.db")
				must(t, log.writer.conn.Exec("VACUUM INTO ?", backup))
				must(t, transact(log, executing("DROP VIEW mine")))
				must(t, transact(log, executing("DROP TRIGGER tr")))
				must(t, transact(log, executing("CREATE VIEW mine AS SELECT 1 AS id")))
				appendOne(t, log)
				must(t, transact(log, func(tx engine.Tx) error { return wantCount(tx, "SELECT count(*) FROM mine", 1) }))
				must(t, transact(log, executing("INSERT INTO own VALUES (1)")))
				restore, err := sqlite3.Open("file:" + log.path)
				must(t, err)
				must(t, restore.Restore("main", "file:"+backup))
				must(t, restore.Close())
				var seq int64
				must(t, errors.Join(transactTogether(t, log, publishing(&seq), second)...))
				if seq != 2 {
					t.Errorf("the event has the number %d, want 2", seq)
				}
			})
		})
	}
}

func wantCount(tx engine.Tx, query string, want int) error {
	var n int
	err := counting(query, &n)(tx)
	if err == nil && n != want {
		err = fmt.Errorf("it finds %d, want %d", n, want)
	}
	return err
}

// The context of who looks may end while the events of others are written. That is not theirs to suffer.
func TestWhoEndsWhileTheEventsOfOthersAreWrittenTakesNothingBack(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		ctx, cancel := context.WithCancel(t.Context())
		defer log.writer.conn.UpdateHook(nil)
		runs := 0
		errs := transactTogether(t, log, func(tx engine.Tx) error {
			runs++
			return tx.Append(heldRecords(maxInsertRows - 1))
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

func TestEventsAreHeldAgainAfterSomeThatCouldNotBe(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		twice := heldRecord()
		same := func(tx engine.Tx) error { return tx.Append([]engine.Record{twice}) }
		transactTogether(t, log, same, same)
		var seq int64
		must(t, errors.Join(transactTogether(t, log, publishing(&seq), func(tx engine.Tx) error {
			if held := tx.(*run).held; held != 1 {
				t.Errorf("%d events are held, want 1", held)
			}
			return nil
		})...))
	})
}
