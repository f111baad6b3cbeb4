package txtest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/transact"
)

// value returns the only value that a query finds.
func value[T any](f *fixture, from interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, query string, args ...any) (v T) {
	f.Helper()
	f.must(from.QueryRowContext(context.Background(), query, args...).Scan(&v))
	return v
}

func TestTheDatabaseOfABusIsConfiguredLikeTheBus(t *testing.T) {
	f := open(t, 3)
	for query, want := range map[string]string{
		"SELECT count(*) FROM account": "3", "PRAGMA journal_mode": "wal", "PRAGMA foreign_keys": "1", "PRAGMA synchronous": "2",
	} {
		if got := value[string](f, runtime.DB(f.Bus), query); got != want {
			t.Errorf("%s gives %s, want %s", query, got, want)
		}
	}
	if runtime.DB(f.Bus) != runtime.DB(f.Bus) {
		t.Error("there are two databases")
	}
	f.must(f.Shutdown(t.Context()))
	f.reopen(runtime.WithDurability(runtime.Normal))
	if got := value[int](f, runtime.DB(f.Bus), "PRAGMA synchronous"); got != 1 {
		t.Errorf("without syncs synchronous is %d", got)
	}
}

// Nobody is refused because somebody else writes: not those who read first, and not the bus.
func TestTransactionsOfTheDatabaseAndTheBusTakeTurns(t *testing.T) {
	f := open(t, 1)
	handled := make(chan int, 1000)
	_, err := runtime.Subscribe(f.Bus, bookedType, "seen", func(_ context.Context, e runtime.Event[booking]) error {
		handled <- e.Payload.Amount
		return nil
	})
	f.must(err)
	f.must(f.Start(t.Context()))
	ctx := context.Background()
	var wg sync.WaitGroup
	work := func(what string, f func() error) {
		wg.Go(func() {
			for range 10 {
				if err := f(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
	for range 8 {
		work("the database", func() error {
			tx, err := runtime.DB(f.Bus).BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer tx.Rollback()
			var balance int
			if err := tx.QueryRow("SELECT balance FROM account").Scan(&balance); err != nil {
				return err
			}
			if _, err := tx.Exec("UPDATE account SET balance = ?", balance+1); err != nil {
				return err
			}
			if _, err := runtime.Publish(ctx, runtime.In(f.Bus, tx), bookedType, booking{1, 1}); err != nil {
				return err
			}
			return tx.Commit()
		})
		work("a statement", func() error {
			_, err := runtime.DB(f.Bus).Exec("UPDATE account SET balance = balance + 1")
			return err
		})
		work("Transact", func() error {
			return runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 1) })
		})
		work("Publish", func() error { _, err := runtime.Publish(ctx, f.Bus, bookedType, booking{1, 0}); return err })
	}
	wg.Wait()
	for range 3 * 80 {
		<-handled
	}
	f.must(f.Shutdown(ctx))
	f.reopen()
	f.wantNumber(100+3*80, "SELECT balance FROM account")
	f.must(f.Shutdown(ctx))
	wantSound(t, f.path)
}

func TestAReadOnlyTransactionOfTheDatabaseIsASnapshot(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	tx, err := runtime.DB(f.Bus).BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	f.must(err)
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 5) })) // nobody waits for it
	if got := value[int](f, tx, "SELECT balance FROM account"); got != 100 {
		t.Errorf("the balance is %d in a transaction that has begun before it was changed", got)
	}
	for _, statement := range []string{"UPDATE account SET balance = 1", "SELECT 1; DELETE FROM account", "INSERT INTO outbox (type, payload) VALUES ('money.booked', '{}')"} {
		if _, err := tx.Exec(statement); err == nil || !strings.Contains(err.Error(), "begun with ReadOnly") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	var refused *event.JoinError
	if _, err := runtime.Publish(ctx, runtime.In(f.Bus, tx), bookedType, booking{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "can only read") {
		t.Errorf("publishing in it gives %v", err)
	}
	f.must(tx.Commit())
	if got := value[int](f, runtime.DB(f.Bus), "SELECT balance FROM account"); got != 105 {
		t.Errorf("the balance is %d after it", got)
	}
	for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelRepeatableRead, sql.LevelSnapshot} {
		if _, err := runtime.DB(f.Bus).BeginTx(ctx, &sql.TxOptions{Isolation: level}); err == nil || !strings.Contains(err.Error(), "serializable") {
			t.Errorf("%v: %v", level, err)
		}
	}
	tx, err = runtime.DB(f.Bus).BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSerializable})
	f.must(err)
	f.must(tx.Rollback())
}

func TestWhatTheDatabaseMustNotDoIsRefusedInWords(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	conn, err := runtime.DB(f.Bus).Conn(ctx)
	f.must(err)
	defer conn.Close()
	for statement, want := range map[string]string{
		"DELETE FROM busgen_log":                                                        "belongs to the bus",
		"UPDATE busgen_subscriptions SET cursor = 0":                                    "belongs to the bus",
		"SELECT 1; DROP TABLE busgen_types":                                             "belongs to the bus",
		"CREATE TABLE busgen_mine (x)":                                                  "belongs to the bus",
		"CREATE TEMP TABLE busgen_log (x)":                                              "belongs to the bus",
		"CREATE TEMP VIEW events AS SELECT 1":                                           "belongs to the bus",
		"CREATE TEMP TRIGGER busgen_outbox AFTER INSERT ON account BEGIN SELECT 1; END": "belongs to the bus",
		"CREATE TRIGGER mine AFTER INSERT ON busgen_log BEGIN SELECT 1; END":            "belongs to the bus",
		"DROP TRIGGER busgen_outbox":                                                    "belongs to the bus",
		"ALTER TABLE busgen_log RENAME TO mine":                                         "belongs to the bus",
		"CREATE INDEX mine ON busgen_log (payload)":                                     "belongs to the bus",
		"CREATE INDEX busgen_mine ON account (seen)":                                    "belongs to the bus",
		"PRAGMA journal_mode = DELETE":                                                  "would change the file",
		"CREATE TABLE mine (x REFERENCES busgen_log)":                                   "refers to busgen_log",
		"PRAGMA user_version = 99":                                                      "would change the file",
		"PRAGMA writable_schema = ON":                                                   "would change the file",
		"PRAGMA synchronous = OFF":                                                      "would change the file",
		"PRAGMA wal_checkpoint(TRUNCATE)":                                               "would change the file",
		"CREATE TRIGGER fires AFTER INSERT ON account BEGIN INSERT INTO busgen_log (payload) VALUES (1); END": "", // refused when it fires
	} {
		_, err := conn.ExecContext(ctx, statement)
		if want == "" {
			f.must(err)
			want = "belongs to the bus"
			_, err = conn.ExecContext(ctx, "INSERT INTO account (id, balance) VALUES (7, 7)")
		}
		var refused *event.ProtectedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	copied := filepath.ToSlash(filepath.Join(t.TempDir(), "copy.db"))
	for _, statement := range []string{
		"DROP TRIGGER fires", "VACUUM INTO '" + copied + "'", "CREATE TABLE mine (x)", "CREATE INDEX mine_x ON mine (x)", "ALTER TABLE mine RENAME TO his",
		"SAVEPOINT a; INSERT INTO his VALUES (1); RELEASE a", "CREATE TEMP TABLE passing (x)", "ATTACH '" + copied + "' AS copied", "DROP TABLE his", "VACUUM",
	} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	f.must(conn.Close())
	f.must(f.Shutdown(ctx))
	wantSound(t, f.path)
	wantSound(t, copied)
}

func TestWhatAConnectionHasChangedIsNotThereForTheNext(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	runtime.DB(f.Bus).SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA foreign_keys = OFF", "CREATE TEMP TABLE passing (x)", "BEGIN IMMEDIATE", "BEGIN; UPDATE account SET balance = 7"} {
		conn, err := runtime.DB(f.Bus).Conn(ctx)
		f.must(err)
		_, err = conn.ExecContext(ctx, statement)
		f.must(err)
		f.must(conn.Close())
		if on := value[int](f, runtime.DB(f.Bus), "SELECT foreign_keys FROM pragma_foreign_keys"); on != 1 {
			t.Errorf("after %s foreign keys are off", statement)
		}
		if n := value[int](f, runtime.DB(f.Bus), "SELECT count(*) FROM sqlite_temp_schema"); n != 0 {
			t.Errorf("after %s there are temporary tables", statement)
		}
		f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 0) })) // nobody writes
	}
	f.wantNumber(100, "SELECT balance FROM account")
}

func TestTheEndOfABusEndsItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 3)
		ctx := context.Background()
		rows, err := runtime.DB(f.Bus).Query("SELECT id FROM account")
		f.must(err)
		if !rows.Next() {
			t.Fatal(rows.Err())
		}
		statement, err := runtime.DB(f.Bus).Prepare("SELECT 1")
		f.must(err)
		conn, err := runtime.DB(f.Bus).Conn(ctx)
		f.must(err)
		tx, err := runtime.DB(f.Bus).Begin()
		f.must(err)
		_, err = tx.Exec("UPDATE account SET balance = 0")
		f.must(err)
		waiting := make(chan error)
		go func() { _, err := conn.ExecContext(ctx, "UPDATE account SET balance = 1"); waiting <- err }()
		synctest.Wait()

		db, began := runtime.DB(f.Bus), time.Now()
		f.must(f.Shutdown(ctx))
		if took := time.Since(began); took > 0 {
			t.Errorf("the shutdown has taken %v", took)
		}
		if err := <-waiting; err != runtime.ErrShutdown {
			t.Errorf("who waited gets %v", err)
		}
		for rows.Next() {
		}
		for what, err := range map[string]error{
			"rows": rows.Err(), "a statement of a transaction": tx.QueryRow("SELECT 1").Scan(new(int)), "its commit": tx.Commit(), "a connection": conn.PingContext(ctx),
		} {
			if what == "a connection" {
				_, err = conn.ExecContext(ctx, "SELECT 1")
			}
			if !errors.Is(err, runtime.ErrShutdown) {
				t.Errorf("%s gives %v", what, err)
			}
		}
		if err := db.Ping(); err == nil {
			t.Error("the database goes on")
		}
		if _, err := statement.Query(); err == nil {
			t.Error("a statement goes on")
		}
		if runtime.DB(f.Bus) != db {
			t.Error("there is another database")
		}
		f.must(errors.Join(rows.Close(), conn.Close()))
		before := f.Bus
		f.reopen()
		f.wantNumber(3, "SELECT count(*) FROM account WHERE balance = 100")
		f.must(f.Shutdown(ctx))
		if err := runtime.DB(f.Bus).Ping(); err == nil || before == f.Bus {
			t.Error("a database that is asked for after the shutdown can be used")
		}
	})
}

func TestAnInterruptedStatementEndsItsTransactionOfTheDatabase(t *testing.T) {
	f := open(t, 1)
	tx, err := runtime.DB(f.Bus).Begin()
	f.must(err)
	_, err = tx.Exec("UPDATE account SET balance = 0")
	f.must(err)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := tx.ExecContext(ctx, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) INSERT INTO entry (account, amount) SELECT 1, i FROM n"); err == nil {
		t.Error("an endless statement ends without an error")
	}
	if _, err := tx.Exec("INSERT INTO entry (account, amount) VALUES (1, 1)"); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("the next statement gives %v", err)
	}
	if err := tx.Commit(); err == nil || !strings.Contains(err.Error(), "rolled back") {
		t.Errorf("Commit gives %v", err)
	}
	f.wantNumber(100, "SELECT balance FROM account")
	f.wantNumber(0, "SELECT count(*) FROM entry")

	canceled, cancel := context.WithCancel(t.Context())
	tx, err = runtime.DB(f.Bus).BeginTx(canceled, nil)
	f.must(err)
	_, err = tx.Exec("UPDATE account SET balance = 0")
	f.must(err)
	cancel() // which rolls back
	if err := tx.Commit(); err == nil {
		t.Error("a transaction whose context has ended is committed")
	}
	_, err = runtime.DB(f.Bus).Exec("INSERT INTO entry (account, amount) VALUES (1, 1)")
	f.must(err)
	f.wantNumber(100, "SELECT balance FROM account")

	// A reference that is missing is found at the end.
	tx, err = runtime.DB(f.Bus).Begin()
	f.must(err)
	_, err = tx.Exec("INSERT INTO entry (account, amount) VALUES (1000, 1)")
	f.must(err)
	if err := tx.Commit(); err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("Commit gives %v", err)
	}
	f.wantNumber(1, "SELECT count(*) FROM entry")
}

func TestWhoHasBegunATransactionDoesNotWaitForItself(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	tx, err := runtime.DB(f.Bus).Begin()
	f.must(err)
	if _, err := runtime.Publish(ctx, f.Bus, bookedType, booking{}); !errors.Is(err, transact.ErrInTx) || !strings.Contains(err.Error(), "runtime.In") {
		t.Errorf("publishing beside a transaction of the database gives %v", err)
	}
	if err := runtime.Transact(ctx, f.Bus, func(runtime.Tx) error { return nil }); !errors.Is(err, transact.ErrInTx) {
		t.Errorf("another transaction gives %v", err)
	}
	f.must(tx.Rollback())
	f.must(runtime.Transact(ctx, f.Bus, func(runtime.Tx) error {
		if _, err := runtime.DB(f.Bus).Exec("UPDATE account SET balance = 0"); !errors.Is(err, transact.ErrInTx) {
			t.Errorf("writing with the database in a function gives %v", err)
		}
		if _, err := runtime.DB(f.Bus).Begin(); !errors.Is(err, transact.ErrInTx) {
			t.Errorf("beginning a transaction of the database gives %v", err)
		}
		if got := value[int](f, runtime.DB(f.Bus), "SELECT balance FROM account"); got != 100 {
			t.Errorf("the balance is %d", got)
		}
		return nil
	}))
	_, err = runtime.Publish(ctx, f.Bus, bookedType, booking{})
	f.must(err)
}

func TestATransactionOfTheDatabaseHoldsUpOthersForFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx := context.Background()
		tx, err := runtime.DB(f.Bus).Begin()
		f.must(err)
		var wg sync.WaitGroup
		began := time.Now()
		for what, do := range map[string]func() error{
			"Publish":     func() error { _, err := runtime.Publish(ctx, f.Bus, bookedType, booking{}); return err },
			"Transact":    func() error { return runtime.Transact(ctx, f.Bus, func(runtime.Tx) error { return nil }) },
			"a statement": func() error { _, err := runtime.DB(f.Bus).Exec("UPDATE account SET balance = 0"); return err },
			"BeginTx":     func() error { _, err := runtime.DB(f.Bus).Begin(); return err },
		} {
			wg.Go(func() {
				err := do()
				var busy *event.StorageError
				if !errors.As(err, &busy) || busy.Fault != event.Busy || !strings.Contains(err.Error(), "a transaction of this program") {
					t.Errorf("%s gives %v", what, err)
				}
				if took := time.Since(began); took < 5*time.Second || took > 11*time.Second {
					t.Errorf("%s gives up after %v", what, took)
				}
			})
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := runtime.DB(f.Bus).ExecContext(short, "UPDATE account SET balance = 0"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a context that ends: %v", err)
		}
		wg.Wait()
		f.must(tx.Commit())
		f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { return f.book(ctx, tx, 1, 1) }))
		_, err = runtime.DB(f.Bus).Exec("UPDATE account SET balance = balance + 1")
		f.must(err)
		f.wantNumber(102, "SELECT balance FROM account")
	})
}
