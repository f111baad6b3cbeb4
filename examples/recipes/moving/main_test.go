package main

import (
	"database/sql"
	"path/filepath"
	"testing"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

// olds are files of the old systems, each with two orders that wait and what is done: the tables of riversqlite 0.51
// and goqite 0.4, with the columns that are read.
var olds = map[string]string{
	"river": `CREATE TABLE river_job (id integer PRIMARY KEY, args blob NOT NULL DEFAULT '{}', kind text NOT NULL,
	state text NOT NULL DEFAULT 'available', scheduled_at timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP);
INSERT INTO river_job (args, kind, state, scheduled_at) VALUES
	('{"order_id":"a","email":"ada@example.org","cents":1}', 'order_placed', 'retryable', '2026-01-01 00:00:00'),
	(jsonb('{"order_id":"b","email":"ada@example.org","cents":2}'), 'order_placed', 'scheduled', '2999-01-01 00:00:00'),
	('{"order_id":"c","email":"ada@example.org","cents":3}', 'order_placed', 'completed', '2026-01-01 00:00:00'),
	('{}', 'other', 'available', '2026-01-01 00:00:00')`,
	"goqite": `CREATE TABLE goqite (id text primary key, created text not null, queue text not null, body blob not null,
	timeout text not null default (strftime('%Y-%m-%dT%H:%M:%fZ'))) strict;
INSERT INTO goqite (id, created, queue, body, timeout) VALUES
	('m_2', '2026-01-01T00:00:01.000Z', 'orders', CAST('{"order_id":"b","email":"ada@example.org","cents":2}' AS BLOB), '2999-01-01T00:00:00.000Z'),
	('m_1', '2026-01-01T00:00:00.000Z', 'orders', CAST('{"order_id":"a","email":"ada@example.org","cents":1}' AS BLOB), '2026-01-01T00:00:00.000Z'),
	('m_3', '2026-01-01T00:00:00.000Z', 'other', CAST('{}' AS BLOB), '2026-01-01T00:00:00.000Z')`,
	"outbox": `CREATE TABLE old_outbox (id INTEGER PRIMARY KEY, topic TEXT NOT NULL, payload TEXT NOT NULL, sent_at TEXT);
INSERT INTO old_outbox (topic, payload, sent_at) VALUES
	('order.placed', '{"order_id":"c","email":"ada@example.org","cents":3}', '2026-01-01'),
	('order.placed', '{"order_id":"a","email":"ada@example.org","cents":1}', NULL),
	('order.placed', '{"order_id":"b","email":"ada@example.org","cents":2}', NULL),
	('other', '{}', NULL)`,
}

func TestWhatWaitsIsPublishedOnce(t *testing.T) {
	for from, tables := range olds {
		t.Run(from, func(t *testing.T) {
			ctx, folder := t.Context(), t.TempDir()
			path, db := filepath.Join(folder, "old.db"), filepath.Join(folder, "shop.db")
			old, err := sql.Open("sqlite3", "file:"+path)
			if err == nil {
				_, err = old.Exec(tables)
			}
			if err != nil || old.Close() != nil {
				t.Fatal(err)
			}
			for i, want := range []int{2, 0} { // the program may be killed, and called again
				if moved, err := run(ctx, from, path, db); err != nil || moved != want {
					t.Fatalf("call %d: %d moved, %v", i+1, moved, err)
				}
			}
			bus, err := events.Open(ctx, db)
			if err != nil {
				t.Fatal(err)
			}
			defer bus.Shutdown(ctx)
			var orders string
			err = runtime.DB(bus).QueryRowContext(ctx, "SELECT group_concat(payload ->> 'order_id', '') FROM (SELECT payload FROM events ORDER BY id)").Scan(&orders)
			if err != nil || orders != "ab" {
				t.Errorf("the orders are %s, %v", orders, err)
			}
		})
	}
	if _, err := run(t.Context(), "another", "old.db", filepath.Join(t.TempDir(), "shop.db")); err == nil {
		t.Error("it moves from a system that it does not know")
	}
}
