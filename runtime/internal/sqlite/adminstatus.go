package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Status is what a file holds and who uses it.
type Status struct {
	Size, WAL int64 // bytes
	Schema    int
	Owner     Owner
	Types     []TypeCount // those with events, by name
	Lags      []engine.Lag
	Pauses    []engine.Pause
	Activity  engine.Activity
}

// Owner is the process that dispatches from a file, or was the last to.
type Owner struct {
	PID   int // 0 if there never was one
	Since time.Time
	Alive bool
}

// TypeCount counts the events of one type.
type TypeCount struct {
	Name           string
	Events         int
	Oldest, Newest time.Time // published
}

// Status reads the whole log once. It stops counting a backlog at limit.
func (a *Admin) Status(ctx context.Context, limit int) (status Status, err error) {
	err = a.look(ctx, "read", func(c *conn) error {
		schema, err := c.int64("PRAGMA user_version")
		if err != nil {
			return err
		}
		status.Schema = int(schema)
		if status.Types, err = countTypes(c); err != nil {
			return err
		}
		if status.Lags, err = readLags(c, limit, storedName); err != nil {
			return err
		}
		if status.Pauses, err = readPauses(c); err != nil {
			return err
		}
		if status.Activity, err = readActivity(c); err != nil {
			return err
		}
		status.Owner, err = readOwner(c)
		return err
	})
	if err != nil {
		return Status{}, err
	}
	if status.Owner.Alive, err = owned(a.conn.path); err != nil {
		return Status{}, storageError("read", a.conn.path, err)
	}
	if !status.Owner.Alive {
		status.Activity = engine.Activity{} // left by a process that has died
	}
	if status.Size, err = sizeOf(a.conn.path); err == nil {
		status.WAL, err = sizeOf(a.conn.path + walSuffix)
	}
	return status, storageError("read", a.conn.path, err)
}

// Lags tells where each subscription stands. It stops counting a backlog at
// limit.
func (a *Admin) Lags(ctx context.Context, limit int) (lags []engine.Lag, err error) {
	err = a.look(ctx, "read", func(c *conn) (err error) {
		lags, err = readLags(c, limit, storedName)
		return err
	})
	return lags, err
}

// Names returns the names of the subscriptions, in the order in which they were
// made.
func (a *Admin) Names(ctx context.Context) (names []string, err error) {
	err = a.look(ctx, "read", func(c *conn) error {
		return c.query("SELECT name FROM subscriptions ORDER BY id", func(s *sqlite3.Stmt) error {
			names = append(names, s.ColumnText(0))
			return nil
		})
	})
	return names, err
}

// AllNames are the names that subscriptions and event types have and had, those
// that they have first, in the order in which they were made.
func (a *Admin) AllNames(ctx context.Context) (subscriptions, types []string, err error) {
	err = a.look(ctx, "read", func(c *conn) error {
		if subscriptions, err = texts(c, "SELECT name FROM (SELECT id, name, 0 AS former FROM subscriptions "+
			"UNION ALL SELECT subscription, name, 1 FROM former_names) ORDER BY former, id, name"); err != nil {
			return err
		}
		types, err = texts(c, "SELECT name FROM (SELECT min(id) AS id, name, 0 AS former FROM types GROUP BY name "+
			"UNION ALL SELECT min(id), written, 1 FROM types WHERE written NOT IN (SELECT name FROM types) GROUP BY written) ORDER BY former, id")
		return err
	})
	return subscriptions, types, err
}

// texts returns the first column of a query.
func texts(c *conn, sql string, args ...any) (all []string, err error) {
	err = c.query(sql, func(s *sqlite3.Stmt) error {
		all = append(all, s.ColumnText(0))
		return nil
	}, args...)
	return all, err
}

// Pauses returns what is paused, the oldest first.
func (a *Admin) Pauses(ctx context.Context) (pauses []engine.Pause, err error) {
	err = a.look(ctx, "read", func(c *conn) (err error) {
		pauses, err = readPauses(c)
		return err
	})
	return pauses, err
}

// countTypes counts here and not in SQL, which would sort the log by its types
// and take three times as long.
func countTypes(c *conn) ([]TypeCount, error) {
	type span struct {
		events         int
		oldest, newest int64
	}
	names, spans := map[int64]string{}, map[string]*span{}
	err := c.query("SELECT id, name FROM types", func(s *sqlite3.Stmt) error {
		names[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = c.query("SELECT type, created_at FROM log", func(s *sqlite3.Stmt) error {
		name, at := names[s.ColumnInt64(0)], s.ColumnInt64(1)
		one := spans[name]
		if one == nil {
			one = &span{oldest: at, newest: at}
			spans[name] = one
		}
		one.events++
		one.oldest, one.newest = min(one.oldest, at), max(one.newest, at)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var counts []TypeCount
	for _, name := range slices.Sorted(maps.Keys(spans)) {
		one := spans[name]
		counts = append(counts, TypeCount{name, one.events, time.UnixMicro(one.oldest).UTC(), time.UnixMicro(one.newest).UTC()})
	}
	return counts, err
}

func readOwner(c *conn) (owner Owner, err error) {
	err = c.query("SELECT pid, since FROM owner", func(s *sqlite3.Stmt) error {
		owner = Owner{PID: s.ColumnInt(0), Since: timeOf(s, 1)}
		return nil
	})
	return owner, err
}

// owned tells whether a process dispatches from the file at path. The lock is
// the only witness: a pid may be that of another process by now, or of another
// container.
func owned(path string) (bool, error) {
	if ownerLocks && mounted(path) == "" {
		file, err := os.Open(path)
		if err != nil {
			return false, err
		}
		defer file.Close()
		return ownerLocked(file)
	}
	path += claimsSuffix
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	file, err := openLocked(path)
	if errors.Is(err, errOwned) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, file.Close()
}

// sizeOf is 0 for a file that does not exist.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
