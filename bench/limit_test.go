package main

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/bench/events"
)

// The comparison is worth something only if the rows are the same.
func TestTheBareLoopInsertsTheRowsOfTheBus(t *testing.T) {
	dir := t.TempDir()
	busFile, limitFile := filepath.Join(dir, "bus.db"), filepath.Join(dir, "limit.db")

	bus, err := openBus(t.Context(), busFile)
	must(t, err)
	for range 7 {
		_, err := events.PublishOrderPlaced(t.Context(), bus.Bus, sample)
		must(t, err)
	}
	must(t, bus.Shutdown(context.Background()))

	bare, err := openLimit(t.Context(), limitFile) // with one event of a bus
	must(t, err)
	must(t, bare.transaction(2))
	must(t, bare.within(func(now int64) error { return bare.insertTogether(now, 3) }))
	must(t, bare.transaction(1))
	must(t, bare.close())

	for _, query := range []string{
		"SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema ORDER BY name)",
		"SELECT count(*) || ' rows' FROM busgen_log",
		"SELECT count(DISTINCT id) || ' ids' FROM busgen_log",
		"SELECT count(*) || ' ids out of order' FROM busgen_log a JOIN busgen_log b ON b.seq = a.seq + 1 WHERE b.id < a.id",
		"SELECT group_concat(DISTINCT substr(hex(id), 13, 1)) || ' is the version of the ids' FROM busgen_log",
		"SELECT group_concat(DISTINCT concat_ws(' ', typeof(id), length(id), typeof(payload), typeof(metadata), typeof(created_at))) FROM busgen_log",
		"SELECT group_concat(DISTINCT payload) FROM busgen_log",
		"SELECT group_concat(DISTINCT type || ' ' || status) FROM events",
		"SELECT integrity_check FROM pragma_integrity_check",
	} {
		if diff := cmp.Diff(queryFile(t, busFile, query), queryFile(t, limitFile, query)); diff != "" {
			t.Errorf("%s (-bus +limit):\n%s", query, diff)
		}
	}
	if size := len(bare.payload); size < 180 || size > 220 {
		t.Errorf("the payload has %d bytes; the cases promise about 200", size)
	}
}

// queryFile returns the first column of the first row.
func queryFile(t *testing.T, path, query string) (text string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	s, _, err := c.Prepare(query)
	must(t, err)
	defer s.Close()
	if s.Step() {
		text = s.ColumnText(0)
	}
	must(t, s.Err())
	return text
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
