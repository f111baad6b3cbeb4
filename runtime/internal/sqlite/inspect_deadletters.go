package sqlite

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// deadLetter is a dead letter with its place in the file.
type deadLetter struct {
	event.DeadLetter
	tables.RowKey
}

// DeadLetters implements [engine.DeadLetterReader].
func (i *Inspection) DeadLetters(ctx context.Context, f engine.Filter, p event.Page, oldest bool) (letters []event.DeadLetter, next string, err error) {
	after, err := engine.PlaceOf(p, 3)
	if err != nil {
		return nil, "", err
	}
	sorted, most := newestFirst, int64(tables.ListedBytes)
	if oldest { // for who stores them elsewhere
		sorted, most = oldestFirst, tables.ReadableBytes
	}
	var found []deadLetter
	err = i.look(ctx, "list the dead letters of", func(c *database.Conn) error {
		found, err = readDeadLetters(c, f, sorted, after, p.Offset, p.Limit+1, most)
		if errors.Is(err, errPageFull) {
			p.Limit, err = len(found)-1, nil
		}
		return err
	})
	found, next = engine.CutPage(p, found, func(d deadLetter) []int64 {
		return []int64{d.DeadAt.UnixMicro(), d.Subscription, d.Seq}
	})
	for _, one := range found {
		letters = append(letters, one.DeadLetter)
	}
	return letters, next, err
}

// order is an order of dead letters, as SQL: what a letter compares by with the one
// before it, and the columns.
type order struct{ comes, by string }

var (
	newestFirst = order{"<", "d.dead_at DESC, d.subscription DESC, d.seq DESC"}
	oldestFirst = order{">", "d.dead_at, d.subscription, d.seq"}
)

// readDeadLetters returns dead letters with their attempts. It begins after the one
// with the given cursor: when it died, and its place. Of payloads with more than most bytes it reads the beginning. Who
// asks for long payloads is given errPageFull if they have many bytes, with one letter more than was read.
func readDeadLetters(c *database.Conn, f engine.Filter, sorted order, after []int64, offset, limit int, most int64) (letters []deadLetter, err error) {
	w, err := deadFilter{Filter: f}.condition(c)
	if err != nil {
		return nil, err
	}
	if after != nil {
		w.and("(d.dead_at, d.subscription, d.seq) "+sorted.comes+" (?, ?, ?)", after[0], after[1], after[2])
	}
	size := int64(0)
	var types []int64 // of the letters
	err = c.Query(`
		SELECT l.id, l.type, d.dead_at, d.subscription, d.seq, `+tables.Bounded("l.payload")+`, `+tables.Bounded("l.metadata")+`, l.created_at,
		       d.reason, d.fingerprint, d.failures, d.progress, d.redriven
		FROM (SELECT dead_at, subscription, seq, reason, fingerprint, failures, progress, redriven FROM busgen_deliveries d WHERE d.state = 'dead'`+w.sql.String()+`
		      ORDER BY `+sorted.by+` LIMIT ? OFFSET ?) d
		CROSS JOIN busgen_log l ON l.seq = d.seq
		ORDER BY `+sorted.by, func(s *sqlite3.Stmt) error {
		payload := tables.ColumnOf(s, 5)
		if size += min(payload.Size, most); size > tables.PageBytes && len(letters) > 0 && most > tables.ListedBytes {
			return errPageFull
		}
		at := tables.RowKey{Subscription: s.ColumnInt64(3), Seq: s.ColumnInt64(4)}
		read, err := tables.ReadContents(c, payload, tables.ColumnOf(s, 6), at.Seq, most)
		letters = append(letters, deadLetter{
			DeadLetter: event.DeadLetter{
				Key: event.Key{EventID: database.UUID(s, 0)}, DeadAt: database.Time(s, 2),
				Payload: read.Payload, PayloadBytes: read.Size, Metadata: read.Metadata, PublishedAt: database.Time(s, 7),
				Reason: s.ColumnText(8), Fingerprint: s.ColumnText(9), Failures: s.ColumnInt(10),
				Progress: s.ColumnText(11), Redriven: s.ColumnInt(12),
			},
			RowKey: at,
		})
		types = append(types, s.ColumnInt64(1))
		return err
	}, append(w.args, limit, offset)...)
	full := errors.Is(err, errPageFull)
	if err != nil && !full {
		return nil, err
	}
	named := tables.NewNamesByID()
	for i := range letters {
		one := &letters[i]
		if one.DeadLetter.Subscription, err = named.Subscription(c, one.RowKey.Subscription); err != nil {
			return nil, err
		}
		t, err := named.EventType(c, types[i])
		if err != nil {
			return nil, err
		}
		one.Type, one.Version = t.Name, t.Version
		if one.Attempts, err = readAttempts(c, one.RowKey); err != nil {
			return nil, err
		}
	}
	if full {
		return append(letters, deadLetter{}), errPageFull
	}
	return letters, nil
}

// CountDeadLetters implements [engine.DeadLetterReader].
func (i *Inspection) CountDeadLetters(ctx context.Context, f engine.Filter) (n int, err error) {
	err = i.look(ctx, "count the dead letters of", func(c *database.Conn) error {
		n, _, err = countDeadLetters(c, deadFilter{Filter: f})
		return err
	})
	return n, err
}

// countDeadLetters returns as well when the last of them died.
func countDeadLetters(c *database.Conn, f deadFilter) (n int, last time.Time, err error) {
	w, err := f.condition(c)
	if err != nil {
		return 0, last, err
	}
	err = c.Query("SELECT count(*), max(d.dead_at) FROM busgen_deliveries d WHERE d.state = 'dead'"+w.sql.String(), func(s *sqlite3.Stmt) error {
		n, last = s.ColumnInt(0), database.Time(s, 1)
		return nil
	}, w.args...)
	return n, last, err
}

// DeadLetter implements [engine.DeadLetterReader].
func (i *Inspection) DeadLetter(ctx context.Context, key event.Key) (history event.DeadLetterHistory, err error) {
	err = i.look(ctx, "read a dead letter of", func(c *database.Conn) error {
		found, err := findDeadLetter(c, key)
		if err != nil {
			return err
		}
		history.DeadLetter = found.DeadLetter
		if history.MadeFrom, err = ancestors(c, found.Seq); err != nil {
			return err
		}
		if history.EditedInto, err = descendants(c, key.EventID); err != nil {
			return err
		}
		history.Audit, err = auditOf(c, key.EventID, found.RowKey)
		return err
	})
	return history, err
}

// findDeadLetter returns one dead letter, or a *NotFoundError.
func findDeadLetter(c *database.Conn, key event.Key) (deadLetter, error) {
	found, err := readDeadLetters(c, engine.Filter{Filter: event.Filter{Keys: []event.Key{key}}}, newestFirst, nil, 0, 1, tables.ReadableBytes)
	if err != nil {
		return deadLetter{}, err
	}
	if len(found) == 0 {
		state, err := whereabouts(c, key)
		if err != nil {
			return deadLetter{}, err
		}
		return deadLetter{}, &event.NotFoundError{Thing: "dead letter", Name: key.String(), Key: key, State: state}
	}
	return found[0], nil
}

// ancestors returns the events that an event was made from, the nearest first.
func ancestors(c *database.Conn, seq int64) (ids []uuid.UUID, err error) {
	err = c.Query(`
		WITH RECURSIVE up (id, n) AS (
		  SELECT parent, 1 FROM busgen_origins WHERE seq = ?
		  UNION ALL
		  SELECT o.parent, up.n + 1 FROM up JOIN busgen_log l ON l.id = up.id JOIN busgen_origins o ON o.seq = l.seq)
		SELECT id FROM up WHERE id <> zeroblob(16) ORDER BY n`, func(s *sqlite3.Stmt) error {
		ids = append(ids, database.UUID(s, 0))
		return nil
	}, seq)
	return ids, err
}

// descendants returns the events that were made from one, with their subscriptions.
func descendants(c *database.Conn, id uuid.UUID) (keys []event.Key, err error) {
	err = c.Query(`
		SELECT l.id, s.name FROM busgen_origins o JOIN busgen_log l ON l.seq = o.seq JOIN busgen_subscriptions s ON s.id = o.subscription
		WHERE o.parent = ? ORDER BY o.seq`, func(s *sqlite3.Stmt) error {
		keys = append(keys, event.Key{EventID: database.UUID(s, 0), Subscription: s.ColumnText(1)})
		return nil
	}, id[:])
	return keys, err
}

// whereabouts says what is known of a delivery that is not dead.
func whereabouts(c *database.Conn, key event.Key) (text string, err error) {
	text = "there is no such event"
	err = c.Query(`
		SELECT s.id, d.state, x.reason, `+notPassed+`, `+heldForVersion+`, d.waitlist
		FROM busgen_log l LEFT JOIN busgen_subscriptions s ON s.id = (SELECT id FROM `+tables.AllNames+` WHERE name = ?2)
		LEFT JOIN busgen_deliveries d ON d.subscription = s.id AND d.seq = l.seq
		LEFT JOIN busgen_discarded x ON x.subscription = s.id AND x.seq = l.seq
		WHERE l.id = ?1`, func(s *sqlite3.Stmt) error {
		switch state := s.ColumnText(1); {
		case s.ColumnType(0) == sqlite3.NULL:
			text = "there is no such subscription"
		case state == tables.RowRunning:
			text = "a handler is running"
		case state == tables.RowHeld && s.ColumnBool(4):
			text = "it is held, because its version is newer than the program"
		case state == tables.RowHeld && s.ColumnType(5) != sqlite3.NULL:
			text = "it waits for " + s.ColumnText(5)
		case state == tables.RowHeld:
			text = "its type is paused"
		case state != "":
			text = "it waits to be tried again"
		case s.ColumnType(2) != sqlite3.NULL:
			text = "it was discarded: " + s.ColumnText(2)
		case s.ColumnBool(3):
			text = "it has yet to be delivered"
		default:
			text = "it was handled or purged, or never meant for it"
		}
		return nil
	}, key.EventID[:], key.Subscription)
	return text, err
}

// FailureGroups implements [engine.DeadLetterReader].
func (i *Inspection) FailureGroups(ctx context.Context, f engine.Filter) (groups []event.FailureGroup, err error) {
	err = i.look(ctx, "group the dead letters of", func(c *database.Conn) error {
		groups, err = readGroups(c, f)
		for n := range groups {
			if err == nil {
				err = addSample(c, f, &groups[n])
			}
		}
		return err
	})
	return groups, err
}

// failures are the dead letters of a group, with the numbers of their types and subscriptions.
type failures struct {
	count                int
	first, last          int64
	types, subscriptions map[int64]bool
}

// readGroups groups dead letters, here and not in SQL, which takes twice as long to find out
// which types and subscriptions they have.
func readGroups(c *database.Conn, f engine.Filter) (groups []event.FailureGroup, err error) {
	w, err := deadFilter{Filter: f}.condition(c)
	if err != nil {
		return nil, err
	}
	dead, err := deadInOrder(c, w.sql.Len() > 0)
	if err != nil {
		return nil, err
	}
	found := map[string]*failures{}
	err = c.Query(`
		SELECT d.fingerprint, d.dead_at, d.subscription, l.type
		FROM (SELECT * FROM busgen_deliveries d `+dead+w.sql.String()+`) d CROSS JOIN busgen_log l ON l.seq = d.seq`, func(s *sqlite3.Stmt) error {
		one, at := found[string(s.ColumnRawText(0))], s.ColumnInt64(1)
		if one == nil {
			one = &failures{first: at, last: at, types: map[int64]bool{}, subscriptions: map[int64]bool{}}
			found[s.ColumnText(0)] = one
		}
		one.count++
		one.first, one.last = min(one.first, at), max(one.last, at)
		one.subscriptions[s.ColumnInt64(2)], one.types[s.ColumnInt64(3)] = true, true
		return nil
	}, w.args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	types, err := namesOf(c, "SELECT id, name FROM busgen_types")
	if err != nil {
		return nil, err
	}
	subscriptions, err := namesOf(c, "SELECT id, name FROM busgen_subscriptions")
	for fingerprint, one := range found {
		groups = append(groups, event.FailureGroup{
			Fingerprint: fingerprint, Count: one.count, First: time.UnixMicro(one.first).UTC(), Last: time.UnixMicro(one.last).UTC(),
			Types: named(one.types, types), Subscriptions: named(one.subscriptions, subscriptions),
		})
	}
	slices.SortFunc(groups, func(a, b event.FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return groups, err
}

// deadInOrder is the SQL condition on deliveries d that they are dead. Without a filter, and if most
// rows are dead, it makes SQLite read them in the order of the log: their index has the order of
// the groups, and with a million of them in ten groups the log would be gone through ten times.
func deadInOrder(c *database.Conn, filtered bool) (string, error) {
	const asItLikes = "WHERE d.state = 'dead'"
	if filtered {
		return asItLikes, nil
	}
	mostly, err := c.Int64(`
		SELECT (SELECT count(*) FROM busgen_deliveries INDEXED BY busgen_deliveries_dead WHERE state = 'dead')
		  > (SELECT count(*) FROM (SELECT 1 FROM busgen_deliveries INDEXED BY busgen_deliveries_open WHERE state <> 'dead' LIMIT ?))`, rowsCounted)
	if err != nil || mostly == 0 {
		return asItLikes, err
	}
	return "NOT INDEXED WHERE +d.state = 'dead'", nil
}

// namesOf reads names by their numbers.
func namesOf(c *database.Conn, sql string) (names map[int64]string, err error) {
	names = map[int64]string{}
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		names[s.ColumnInt64(0)] = s.ColumnText(1)
		return nil
	})
	return names, err
}

// named returns the names of numbers, each once, in alphabetical order. Several types have the
// same name: they are its versions.
func named(ids map[int64]bool, names map[int64]string) []string {
	all := map[string]bool{}
	for id := range ids {
		if name, known := names[id]; known {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// addSample adds what the newest dead letter of a group says about all of them.
func addSample(c *database.Conn, f engine.Filter, g *event.FailureGroup) error {
	f.Group = g.Fingerprint
	newest, err := readDeadLetters(c, f, newestFirst, nil, 0, 1, tables.ListedBytes)
	if len(newest) > 0 {
		last := newest[0].LastAttempt()
		g.Reason, g.ErrorType, g.Message, g.Sample = newest[0].Reason, last.ErrorType, last.Error, newest[0].Key
	}
	return err
}

// FailureGroupNames implements [engine.DeadLetterReader].
func (i *Inspection) FailureGroupNames(ctx context.Context, prefix string) (names []string, err error) {
	err = i.look(ctx, "group the dead letters of", func(c *database.Conn) error {
		// From one name to the next: SELECT DISTINCT would read all dead letters.
		names, err = texts(c, `
			WITH RECURSIVE f (name) AS (
			  SELECT (SELECT min(fingerprint) FROM busgen_deliveries WHERE state = 'dead' AND fingerprint >= ?1)
			  UNION ALL
			  SELECT (SELECT min(fingerprint) FROM busgen_deliveries WHERE state = 'dead' AND fingerprint > f.name)
			  FROM f WHERE substr(f.name, 1, length(?1)) = ?1)
			SELECT name FROM f WHERE substr(name, 1, length(?1)) = ?1`, prefix)
		return err
	})
	return names, err
}
