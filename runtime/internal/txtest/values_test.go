package txtest

import (
	"database/sql"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
)

// within runs f in a transaction.
func (f *fixture) within(function func(tx runtime.Tx)) {
	f.Helper()
	f.must(runtime.Transact(f.Context(), f.Bus, func(tx runtime.Tx) error {
		function(tx)
		return nil
	}))
}

func TestValuesOfTheDriverAreStored(t *testing.T) {
	f := open(t, 0, patient)
	f.within(func(tx runtime.Tx) {
		var text, kind string
		var again []int
		f.must(tx.QueryRowContext(t.Context(), "SELECT ?1, ?1, typeof(?2)", sqlite3.JSON([]int{1, 2}), sqlite3.Pointer(f)).Scan(&text, sqlite3.JSON(&again), &kind))
		if text != "[1,2]" || len(again) != 2 || kind != "null" {
			t.Errorf("read were %q, %v, %q", text, again, kind)
		}
		_, err := tx.ExecContext(t.Context(), "INSERT INTO account (id, balance, seen) VALUES (1, 1, ?)", sqlite3.JSON(make(chan int)))
		if err == nil {
			t.Error("a channel is stored as JSON")
		}
	})
	f.wantNumber(0, "SELECT count(*) FROM account")
}

func TestATextWithoutAStatementDoesNothing(t *testing.T) {
	f := open(t, 0, patient)
	for _, text := range []string{"", " \n;", "-- nothing", "/* nothing */ ; -- at all"} {
		f.within(func(tx runtime.Tx) {
			result, err := tx.ExecContext(t.Context(), text)
			f.must(err)
			if n, _ := result.RowsAffected(); n != 0 {
				t.Errorf("%q affects %d rows", text, n)
			}
			stmt, err := tx.PrepareContext(t.Context(), text)
			f.must(err)
			_, err = stmt.ExecContext(t.Context())
			f.must(err)
			rows, err := tx.QueryContext(t.Context(), text)
			f.must(err)
			if rows.Next() || rows.Err() != nil {
				t.Errorf("%q has rows, or the error %v", text, rows.Err())
			}
			if err := tx.QueryRowContext(t.Context(), text).Scan(new(int)); err != sql.ErrNoRows {
				t.Errorf("the row of %q gives %v", text, err)
			}
			if _, err := tx.ExecContext(t.Context(), text, 1); err == nil {
				t.Errorf("%q takes a value", text)
			}
		})
	}
	_, err := runtime.DB(f.Bus).ExecContext(t.Context(), "-- nothing yet")
	f.must(err)
}

// What a statement has done is not what the one before has, or a publisher.
func TestAResultIsThatOfItsStatement(t *testing.T) {
	f := open(t, 3, patient)
	f.within(func(tx runtime.Tx) {
		want := func(statement string, id, rows int64) {
			t.Helper()
			result, err := tx.ExecContext(t.Context(), statement)
			f.must(err)
			gotID, _ := result.LastInsertId()
			gotRows, _ := result.RowsAffected()
			if gotID != id || gotRows != rows {
				t.Errorf("%s: the last row is %d and %d rows are affected, want %d and %d", statement, gotID, gotRows, id, rows)
			}
		}
		lastRow := func(id int) {
			t.Helper()
			var got int
			f.must(tx.QueryRowContext(t.Context(), "SELECT last_insert_rowid()").Scan(&got))
			if got != id {
				t.Errorf("last_insert_rowid() is %d, want %d", got, id)
			}
		}
		lastRow(0)
		want("UPDATE account SET balance = 1", 0, 3)
		want("CREATE TABLE other (x)", 0, 0)
		want("INSERT INTO account (id, balance) VALUES (70, 0), (71, 0)", 71, 2)
		want("SELECT 1", 0, 0)
		want("CREATE TABLE another (x); DROP TABLE other", 0, 0)
		_, err := runtime.PublishBatch(t.Context(), tx, bookedType, []booking{{}, {}})
		f.must(err)
		lastRow(71)
		want("INSERT INTO account (id, balance) VALUES (70, 0) ON CONFLICT DO NOTHING", 0, 0)
	})
	f.within(func(tx runtime.Tx) {
		result, err := tx.ExecContext(t.Context(), "UPDATE account SET balance = 2 WHERE id = 1")
		f.must(err)
		if id, _ := result.LastInsertId(); id != 0 {
			t.Errorf("the last row is %d of the function before", id)
		}
	})
}
