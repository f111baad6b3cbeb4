package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Status is what a file holds and who uses it.
type Status struct {
	Size, WAL int64 // bytes
	Schema    int
	Owner     Owner
	Events    int       // those counted
	More      bool      // there are more, and Types is about the newest only
	Oldest    time.Time // of all events; zero if there is none
	Newest    time.Time
	Types     []TypeCount // those with events, by name
	Snoozed   []Snoozed   // that were put off so often or for so long that somebody should look
	Lags      []engine.Lag
	Pauses    []engine.Pause
	Activity  engine.Activity
	Mark      Mark
	Progress  *Progress // since an earlier look; nil if there was none at this log
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
	Unrouted       bool // no subscription is for it
	Events         int
	Oldest, Newest time.Time // published
}

// Snoozed is a delivery that its handler has put off again and again.
type Snoozed struct {
	ID                 uuid.UUID // of the event
	Type, Subscription string
	Snoozes            int
	Since              time.Time // when the delivery began
}

// Status counts events, and the backlog of each subscription, up to limit. It
// measures what has happened since an earlier look.
func (a *Admin) Status(ctx context.Context, limit int, before Mark) (status Status, err error) {
	err = a.look(ctx, "read", func(c *conn) error {
		schema, err := c.int64("PRAGMA user_version")
		if err != nil {
			return err
		}
		status.Schema = int(schema)
		if err := countTypes(c, &status, limit); err != nil {
			return err
		}
		if status.Snoozed, err = readSnoozed(c); err != nil {
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
		if status.Mark, err = mark(c, status.Lags); err != nil {
			return err
		}
		if status.Progress, err = status.Mark.since(c, before); err != nil {
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

// countTypes counts the newest events, here and not in SQL, which would sort them
// by their types and take three times as long.
func countTypes(c *conn, status *Status, limit int) error {
	names, counts := map[int64]string{}, map[string]*TypeCount{}
	routed := map[string]bool{}
	err := c.query("SELECT id, name, EXISTS (SELECT 1 FROM routes r WHERE r.type = t.id) FROM types t", func(s *sqlite3.Stmt) error {
		name := s.ColumnText(1)
		names[s.ColumnInt64(0)] = name
		routed[name] = routed[name] || s.ColumnBool(2)
		return nil
	})
	if err != nil {
		return err
	}
	err = c.query("SELECT type, created_at FROM log ORDER BY seq DESC LIMIT ?", func(s *sqlite3.Stmt) error {
		if status.Events == limit {
			status.More = true
			return nil
		}
		name, at := names[s.ColumnInt64(0)], timeOf(s, 1)
		one := counts[name]
		if one == nil {
			one = &TypeCount{Name: name, Unrouted: !routed[name] && name[0] != engine.OwnType, Oldest: at, Newest: at}
			counts[name] = one
		}
		one.Events++
		status.Events++
		if at.Before(one.Oldest) {
			one.Oldest = at
		}
		if at.After(one.Newest) {
			one.Newest = at
		}
		status.note(at)
		return nil
	}, limit+1)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		status.Types = append(status.Types, *counts[name])
	}
	return c.query("SELECT created_at FROM log ORDER BY seq LIMIT 1", func(s *sqlite3.Stmt) error {
		status.note(timeOf(s, 0))
		return nil
	})
}

// note takes an event into the span of all.
func (s *Status) note(at time.Time) {
	if s.Oldest.IsZero() || at.Before(s.Oldest) {
		s.Oldest = at
	}
	if at.After(s.Newest) {
		s.Newest = at
	}
}

// Deliveries are shown as put off too often from so many snoozes on, or from one on
// when they are that old.
const (
	manySnoozes  = 100
	longSnoozed  = 24 * time.Hour
	snoozedShown = 10
	// snoozedRead is how many of those with a few snoozes are looked at.
	snoozedRead = 10_000
)

// readSnoozed returns what was put off too often, the most often first.
func readSnoozed(c *conn) (found []Snoozed, err error) {
	err = c.query(`
		SELECT l.id, t.name, s.name, d.snoozes, coalesce(d.since, l.due_at, l.created_at) AS began
		FROM (SELECT subscription, seq, snoozes, since, state FROM deliveries INDEXED BY deliveries_snoozed
		      WHERE snoozes > 0 ORDER BY snoozes DESC LIMIT ?1) d
		JOIN log l ON l.seq = d.seq JOIN types t ON t.id = l.type JOIN subscriptions s ON s.id = d.subscription
		WHERE d.state <> 'dead' AND (d.snoozes >= ?2 OR began <= ?3)
		ORDER BY d.snoozes DESC, d.seq LIMIT ?4`, func(s *sqlite3.Stmt) error {
		found = append(found, Snoozed{
			ID: uuidOf(s, 0), Type: s.ColumnText(1), Subscription: s.ColumnText(2), Snoozes: s.ColumnInt(3), Since: timeOf(s, 4),
		})
		return nil
	}, snoozedRead, manySnoozes, time.Now().Add(-longSnoozed), snoozedShown)
	return found, err
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
