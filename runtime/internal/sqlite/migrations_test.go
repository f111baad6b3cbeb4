package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/apptables"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// newFile is the file of a bus that was closed.
func newFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bus.db")
	log, err := Open(path, Options{})
	must(t, err)
	must(t, log.Close())
	return path
}

// oldestFile is one that says that it has version 1: the migrations of the tests are made up.
func oldestFile(t *testing.T) string {
	t.Helper()
	path := newFile(t)
	changed(t, path, "PRAGMA user_version=1")
	return path
}

// changed runs statements on a file that is closed.
func changed(t *testing.T, path, statements string) {
	t.Helper()
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	must(t, c.ExecScript(statements))
	must(t, c.Close())
}

func TestReferencesAreCheckedAfterAMigration(t *testing.T) {
	c, err := database.Connect(oldestFile(t), "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	must(t, tables.Upgrade(c, synthetic))
	if on, err := c.Int64("PRAGMA foreign_keys"); err != nil || on != 1 {
		t.Errorf("foreign_keys is %d, %v", on, err)
	}
}

func TestAFileWithRowsThatReferToNothingIsNotMigrated(t *testing.T) {
	path := oldestFile(t)
	changed(t, path, "PRAGMA foreign_keys=OFF; INSERT INTO busgen_routes (type, subscription) VALUES (7, 1)")
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	if err := tables.Upgrade(c, synthetic); err == nil || !strings.Contains(err.Error(), "busgen_routes") {
		t.Errorf("%v", err)
	}
	if version := schemaVersionOf(t, path); version != 1 {
		t.Errorf("the file has version %d now", version)
	}
}

// Tables of a program may have broken views, rows that refer to nothing, and a view on events.
func TestAMigrationLeavesTheTablesOfTheProgramAlone(t *testing.T) {
	path := oldestFile(t)
	apptables.Make(t, path)
	const ours = "(substr(tbl_name, 1, 7) = 'busgen_' OR tbl_name IN (SELECT name FROM sqlite_schema WHERE type = 'view') OR tbl_name IN ('outbox', 'copies'))"
	before := apptables.DumpWithout(t, path, ours)
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	must(t, tables.Upgrade(c, []string{"CREATE TABLE originals (n INTEGER); ALTER TABLE originals RENAME TO copies"}))
	must(t, c.Close())
	if diff := cmp.Diff(before, apptables.DumpWithout(t, path, ours)); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
}

func schemaVersionOf(t *testing.T, path string) int64 {
	t.Helper()
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	version, err := c.Int64("PRAGMA user_version")
	must(t, err)
	return version
}
