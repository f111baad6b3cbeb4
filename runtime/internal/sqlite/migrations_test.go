package sqlite

import (
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/apptables"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

//go:embed testdata/schema_1.sql
var schema1 string

//go:embed testdata/schema_2.sql
var schema2 string

//go:embed testdata/schema_3.sql
var schema3 string

//go:embed testdata/schema_4.sql
var schema4 string

//go:embed testdata/schema_5.sql
var schema5 string

// A file as busgen made it with schema version 1: an event that waits, one that is
// dead, and one that nobody has handled yet.
const rows1 = `
	INSERT INTO types (id, name) VALUES (1, 'order.placed'), (2, 'user.created');
	INSERT INTO log (seq, id, type, payload, created_at) VALUES
	  (1, x'00000000000070008000000000000001', 1, '{"n":1}', 1), (2, x'00000000000070008000000000000002', 2, '{}', 2),
	  (3, x'00000000000070008000000000000003', 1, '{"n":3}', 3);
	INSERT INTO subscriptions (id, name, pattern, start, cursor, created_at) VALUES (1, 'ship', 'order.*', 0, 2, 0);
	INSERT INTO routes VALUES (1, 1);
	INSERT INTO deliveries (subscription, seq, state, failures, dead_at, reason) VALUES (1, 1, 'dead', 4, 5, 'permanent');
	INSERT INTO dedupe VALUES (1, 'a', 1, x'00000000000070008000000000000001', x'00', 9223372036854775807)`

func oldSchemaFile(t *testing.T) string {
	t.Helper()
	path := emptySchemaFile(t, schema1, 1)
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	must(t, c.ExecScript(rows1))
	must(t, c.Close())
	return path
}

// emptySchemaFile is a file without events as a busgen of an older schema made it.
func emptySchemaFile(t *testing.T, schema string, version int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "old.db")
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	must(t, err)
	must(t, c.ExecScript("PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL"))
	must(t, c.ExecScript(schema+fmt.Sprintf("; PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, version)))
	must(t, c.Close())
	return path
}

func TestAMigratedFileHasTheSchemaOfANewOne(t *testing.T) {
	opened := func(path string) map[string]string {
		log, err := Open(path, Options{})
		must(t, err)
		must(t, log.Close())
		return schemaOf(t, path)
	}
	fresh := opened(filepath.Join(t.TempDir(), "new.db"))
	for version, path := range map[int]string{
		1: oldSchemaFile(t), 2: emptySchemaFile(t, schema2, 2), 3: emptySchemaFile(t, schema3, 3), 4: emptySchemaFile(t, schema4, 4),
		5: emptySchemaFile(t, schema5, 5),
	} {
		if diff := cmp.Diff(fresh, opened(path)); diff != "" {
			t.Errorf("from version %d (-new +migrated):\n%s", version, diff)
		}
	}
}

// schemaOf is the SQL of everything in a file, without comments and spacing.
func schemaOf(t *testing.T, path string) map[string]string {
	t.Helper()
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	all := map[string]string{}
	must(t, c.Query("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema", func(s *sqlite3.Stmt) error {
		text := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(s.ColumnText(1), "")
		all[s.ColumnText(0)] = regexp.MustCompile(`"(busgen_\w+)"`).ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
		return nil
	}))
	return all
}

func TestTheDataOfAFileSurvivesItsMigration(t *testing.T) {
	path := oldSchemaFile(t)
	log, err := Open(path, Options{})
	must(t, err)
	defer log.Close()
	consumer, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
	must(t, err)
	deliveries, _, err := consumer.Poll(nil, 10)
	must(t, err)
	if len(deliveries) != 1 || deliveries[0].Seq != 3 || deliveries[0].Type != "order.placed" || deliveries[0].Version != 1 {
		t.Errorf("polled %v", deliveries)
	}
	inspection := inspectFile(t, path)
	if found, err := inspection.Check(t.Context()); err != nil || found != nil {
		t.Errorf("the check finds %v, %v", found, err)
	}
	for query, want := range map[string]string{
		"SELECT group_concat(status) FROM (SELECT status FROM events ORDER BY created_at)":                        "dlq,done,pending",
		"SELECT type || subscription || reason FROM dead_letters":                                                 "order.placedshippermanent",
		"SELECT count(*) FROM busgen_dedupe d JOIN busgen_types t ON t.id = d.type WHERE t.name = 'order.placed'": "1",
	} {
		got := ""
		must(t, inspection.conn.Query(query, func(s *sqlite3.Stmt) error { got = s.ColumnText(0); return nil }))
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestReferencesAreCheckedAfterAMigration(t *testing.T) {
	c, err := openWriter(t.Context(), oldSchemaFile(t), "")
	must(t, err)
	defer c.Close()
	if on, err := c.Int64("PRAGMA foreign_keys"); err != nil || on != 1 {
		t.Errorf("foreign_keys is %d, %v", on, err)
	}
}

func TestAFileWithRowsThatReferToNothingIsNotMigrated(t *testing.T) {
	path := oldSchemaFile(t)
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	must(t, c.ExecScript("PRAGMA foreign_keys=OFF; INSERT INTO routes VALUES (7, 1)"))
	must(t, c.Close())
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), "routes") {
		t.Errorf("%v", err)
	}
	if version := schemaVersionOf(t, path); version != 1 {
		t.Errorf("the file has version %d now", version)
	}
}

// Tables of a program may have broken views, rows that refer to nothing, and a view on events.
func TestAMigrationLeavesTheTablesOfTheProgramAlone(t *testing.T) {
	for version, old := range []string{schema1, schema2, schema3, schema4, schema5} {
		path := emptySchemaFile(t, old, version+1)
		c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
		must(t, err)
		ours := "NOT 0" // what the file has now
		must(t, c.Query("SELECT name FROM sqlite_schema", func(s *sqlite3.Stmt) error {
			ours += " AND tbl_name <> '" + s.ColumnText(0) + "'"
			return nil
		}))
		ours = "(NOT (" + ours + ") OR substr(tbl_name, 1, 7) = 'busgen_' OR tbl_name IN ('event_subscriptions', 'outbox'))"
		must(t, c.Close())
		apptables.Make(t, path)
		before := apptables.DumpWithout(t, path, ours)
		log, err := Open(path, Options{})
		if err != nil {
			t.Errorf("version %d: %v", version+1, err)
			continue
		}
		must(t, log.Close())
		if diff := cmp.Diff(before, apptables.DumpWithout(t, path, ours)); diff != "" {
			t.Errorf("version %d (-before +after):\n%s", version+1, diff)
		}
		if found, err := inspectFile(t, path).Check(t.Context()); err != nil || found != nil {
			t.Errorf("version %d: the check finds %v, %v", version+1, found, err)
		}
	}
}

func TestInspectingAnOldFileDoesNotMigrateIt(t *testing.T) {
	path := oldSchemaFile(t)
	var storage *engine.StorageError
	_, err := Engine{}.Inspect(t.Context(), path, "ada")
	if !errors.As(err, &storage) || storage.Fault != engine.TooOld || !strings.Contains(storage.Hint, "schema version 1") {
		t.Error(err)
	}
	if version := schemaVersionOf(t, path); version != 1 {
		t.Errorf("the file has version %d now", version)
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
