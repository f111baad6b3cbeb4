package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ncruces/go-sqlite3"
)

// eventsOfABus is how many events a short-lived bus has.
const eventsOfABus = 100

// shortLived opens five hundred buses one after the other, each with a file of its own. A
// hundred publishers publish an event each, a subscription handles them, and the bus is shut
// down. The bare loop makes the same tables in a new file and inserts the hundred rows in one
// commit. Files that a bus leaves beside its own are an error, and so are goroutines.
func shortLived(ctx context.Context, s *setting) (result, error) {
	bare, err := s.openLimit(ctx)
	if err != nil {
		return result{}, err
	}
	schema, err := bare.schema()
	if err != nil {
		return result{}, err
	}
	goroutines := runtime.NumGoroutine()
	buses := func(one func(path string, events int) error) func(n int) error {
		return func(n int) error {
			for ; n > 0; n -= eventsOfABus {
				folder, err := os.MkdirTemp(s.dir, "bus-")
				if err != nil {
					return err
				}
				if err := one(filepath.Join(folder, "bus.db"), min(n, eventsOfABus)); err != nil {
					return err
				}
				if err := os.RemoveAll(folder); err != nil {
					return err
				}
			}
			return nil
		}
	}
	ours := buses(func(path string, events int) error { return lifeOfABus(ctx, path, events) })
	if err := ours(eventsOfABus); err != nil { // what is made once is made
		return result{}, err
	}
	r, err := mass{
		portion: 5 * eventsOfABus,
		ours:    ours,
		bare:    buses(func(path string, events int) error { return bare.newFile(path, schema, events) }),
	}.run(ctx, s)
	if err != nil {
		return result{}, err
	}
	return r, requireGoroutines(goroutines)
}

// lifeOfABus opens a bus, publishes so many events at once, waits until they are handled, and
// shuts the bus down.
func lifeOfABus(ctx context.Context, path string, events int) error {
	b, err := openBus(ctx, path)
	if err != nil {
		return err
	}
	err = b.subscribe(ctx, 1, false, nil)
	if err == nil {
		err = b.publishAtOnce(ctx, events, events)
	}
	if err == nil {
		err = b.requireHandled(ctx, events)
	}
	if err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return requireAlone(path)
}

// besideFile are the files that a bus may leave beside its own: the claims are kept, which
// saves making them again.
var besideFile = map[string]bool{"bus.db": true, "bus.db-claims": true}

// requireAlone makes sure that nothing else is in the folder of a file.
func requireAlone(path string) error {
	files, err := os.ReadDir(filepath.Dir(path))
	for _, f := range files {
		if !besideFile[f.Name()] {
			err = errors.Join(err, fmt.Errorf("a bus that was shut down has left the file %s", f.Name()))
		}
	}
	return err
}

// schema returns the statements that make the tables of the file.
func (l *limit) schema() (statements string, err error) {
	err = query(l.conn, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid",
		func(s *sqlite3.Stmt) {
			statements += s.ColumnText(0) + ";\n"
		})
	return statements, err
}

// newFile makes a file with these tables, and inserts so many rows in one commit. Their event
// type has no row.
func (l *limit) newFile(path, schema string, rows int) error {
	conn, err := sqlite3.Open(path)
	if err != nil {
		return err
	}
	one := limit{conn: conn, id: l.id, typeID: l.typeID, payload: l.payload}
	err = conn.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=OFF; BEGIN IMMEDIATE;" +
		schema + "COMMIT")
	if err == nil {
		err = one.statements()
	}
	if err == nil {
		err = one.transaction(rows)
	}
	return errors.Join(err, one.close())
}
