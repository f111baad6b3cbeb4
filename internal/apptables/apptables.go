// Package apptables has the tables of a program in the file of a bus, as odd as SQLite allows
// them: for tests that something leaves them alone.
//
// [Make] makes them, and [Dump] writes all of them down: their schema and their rows.
package apptables

import (
	"database/sql"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/ncruces/go-sqlite3/driver" // database/sql: "sqlite3"
)

// schema has tables that refer to one another, are without a rowid, have generated columns,
// names that are odd or close to those of the bus, views and triggers of which some are broken,
// and virtual tables.
const schema = `
CREATE TABLE account (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  balance INTEGER NOT NULL CHECK (balance >= 0),
  twice   INTEGER GENERATED ALWAYS AS (balance * 2) STORED,
  half    REAL    AS (balance / 2.0)
);
CREATE TABLE entry (
  account INTEGER NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  n       INTEGER NOT NULL,
  amount,
  PRIMARY KEY (account, n)
) WITHOUT ROWID;
CREATE TABLE person (id TEXT PRIMARY KEY, boss TEXT REFERENCES person (id) DEFERRABLE INITIALLY DEFERRED) STRICT;
CREATE TABLE "odd ""name""; DROP TABLE busgen_log --" ("a b" TEXT, [select] BLOB, ünï REAL, "" ANY);
CREATE TABLE busgen (id INTEGER PRIMARY KEY, log TEXT);
CREATE TABLE busgenlog (id INTEGER PRIMARY KEY);
CREATE TABLE "Busgen-log" (seq INTEGER PRIMARY KEY, payload TEXT);
CREATE TABLE my_busgen_log (seq INTEGER PRIMARY KEY, payload TEXT);
CREATE TABLE event (id TEXT PRIMARY KEY, type TEXT);
CREATE TABLE eventsx (id TEXT PRIMARY KEY, status TEXT);
CREATE INDEX account_balance ON account (balance) WHERE balance > 10;
CREATE UNIQUE INDEX "entry of" ON entry (account, abs(n) DESC);
CREATE INDEX my_busgen_log_payload ON my_busgen_log (payload ->> 'x');
CREATE VIEW rich AS SELECT id, balance FROM account WHERE balance > 100;
CREATE VIEW announced AS SELECT a.id, e.type FROM account a LEFT JOIN events e ON e.payload ->> 'account' = a.id;
CREATE VIEW broken AS SELECT * FROM a_table_that_is_gone;
CREATE TRIGGER counted AFTER UPDATE OF balance ON account BEGIN
  INSERT INTO entry SELECT NEW.id, 1 + (SELECT count(*) FROM entry WHERE account = NEW.id), NEW.balance - OLD.balance;
END;
CREATE TRIGGER spend INSTEAD OF UPDATE ON rich BEGIN UPDATE account SET balance = NEW.balance WHERE id = NEW.id; END;
CREATE TRIGGER wrong AFTER INSERT ON busgen BEGIN SELECT no_such_function(NEW.id); END;

INSERT INTO account (balance) VALUES (1), (20), (300);
UPDATE account SET balance = balance + 7;
INSERT INTO entry VALUES (99, 1, 'of an account that is missing');
INSERT INTO person VALUES ('ada', 'ada'), ('bob', 'nobody');
INSERT INTO "odd ""name""; DROP TABLE busgen_log --" VALUES ('x', x'00ff', 1e300, NULL), (NULL, zeroblob(70000), -0.5, 'y');
INSERT INTO busgenlog VALUES (7);
INSERT INTO "Busgen-log" VALUES (1, '{}');
INSERT INTO my_busgen_log VALUES (1, '{"x":1}'), (2, NULL);
INSERT INTO event VALUES ('a', 'order.placed');
INSERT INTO eventsx VALUES ('a', 'pending');
`

// foreign is a virtual table of a module that only the program has, with one of the tables that
// such a module makes for itself.
const foreign = `
PRAGMA writable_schema=ON;
INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('table', 'note', 'note', 0, 'CREATE VIRTUAL TABLE note USING module_of_the_program (text)');
PRAGMA writable_schema=RESET;
CREATE TABLE note_data (id INTEGER PRIMARY KEY, block BLOB);
INSERT INTO note_data VALUES (1, x'0102');
`

// ours is a condition for what belongs to the bus in sqlite_schema.
const ours = `(lower(substr(tbl_name, 1, 7)) = 'busgen_' OR name IN ('events', 'dead_letters', 'event_subscriptions', 'outbox') OR tbl_name = 'outbox')`

// Make makes the tables, as a program does that knows nothing of the bus. References are not
// checked, and some rows refer to what is missing.
func Make(t testing.TB, path string) {
	t.Helper()
	db := open(t, path)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), schema+foreign); err != nil {
		t.Fatal(err)
	}
}

// Damage puts rows into a table that do not fit to it: more than an integrity check shows.
func Damage(t testing.TB, path string) {
	t.Helper()
	db := open(t, path)
	defer db.Close()
	_, err := db.ExecContext(t.Context(), `CREATE TABLE loose (v);
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 202) INSERT INTO loose SELECT NULL FROM n;
		PRAGMA writable_schema=ON;
		UPDATE sqlite_schema SET sql = 'CREATE TABLE loose (v NOT NULL)' WHERE name = 'loose';
		PRAGMA writable_schema=RESET`)
	if err != nil {
		t.Fatal(err)
	}
}

// Dump returns everything in the file that does not belong to the bus: each object with its
// SQL, and each row.
func Dump(t testing.TB, path string) string {
	return DumpWithout(t, path, ours)
}

// DumpWithout is Dump for a file in which a condition on sqlite_schema says what belongs to the bus.
func DumpWithout(t testing.TB, path, ours string) string {
	t.Helper()
	db := open(t, path)
	defer db.Close()
	all := strings.Join(slices.Sorted(slices.Values(query(t, db, "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE NOT "+ours))), "\n")
	for _, name := range query(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND NOT "+ours+" ORDER BY name") {
		name = strings.TrimSuffix(name, "|")
		rows := query(t, db, `SELECT * FROM "`+strings.ReplaceAll(name, `"`, `""`)+`"`)
		all += fmt.Sprintf("\n%d rows of %s:\n%s", len(rows), name, strings.Join(rows, "\n"))
	}
	return all + "\nwithout a parent:\n" + strings.Join(query(t, db, `SELECT "table", rowid, parent, fkid FROM pragma_foreign_key_check ORDER BY 1, 2`), "\n")
}

func open(t testing.TB, path string) *sql.DB {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: "_pragma=foreign_keys(0)&_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite3", name.String())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// query returns the rows of a query, with a | behind each value.
func query(t testing.TB, db *sql.DB, text string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		line := ""
		for _, v := range values {
			if s, ok := v.(string); ok {
				line += s + "|"
			} else {
				line += fmt.Sprintf("%T %v|", v, v)
			}
		}
		all = append(all, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return all
}
