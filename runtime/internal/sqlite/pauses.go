package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Pause implements [engine.Log].
func (l *Log) Pause(ctx context.Context, p engine.Pause) error {
	err := l.writer.doSynced(ctx, func(c *conn) error { return pauseDeliveries(c, p) })
	if err == nil {
		err = l.refreshPauses()
	}
	return storageError("pause in", l.path, err)
}

// Resume implements [engine.Log].
func (l *Log) Resume(ctx context.Context, p engine.Pause) (found bool, err error) {
	err = l.writer.doSynced(ctx, func(c *conn) (err error) {
		found, err = resumeDeliveries(c, p)
		return err
	})
	if err == nil {
		err = l.refreshPauses()
	}
	for _, consumer := range l.all() {
		consumer.recheck()
	}
	return found, storageError("resume in", l.path, err)
}

// Pauses implements [engine.Log].
func (l *Log) Pauses(context.Context) (pauses []engine.Pause, err error) {
	err = l.read(func(c *conn) (err error) {
		pauses, err = l.ownPauses(c)
		return err
	})
	return pauses, storageError("read", l.path, err)
}

// WatchPauses implements [engine.Log].
func (l *Log) WatchPauses(_ context.Context, f func([]engine.Pause)) error {
	l.pausing.Lock()
	l.watchers = append(l.watchers, f)
	l.pausing.Unlock()
	l.writer.watchOthers()
	return storageError("read", l.path, l.read(func(c *conn) error {
		pauses, err := l.ownPauses(c)
		if err != nil {
			return err
		}
		l.pausing.Lock()
		defer l.pausing.Unlock()
		l.pauses = pauses
		f(pauses)
		return nil
	}))
}

// refreshPauses tells those who watch what is paused, if that has changed.
func (l *Log) refreshPauses() error { return l.read(l.tellPauses) }

func (l *Log) tellPauses(c *conn) error {
	pauses, err := l.ownPauses(c)
	if err != nil {
		return err
	}
	l.pausing.Lock()
	defer l.pausing.Unlock()
	if slices.Equal(pauses, l.pauses) {
		return nil
	}
	l.pauses = pauses
	for _, f := range l.watchers {
		f(pauses)
	}
	return nil
}

// ownPauses reads what is paused, under the names of this process.
func (l *Log) ownPauses(c *conn) ([]engine.Pause, error) {
	pauses, err := readPauses(c)
	for i := range pauses {
		if err != nil || pauses[i].Kind != engine.PauseSubscription {
			continue
		}
		var found knownSubscription
		found, err = knownConsumer(c, pauses[i].Target)
		pauses[i].Target = l.nameOf(found.id, pauses[i].Target)
	}
	return pauses, err
}

func pauseDeliveries(c *conn, p engine.Pause) error {
	if p.Kind == engine.PauseSubscription {
		found, err := knownConsumer(c, p.Target)
		if err != nil || found.id == 0 {
			return cmp.Or(err, fmt.Errorf("subscription %q: %w", p.Target, engine.ErrUnknownConsumer))
		}
		p.Target = found.name
	}
	return c.exec("INSERT INTO pauses (kind, target, since) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", string(p.Kind), p.Target, time.Now())
}

// resumeDeliveries removes a pause, and makes due what no other pause holds.
func resumeDeliveries(c *conn, p engine.Pause) (found bool, err error) {
	if p.Kind == engine.PauseSubscription {
		known, err := knownConsumer(c, p.Target)
		if err != nil {
			return false, err
		}
		p.Target = cmp.Or(known.name, p.Target)
	}
	if err := c.exec("DELETE FROM pauses WHERE kind = ? AND target = ?", string(p.Kind), p.Target); err != nil {
		return false, err
	}
	if found = c.Changes() > 0; !found || p.Kind != engine.PauseType {
		return found, nil
	}
	held, err := idsWhere(c, `
		SELECT DISTINCT t.id, t.name FROM deliveries d JOIN log l ON l.seq = d.seq JOIN types t ON t.id = l.type
		WHERE d.state = 'held'`, func(string) (bool, error) { return true, nil })
	for _, typeID := range held {
		if err != nil {
			return false, err
		}
		err = releaseHeld(c, typeID)
	}
	return found, err
}

// releaseHeld makes the held deliveries of a type due, unless it is paused.
func releaseHeld(c *conn, typeID int64) error {
	name := ""
	err := c.query("SELECT name FROM types WHERE id = ?", func(s *sqlite3.Stmt) error {
		name = s.ColumnText(0)
		return nil
	}, typeID)
	if err != nil {
		return err
	}
	if paused, err := typePaused(c, name); paused || err != nil {
		return err
	}
	return c.exec(`
		UPDATE deliveries SET state = 'waiting', due_at = ?
		WHERE state = 'held' AND seq IN (SELECT d.seq FROM deliveries d JOIN log l ON l.seq = d.seq WHERE d.state = 'held' AND l.type = ?)`,
		time.Now(), typeID)
}

// typePaused tells whether a pause of types covers this one.
func typePaused(c *conn, name string) (bool, error) {
	matching, err := idsWhere(c, "SELECT rowid, target FROM (SELECT 1 AS rowid, target FROM pauses WHERE kind = 'type')",
		func(target string) (bool, error) { return patternMatches(target, name) })
	return len(matching) > 0, err
}

func readPauses(c *conn) (pauses []engine.Pause, err error) {
	err = c.query("SELECT kind, target, since FROM pauses ORDER BY since, kind, target", func(s *sqlite3.Stmt) error {
		pauses = append(pauses, engine.Pause{Kind: engine.PauseKind(s.ColumnText(0)), Target: s.ColumnText(1), Since: timeOf(s, 2)})
		return nil
	})
	return pauses, err
}
