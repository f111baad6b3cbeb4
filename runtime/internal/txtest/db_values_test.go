package txtest

import (
	"database/sql"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
)

func TestNamedValuesAreStoredThroughTheDatabase(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	db := runtime.DB(f.Bus)
	for i, prefix := range []string{":", "@", "$"} {
		query := fmt.Sprintf("INSERT INTO account (id, balance) VALUES (%sid, %sbalance)", prefix, prefix)
		_, err := db.ExecContext(ctx, query, sql.Named("balance", 7), sql.Named("id", 10+i)) // in another order
		f.must(err)
	}
	prepared, err := db.PrepareContext(ctx, "SELECT balance FROM account WHERE id = :id AND balance = :balance + ?3")
	f.must(err)
	defer prepared.Close()
	for id := 10; id < 13; id++ {
		n := 0
		f.must(prepared.QueryRowContext(ctx, sql.Named("id", id), sql.Named("balance", 5), 2).Scan(&n))
		if n != 7 {
			t.Errorf("account %d has %d, want 7", id, n)
		}
	}
	for query, problem := range map[string]string{
		"SELECT :id + :other": "no value for :other",
		"SELECT ?1 + :id":     "no value for ?1",
	} {
		var n sql.NullInt64
		if err := db.QueryRowContext(ctx, query, sql.Named("id", 1)).Scan(&n); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: the error is %v, want one that says %q", query, err, problem)
		}
	}
}

func TestTheDatabaseTellsTheTypesOfColumns(t *testing.T) {
	f := open(t, 1)
	ctx := t.Context()
	_, err := runtime.DB(f.Bus).ExecContext(ctx, `CREATE TABLE typed (i INTEGER, r REAL, t TEXT, b BLOB, o BOOLEAN, d DATETIME, v VARCHAR(20), n);
		INSERT INTO typed VALUES (1, 1.5, 'x', x'00', 1, '2026-01-02 03:04:05', 'y', 2)`)
	f.must(err)
	rows, err := runtime.DB(f.Bus).QueryContext(ctx, "SELECT *, i + 1 FROM typed")
	f.must(err)
	defer rows.Close()
	columns, err := rows.ColumnTypes()
	f.must(err)
	type column struct {
		name, declared string
		scan           reflect.Type
	}
	anything := reflect.TypeFor[any]()
	want := []column{
		{"i", "INTEGER", reflect.TypeFor[int64]()}, {"r", "REAL", reflect.TypeFor[float64]()}, {"t", "TEXT", reflect.TypeFor[string]()},
		{"b", "BLOB", reflect.TypeFor[[]byte]()}, {"o", "BOOLEAN", reflect.TypeFor[bool]()}, {"d", "DATETIME", reflect.TypeFor[time.Time]()},
		{"v", "VARCHAR", anything}, {"n", "", anything}, {"i + 1", "", anything},
	}
	for i, c := range columns {
		if got := (column{c.Name(), c.DatabaseTypeName(), c.ScanType()}); i >= len(want) || got != want[i] {
			t.Errorf("column %d is %v", i, got)
		}
	}
	if len(columns) != len(want) {
		t.Errorf("there are %d columns, want %d", len(columns), len(want))
	}
	if !rows.Next() {
		t.Fatal("there is no row", rows.Err())
	}
	values := make([]any, len(want))
	pointers := make([]any, len(want))
	for i := range values {
		pointers[i] = &values[i]
	}
	f.must(rows.Scan(pointers...))
	for i, value := range values[:6] {
		if reflect.TypeOf(value) != want[i].scan {
			t.Errorf("column %s is a %T, and said to be a %v", want[i].name, value, want[i].scan)
		}
	}
}
