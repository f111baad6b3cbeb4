package txtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

func TestWhatWouldBeInTheWayOfTheBusIsRefused(t *testing.T) {
	f := open(t, 1, patient)
	refused := map[string]string{
		"CREATE TABLE mine (event INTEGER REFERENCES busgen_log)":                                 "the table mine refers to busgen_log, which belongs to the bus",
		"CREATE TABLE mine (s INTEGER, FOREIGN KEY (s) REFERENCES \"Busgen_subscriptions\" (id))": "mine refers to Busgen_subscriptions",
		"CREATE TABLE mine (x INTEGER REFERENCES busgen_later)":                                   "mine refers to busgen_later",
		"CREATE TABLE mine (x); ALTER TABLE mine ADD COLUMN event REFERENCES busgen_log":          "mine refers to busgen_log",
		"ALTER TABLE account RENAME TO busgen_account":                                            "the table busgen_account has a name that belongs to the bus",
		"CREATE TABLE mine (x); ALTER TABLE mine RENAME TO Busgen_mine":                           "the table Busgen_mine has a name",
		"CREATE INDEX busgen_mine ON account (seen)":                                              "the name busgen_mine belongs to the bus",
		"CREATE TRIGGER busgen_mine AFTER INSERT ON account BEGIN SELECT 1; END":                  "the name busgen_mine belongs to the bus",
		"CREATE TABLE pragma_user_version (x)":                                                    "pragma_user_version would hide a function",
		"CREATE VIEW Json_each AS SELECT 1":                                                       "Json_each would hide a function",
		"ALTER TABLE account RENAME TO pragma_foreign_key_list":                                   "the table pragma_foreign_key_list hides a function",
		"ANALYZE account; UPDATE sqlite_stat1 SET stat = '1 1'":                                   "only ANALYZE writes it",
		"CREATE TRIGGER mine INSTEAD OF INSERT ON dead_letters BEGIN SELECT 1; END":               "dead_letters belongs to the bus",
	}
	for statement, problem := range refused {
		for range 2 { // the second time it is prepared already
			err := runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			})
			var protected *event.ProtectedError
			if !errors.As(err, &protected) || !strings.Contains(err.Error(), problem) {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(t.Context(), "CREATE TABLE mine (id INTEGER REFERENCES account); CREATE VIEW my_events AS SELECT * FROM busgen_log")
		return err
	}))
	for statement, problem := range refused { // and so it is where tools for migrations run
		tx, err := runtime.DB(f.Bus).BeginTx(t.Context(), nil)
		f.must(err)
		_, err = tx.ExecContext(t.Context(), "DROP TABLE mine; "+statement)
		f.must(tx.Rollback())
		var protected *event.ProtectedError
		if !errors.As(err, &protected) || !strings.Contains(err.Error(), problem) {
			t.Errorf("in the database, %s: %v", statement, err)
		}
	}
	f.must(f.Shutdown(t.Context()))
	wantSound(t, f.path)
}

func TestWhatAnotherProgramHasPutInTheWayOfTheBusIsNamed(t *testing.T) {
	f := open(t, 1, patient)
	f.must(f.Shutdown(t.Context()))
	if warnings := f.log.Level(t, "WARN"); len(warnings) != 0 {
		t.Errorf("there are warnings: %v", warnings)
	}
	f.must(f.connect().Exec(`
		CREATE TABLE note (event INTEGER REFERENCES busgen_log);
		CREATE TRIGGER spy AFTER INSERT ON busgen_log BEGIN SELECT 1; END;
		CREATE INDEX spy_at ON busgen_log (created_at);
		CREATE TABLE busgen_note (x)`))
	f.reopen(patient)
	var named []string
	for _, line := range f.log.Level(t, "WARN") {
		named = append(named, line["problem"].(string))
	}
	all := strings.Join(named, "\n")
	for _, problem := range []string{
		"the table note refers to busgen_log", "the trigger spy is on busgen_log", "the index spy_at is on busgen_log", "the table busgen_note has a name",
	} {
		if !strings.Contains(all, problem) {
			t.Errorf("the bus does not warn that %s: %v", problem, named)
		}
	}
	if len(named) != 4 {
		t.Errorf("there are %d warnings, want 4: %v", len(named), named)
	}
	// Others may go on with their tables.
	f.must(runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(t.Context(), "CREATE TABLE mine (x)")
		return err
	}))
}

// A table that has the name of a function that returns rows is found in its place.
func TestTablesThatHideFunctionsOfSQLiteAreNoObstacle(t *testing.T) {
	f := open(t, 1, patient)
	ctx := t.Context()
	f.must(f.Shutdown(ctx))
	other := f.connect()
	f.must(other.Exec(`
		CREATE TABLE pragma_user_version (x); CREATE TABLE pragma_application_id (x); CREATE TABLE pragma_query_only (x);
		CREATE TABLE pragma_database_list (x); CREATE TABLE pragma_foreign_key_list (x); CREATE TABLE pragma_foreign_key_check (x);
		CREATE TABLE note (event INTEGER REFERENCES busgen_log)`))
	f.reopen(patient)
	refers := false
	for _, line := range f.log.Level(t, "WARN") {
		refers = refers || strings.HasPrefix(line["problem"].(string), "the table note refers to busgen_log")
	}
	if !refers {
		t.Error("the bus does not warn of the table note")
	}
	f.must(other.Exec("BEGIN IMMEDIATE"))
	_, err := runtime.Publish(ctx, runtime.In(f.Bus, other), bookedType, booking{1, 1})
	f.must(err)
	f.must(other.Exec("COMMIT"))
	f.wantNumber(1, "SELECT count(*) FROM events WHERE type = 'money.booked'")
	conn, err := runtime.DB(f.Bus).Conn(ctx)
	f.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(ctx, "CREATE TEMP TABLE pragma_foreign_key_list (x); CREATE TABLE mine (x)")
	f.must(err)
	_, err = conn.ExecContext(ctx, "CREATE TABLE ours (event INTEGER REFERENCES busgen_log)")
	var protected *event.ProtectedError
	if !errors.As(err, &protected) {
		t.Errorf("a table that refers to one of the bus gives %v", err)
	}
}
