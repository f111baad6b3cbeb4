package txtest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/observe"
)

func TestAfterAStatementHasRolledBackAllNothingMoreIsWritten(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	err := runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
		tx.ExecContext(ctx, "INSERT OR ROLLBACK INTO account (id, balance) VALUES (1, 1)") // the error is ignored
		f.book(ctx, tx, 1, 5)
		tx.ExecContext(ctx, "INSERT INTO entry (account, amount) VALUES (1, 5)")
		tx.ExecContext(ctx, "SAVEPOINT mine")
		runtime.Publish(ctx, tx, bookedType, booking{})
		return nil
	})
	if err == nil {
		t.Error("there is no error")
	}
	f.wantNumber(100, "SELECT balance FROM account")
	f.wantNumber(0, "SELECT count(*) FROM entry")
	f.wantNumber(0, "SELECT count(*) FROM events WHERE type = 'money.booked'")
}

func TestPreparedStatementsFollowTheSchema(t *testing.T) {
	f := open(t, 1, runtime.WithTxLimit(time.Minute)) // a machine may be slow
	ctx := t.Context()
	columns := func() (names []string) {
		f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
			rows, err := tx.QueryContext(ctx, "SELECT * FROM account")
			if err == nil {
				names, err = rows.Columns()
			}
			return err
		}))
		return names
	}
	before := columns()
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, "ALTER TABLE account DROP COLUMN seen")
		return err
	}))
	if after := columns(); len(before) != 3 || len(after) != 2 {
		t.Errorf("the columns were %v, and are %v", before, after)
	}
}

// An observer may use the bus, also while others hold it.
func TestObserversOfTransactionalHandlersMayUseTheBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fixture
		told := 0
		f = open(t, 1, runtime.WithObserver(observe.Observer{Handled: func(e observe.HandledInfo) {
			if told++; told == 1 {
				f.Stats()
				if _, err := runtime.Publish(context.Background(), f.Bus, bookedType, booking{1, 0}); err != nil {
					t.Errorf("publishing gives %v", err)
				}
			}
		}}))
		_, err := runtime.SubscribeTx(f.Bus, bookedType, "book", func(context.Context, runtime.Tx, runtime.Event[booking]) error { return nil })
		f.must(err)
		f.must(f.Start(t.Context()))
		f.must(f.settled(1).Err())
		f.must(f.WaitIdle(t.Context()))
		synctest.Wait()
		if told != 2 {
			t.Errorf("the observer was told %d times, want 2", told)
		}
	})
}

func TestAFunctionThatWaitsForAnotherTransactionIsNotCalledAfterItsContextHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		defer cancel()
		outcome := make(chan error, 1)
		f.must(runtime.Transact(t.Context(), f.Bus, func(runtime.Tx) error {
			go runtime.Transact(context.Background(), f.Bus, func(runtime.Tx) error {
				time.Sleep(80 * time.Millisecond) // so that the rest is postponed
				return nil
			})
			synctest.Wait()
			go func() {
				outcome <- runtime.Transact(ctx, f.Bus, func(runtime.Tx) error {
					t.Error("it is called")
					return nil
				})
			}()
			synctest.Wait()
			return nil
		}))
		if err := <-outcome; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v", err)
		}
	})
}

// SQLite deletes them one by one, so that it can be interrupted.
func TestDeletingAllRowsSaysHowManyThereWere(t *testing.T) {
	f := open(t, 0, patient)
	ctx := t.Context()
	fill := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000) INSERT INTO mine SELECT i FROM n"
	f.within(func(tx runtime.Tx) {
		_, err := tx.ExecContext(ctx, "CREATE TABLE mine (id INTEGER PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM mine; "+fill)
		f.must(err)
	})
	f.within(func(tx runtime.Tx) {
		result, err := tx.ExecContext(ctx, "DELETE FROM mine")
		f.must(err)
		if n, _ := result.RowsAffected(); n != 20000 {
			t.Errorf("%d rows are deleted, want 20000", n)
		}
	})
	f.wantNumber(0, "SELECT count(*) FROM mine")
	f.within(func(tx runtime.Tx) {
		_, err := tx.ExecContext(ctx, "CREATE INDEX mine_id ON mine (id); CREATE TRIGGER none AFTER INSERT ON mine BEGIN SELECT 1; END; ANALYZE mine")
		f.must(err)
		for _, statement := range []string{"DROP TRIGGER none", "DROP INDEX mine_id", "DROP VIEW seen", "DROP TABLE mine", "DROP TABLE account"} {
			_, err := tx.ExecContext(ctx, statement)
			f.must(err)
		}
	})
	f.wantNumber(0, "SELECT count(*) FROM sqlite_schema WHERE name IN ('none', 'mine_id', 'seen', 'mine', 'account')")
}

func TestAValueThatIsTooLongIsRefused(t *testing.T) {
	f := open(t, 1, patient)
	ctx := t.Context()
	for _, args := range [][]any{{"INSERT INTO entry (account, amount) VALUES (1, zeroblob(100000000))"}, {"INSERT INTO entry (account, amount) VALUES (1, ?)", sqlite3.ZeroBlob(100_000_000)}} {
		err := runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, args[0].(string), args[1:]...)
			return err
		})
		if !errors.Is(err, sqlite3.TOOBIG) {
			t.Errorf("%v: the error is %v", args, err)
		}
	}
	f.wantNumber(0, "SELECT count(*) FROM entry")
}
