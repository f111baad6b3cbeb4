package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// pauses are what is paused, and who is told of it.
type pauses struct {
	*ground
	writer    *writer
	consumers *consumers
	lookout   *lookout

	mu       sync.Mutex // held while watchers are told
	now      []engine.Pause
	watchers []func([]engine.Pause)
}

// Pause implements [engine.Log].
func (ps *pauses) Pause(ctx context.Context, p engine.Pause) error {
	err := ps.writer.doSynced(ctx, func(c *database.Conn) error { return pauseDeliveries(c, p) })
	if err == nil {
		err = ps.refresh()
	}
	return fault.Wrap("pause in", ps.path, err)
}

// Resume implements [engine.Log].
func (ps *pauses) Resume(ctx context.Context, p engine.Pause) error {
	err := ps.writer.doSynced(ctx, func(c *database.Conn) error { return resumeDeliveries(c, p) })
	var missing *event.NotFoundError
	if err == nil || errors.As(err, &missing) { // another process may have resumed it
		err = cmp.Or(ps.refresh(), err)
	}
	ps.consumers.recheck()
	return fault.Wrap("resume in", ps.path, err)
}

// Pauses implements [engine.Log].
func (ps *pauses) Pauses(context.Context) ([]engine.Pause, error) {
	pauses, err := valueOf(ps.ground, ps.ownPauses)
	return pauses, fault.Wrap("read", ps.path, err)
}

// WatchPauses implements [engine.Log].
func (ps *pauses) WatchPauses(_ context.Context, f func([]engine.Pause)) error {
	ps.mu.Lock()
	ps.watchers = append(ps.watchers, f)
	ps.mu.Unlock()
	ps.lookout.watchOthers()
	return fault.Wrap("read", ps.path, ps.read(func(c *database.Conn) error {
		pauses, err := ps.ownPauses(c)
		if err != nil {
			return err
		}
		ps.mu.Lock()
		defer ps.mu.Unlock()
		ps.now = pauses
		f(pauses)
		return nil
	}))
}

// refresh tells those who watch what is paused, if that has changed.
func (ps *pauses) refresh() error { return ps.read(ps.tell) }

func (ps *pauses) tell(c *database.Conn) error {
	pauses, err := ps.ownPauses(c)
	if err == nil {
		ps.pausedAre(func([]engine.Pause) []engine.Pause { return pauses })
	}
	return err
}

// pausedAre replaces what is paused, and tells those who watch.
func (ps *pauses) pausedAre(now func(before []engine.Pause) []engine.Pause) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	pauses := now(ps.now)
	if slices.Equal(pauses, ps.now) {
		return
	}
	ps.now = pauses
	for _, f := range ps.watchers {
		f(pauses)
	}
}

// readSteering takes in what operators have paused, resumed, discarded and brought back, as it
// was at one moment. New pauses come first and resumes last, so that nothing begins that was
// discarded before a resume, or paused before it was brought back.
func (ps *pauses) readSteering(c *database.Conn) (asked []askedRow, old bool, err error) {
	if err := c.ExecScript("BEGIN"); err != nil {
		return nil, false, err
	}
	defer c.ExecScript("COMMIT") // which has only read
	pauses, err := ps.ownPauses(c)
	if err != nil {
		return nil, false, err
	}
	ps.pausedAre(func(before []engine.Pause) []engine.Pause {
		both := slices.Clone(pauses)
		for _, one := range before {
			if !slices.Contains(both, one) {
				both = append(both, one)
			}
		}
		return both
	})
	if asked, old, err = ps.consumers.readCancelled(c); err == nil {
		ps.pausedAre(func([]engine.Pause) []engine.Pause { return pauses })
	}
	return asked, old, err
}

// ownPauses reads what is paused, under the names of this process.
func (ps *pauses) ownPauses(c *database.Conn) ([]engine.Pause, error) {
	pauses, err := readPauses(c)
	for i := range pauses {
		if err != nil {
			return nil, err
		}
		one := &pauses[i]
		if one.Kind == engine.PauseType {
			one.Besides, err = ps.types.besides(c, one.Target)
			continue
		}
		var found tables.KnownSubscription
		found, err = tables.KnownConsumer(c, one.Target)
		one.Target = ps.consumers.nameOf(found.ID, one.Target)
	}
	return pauses, err
}

// besides lists what this process calls the types for which a pattern is by another
// of their names.
func (t *typeTable) besides(c *database.Conn, pattern string) (string, error) {
	if err := t.load(c); err != nil {
		return "", err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	found := map[string]bool{}
	for _, info := range t.infos {
		if itself, err := typenames.Matches(pattern, info.name); itself || err != nil {
			continue
		}
		if matches, err := typenames.MatchesAny(pattern, info.names); matches && err == nil {
			found[info.name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(found)), " "), nil
}

func pauseDeliveries(c *database.Conn, p engine.Pause) error {
	if p.Kind == engine.PauseSubscription {
		found, err := tables.KnownConsumer(c, p.Target)
		if err != nil || found.ID == 0 {
			return cmp.Or(err, fmt.Errorf("subscription %q: %w", p.Target, event.ErrUnknownSubscription))
		}
		p.Target = found.Name
	}
	return c.Exec("INSERT INTO busgen_pauses (kind, target, key, since, actor, reason) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		string(p.Kind), p.Target, p.Key, time.Now(), tables.Text(p.Actor), tables.Text(p.Reason))
}

// resumeDeliveries removes a pause, and makes due what no other pause holds.
func resumeDeliveries(c *database.Conn, p engine.Pause) error {
	missing := &event.NotFoundError{Thing: "pause of " + string(p.Kind), Name: p.Of()}
	var known tables.KnownSubscription
	if p.Kind == engine.PauseSubscription {
		var err error
		if known, err = tables.KnownConsumer(c, p.Target); err != nil {
			return err
		}
		p.Target = cmp.Or(known.Name, p.Target)
	}
	if err := c.Exec("DELETE FROM busgen_pauses WHERE kind = ? AND target = ? AND key = ?", string(p.Kind), p.Target, p.Key); err != nil {
		return err
	}
	switch {
	case c.Changes() == 0:
		pauses, err := readPauses(c)
		for _, other := range pauses {
			missing.Known = append(missing.Known, strings.TrimSpace(string(other.Kind)+" "+other.Of()))
		}
		return cmp.Or(err, error(missing))
	case p.Key != "":
		_, err := freeFirst(c, known.ID, engine.PauseWaitlist(p.Key), engine.FreedAtOnce, time.Now())
		return err
	case p.Kind != engine.PauseType:
		return nil
	}
	return releaseHeld(c, time.Now())
}

// releaseHeld makes the held deliveries due whose types are not paused.
func releaseHeld(c *database.Conn, now time.Time) error {
	held, err := tables.IdsWhere(c, `
		SELECT DISTINCT t.id, t.written FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq JOIN busgen_types t ON t.id = l.type
		WHERE d.state = 'held' AND d.waitlist IS NULL AND NOT `+heldForVersion, func(written string) (bool, error) {
		paused, err := typePaused(c, written)
		return !paused, err
	})
	for _, typeID := range held {
		if err == nil {
			err = c.Exec(`
				UPDATE busgen_deliveries AS d SET state = 'waiting', due_at = ?, wait = 0
				WHERE state = 'held' AND waitlist IS NULL AND NOT `+heldForVersion+`
				  AND seq IN (SELECT d.seq FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq WHERE d.state = 'held' AND l.type = ?)`,
				now, typeID)
		}
	}
	return err
}

// typePaused tells whether a pause of types covers this one, under any of its names.
func typePaused(c *database.Conn, written string) (paused bool, err error) {
	var names []string
	err = c.Query("SELECT name, written FROM busgen_types WHERE name = (SELECT name FROM busgen_types WHERE written = ? LIMIT 1)", func(s *sqlite3.Stmt) error {
		names = append(names, s.ColumnText(0), s.ColumnText(1))
		return nil
	}, written)
	if err != nil {
		return false, err
	}
	pauses, err := readPauses(c)
	for _, one := range pauses {
		if err == nil && !paused && one.Kind == engine.PauseType {
			paused, err = typenames.MatchesAny(one.Target, names)
		}
	}
	return paused, err
}

func readPauses(c *database.Conn) (pauses []engine.Pause, err error) {
	err = c.Query("SELECT kind, target, since, actor, reason, key FROM busgen_pauses ORDER BY since, kind, target, key", func(s *sqlite3.Stmt) error {
		pauses = append(pauses, engine.Pause{
			Kind: engine.PauseKind(s.ColumnText(0)), Target: s.ColumnText(1), Since: database.Time(s, 2), Actor: s.ColumnText(3), Reason: s.ColumnText(4), Key: s.ColumnText(5),
		})
		return nil
	})
	return pauses, err
}
