package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/mattn/go-sqlite3"
	_ "modernc.org/sqlite"
)

// The SQLite libraries that peers are used with: those of their documentation and tests. The
// first is SQLite compiled by a C compiler, the second is SQLite translated to Go.
const (
	mattn   = "github.com/mattn/go-sqlite3"
	modernc = "modernc.org/sqlite"
)

// What these libraries register with database/sql.
var driverNames = map[string]string{mattn: "sqlite3", modernc: "sqlite"}

// openDatabase opens a file in WAL mode and with synchronous=FULL, which not every library has
// by itself, with that many connections at most, or as many as are asked for if it is 0.
func openDatabase(library, path string, connections int) (*sql.DB, error) {
	dsn := "?_journal=WAL&_sync=FULL&_timeout=5000"
	if library == modernc {
		dsn = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)"
	}
	db, err := sql.Open(driverNames[library], "file:"+(&url.URL{Path: path}).EscapedPath()+dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(max(connections, 2))
	if err := requireSynced(db); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// requireSynced returns an error unless each commit is synced.
func requireSynced(db *sql.DB) error {
	for _, want := range []struct{ pragma, value string }{{"journal_mode", "wal"}, {"synchronous", "2"}} {
		var value string
		if err := db.QueryRow("PRAGMA " + want.pragma).Scan(&value); err != nil {
			return err
		}
		if value != want.value {
			return fmt.Errorf("%s is %q and should be %q", want.pragma, value, want.value)
		}
	}
	return nil
}

// sqliteVersion returns the version of SQLite in a library.
func sqliteVersion(library string) (version string) {
	db, err := sql.Open(driverNames[library], ":memory:")
	if err != nil {
		return "?"
	}
	defer db.Close()
	if err := db.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		return "?"
	}
	return version
}

// syncFile brings a file to the disk, so that no sync that is measured has to.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// errNotKept says that a peer does not keep what is handled.
var errNotKept = errors.New("no row is kept of what is handled")

// copyRow copies the only row of a table n-1 times. Columns are copied unless replace has an
// expression for them, in which i is the number of the copy; "" leaves a column to its default.
func copyRow(ctx context.Context, path, table string, n int, replace map[string]string, then ...string) error {
	// The copy is not measured, so it is not synced.
	db, err := sql.Open(driverNames[mattn], "file:"+(&url.URL{Path: path}).EscapedPath()+"?_journal=WAL&_sync=OFF&_timeout=5000")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	rows, err := db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return err
	}
	defer rows.Close()
	var names, values []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		value, replaced := replace[name]
		if !replaced {
			value = `"` + name + `"`
		}
		if value != "" {
			names, values = append(names, `"`+name+`"`), append(values, value)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	result, err := db.ExecContext(ctx, fmt.Sprintf(`
		WITH RECURSIVE copies(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM copies WHERE i < ?)
		INSERT INTO %s (%s) SELECT %s FROM copies, (SELECT * FROM %[1]s LIMIT 1) AS handled`,
		table, strings.Join(names, ", "), strings.Join(values, ", ")), n-1)
	if err != nil {
		return err
	}
	if copied, err := result.RowsAffected(); err != nil {
		return err
	} else if copied == 0 {
		return errNotKept
	}
	for _, statement := range append(then, "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)") {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return syncFile(path)
}
