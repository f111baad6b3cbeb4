package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// backlog measures how soon the first of many waiting events is handled after
// the start, how fast the others follow, and what memory that takes.
func backlog(ctx context.Context, s *setting) (result, error) {
	path := s.file()
	events, err := fill(ctx, path, s.events, false, s.fillFor)
	if err != nil {
		return result{}, err
	}
	limit, err := readLog(path)
	if err != nil {
		return result{}, err
	}
	bus, err := s.open(ctx, path)
	if err != nil {
		return result{}, err
	}
	debug.FreeOSMemory() // what filling the file has left
	peak := watchMemory()
	first, last, err := bus.drain(ctx, events)
	r := comparison{ours: slice{events: events, took: last}, limit: limit}.result()
	r.Events, r.First, r.RSS = events, float64(first)/float64(time.Millisecond), peak()
	return r, err
}

// readLog reads every row of the log as a bare loop, in order.
func readLog(path string) (read slice, err error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return slice{}, err
	}
	defer conn.Close()
	began := time.Now()
	rows, _, err := conn.Prepare("SELECT id, type, payload, metadata, created_at FROM busgen_log ORDER BY seq")
	if err != nil {
		return slice{}, err
	}
	defer rows.Close()
	for ; rows.Step(); read.events++ {
		rows.ColumnRawBlob(0)
		rows.ColumnInt64(1)
		rows.ColumnRawText(2)
		rows.ColumnRawText(3)
		rows.ColumnInt64(4)
	}
	read.took = time.Since(began)
	if err := rows.Err(); err != nil {
		return slice{}, fmt.Errorf("reading the log of %s: %w", path, err)
	}
	return read, nil
}
