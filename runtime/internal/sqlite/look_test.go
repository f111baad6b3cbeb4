package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

func TestAStatementOfAToolThatTakesForEverIsEnded(t *testing.T) {
	defer func(before time.Duration) { lookTime = before }(lookTime)
	lookTime = time.Millisecond
	path := filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	must(t, log.Close())
	i, err := Engine{}.Inspect(t.Context(), path, "")
	must(t, err)
	defer i.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // if nothing else ends it
	defer cancel()
	err = i.(*Inspection).look(ctx, "list the events of", func(c *database.Conn) error {
		return c.Exec("WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n")
	})
	var storage *event.StorageError
	if !errors.As(err, &storage) || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("got %v", err)
	}
}

// What reads the whole file may take long, but not for ever.
func TestACheckOfAFileMayTakeTwoHours(t *testing.T) {
	for each, ends := range map[time.Duration]bool{59 * time.Minute: false, 61 * time.Minute: true} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			log, err := Open(path, Options{})
			must(t, err)
			_, err = log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "order.*"})
			must(t, err)
			for range 2 {
				must(t, log.Append(t.Context(), []engine.Record{{ID: uuid.New(), Type: "order.placed", Payload: []byte(`{}`), CreatedAt: time.Now()}}))
			}
			must(t, log.Close())
			i, err := Engine{}.Inspect(t.Context(), path, "")
			must(t, err)
			defer i.Close()
			err = i.Unsettled(t.Context(), func(event.Unsettled) { time.Sleep(each) })
			if ends != (err != nil && strings.Contains(err.Error(), "longer than 2h0m0s")) || !ends && err != nil {
				t.Errorf("a check of two events that takes %v for each ends with %v", each, err)
			}
		})
	}
}

// change makes another file of a new log, by SQL that a stranger has run on it.
func change(t *testing.T, sql string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "events.db")
	log, err := Open(path, Options{})
	must(t, err)
	must(t, log.Close())
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	must(t, c.ExecScript("PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON; "+sql))
	must(t, c.Close())
	return path
}

func TestAFileWithSomethingElseInThePlaceOfATableIsRefused(t *testing.T) {
	const endless = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x"
	for want, sql := range map[string]string{
		"busgen_log is a view": "ALTER TABLE busgen_log RENAME TO other; CREATE VIEW busgen_log (seq, id, type, payload, metadata, created_at, due_at) AS " +
			endless + ", randomblob(16), 1, '{}', NULL, 1, NULL FROM n",
		"busgen_types is a view":                       "ALTER TABLE busgen_types RENAME TO other; CREATE VIEW busgen_types (id, name, written, version) AS " + endless + ", 'a', 'a', 1 FROM n",
		"events is a table":                            "DROP VIEW events; CREATE TABLE events (id TEXT)",
		"the column more of busgen_routes is computed": "ALTER TABLE busgen_routes ADD COLUMN more TEXT AS (hex(zeroblob(1000000)))",
	} {
		path := change(t, sql)
		_, looked := Engine{}.Inspect(t.Context(), path, "")
		_, opened := Open(path, Options{})
		for what, err := range map[string]error{"Inspect": looked, "Open": opened} {
			var storage *event.StorageError
			if !errors.As(err, &storage) || storage.Fault != event.Foreign || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: got %v", want, what, err)
			}
		}
	}
}

func TestAPipeInThePlaceOfAFileIsRefusedAtOnce(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm", "-claims"} {
		path := filepath.Join(t.TempDir(), "events.db")
		if suffix != "" {
			log, err := Open(path, Options{})
			must(t, err)
			must(t, log.Close())
		}
		if err := makePipe(path + suffix); err != nil {
			t.Skip(err)
		}
		_, looked := Engine{}.Inspect(t.Context(), path, "")
		_, opened := Open(path, Options{})
		for what, err := range map[string]error{"Inspect": looked, "Open": opened} {
			if err == nil || !strings.Contains(err.Error(), path+suffix+" is a named pipe") {
				t.Errorf("%s in the place of events.db%s: got %v", what, suffix, err)
			}
		}
	}
}
