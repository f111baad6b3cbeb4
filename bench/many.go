package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

// These cases do something fifty thousand times, and look at what stays: on the heap, in the
// file and beside it, and which goroutines run on. manyevents.go, manybuses.go and
// ephemeral.go have one each.

// many is how often, unless -events says less. A short run may end before.
const many = 50_000

func (s *setting) many() int { return min(many, s.events) }

// warm is how many events a bus has had before its memory is watched: more than it holds
// there of the newest ones.
const warm = 10_000

// mass is how the work of such a case is done: a portion at a time, in turns with the bare
// one. Each does n events or the like.
type mass struct {
	portion    int
	ours, bare func(n int) error
}

// run does it until everything is done, or the time of a short run is over.
func (m mass) run(ctx context.Context, s *setting) (result, error) {
	heap, resident := watchHeap(), watchMemory()
	rounds, did, err := m.takeTurns(ctx, s)
	grown, taken := heap(), resident()
	if err != nil {
		return result{}, err
	}
	r := compare(rounds, 0, 1).result()
	r.Events, r.Heap, r.RSS = did, &grown, taken
	return r, nil
}

func (m mass) takeTurns(ctx context.Context, s *setting) (rounds []round, did int, err error) {
	total, began := s.many(), time.Now()
	for did < total && (did == 0 || s.fillFor == 0 || time.Since(began) < s.fillFor) {
		if err := ctx.Err(); err != nil {
			return nil, did, err
		}
		n := min(m.portion, total-did)
		r := make(round, 2)
		for turn := range r {
			side, do := 0, m.ours
			if (turn+len(rounds))%2 == 1 {
				side, do = 1, m.bare
			}
			if r[side], err = work(func(time.Duration) (int, error) { return n, do(n) }, 0); err != nil {
				return nil, did, err
			}
		}
		rounds = append(rounds, r)
		did += n
	}
	return rounds, did, nil
}

// rowsOf returns how many rows each table of a file has.
func rowsOf(path string) (map[string]int64, error) {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	var tables []string
	err = query(conn, "SELECT name FROM sqlite_schema WHERE type = 'table'", func(s *sqlite3.Stmt) {
		tables = append(tables, s.ColumnText(0))
	})
	rows := map[string]int64{}
	for _, table := range tables {
		err = errors.Join(err, query(conn, "SELECT count(*) FROM "+sqlite3.QuoteIdentifier(table), func(s *sqlite3.Stmt) {
			rows[table] = s.ColumnInt64(0)
		}))
	}
	return rows, err
}

func query(conn *sqlite3.Conn, sql string, row func(s *sqlite3.Stmt)) error {
	s, _, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	defer s.Close()
	for s.Step() {
		row(s)
	}
	return s.Err()
}

// requireNoRows makes sure that a file has as many rows as before, and of events that many
// more.
func requireNoRows(path string, before map[string]int64, events int) error {
	after, err := rowsOf(path)
	if err != nil {
		return err
	}
	want := maps.Clone(before)
	want["busgen_log"] += int64(events)
	var left []string
	for _, table := range slices.Sorted(maps.Keys(after)) {
		if after[table] != want[table] {
			left = append(left, fmt.Sprintf("%s has %d rows, want %d", table, after[table], want[table]))
		}
	}
	if left == nil {
		return nil
	}
	return fmt.Errorf("something is left in the file: %s", strings.Join(left, ", "))
}

// goroutinePatience is how long goroutines may take to end that none waits for.
const goroutinePatience = 5 * time.Second

// requireGoroutines makes sure that there are no more goroutines than before.
func requireGoroutines(before int) error {
	for until := time.Now().Add(goroutinePatience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			return fmt.Errorf("there were %d goroutines, and now there are %d", before, runtime.NumGoroutine())
		}
	}
	return nil
}
