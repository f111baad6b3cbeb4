package sqlite

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"
)

// LetterPage is a part of the list of dead letters.
type LetterPage struct {
	After         LetterMark // those that come after this one; all if zero
	OldestFirst   bool
	Offset, Limit int
}

// LetterGroup is dead letters with the same fingerprint.
type LetterGroup struct {
	Fingerprint   string
	Types         []string
	Subscriptions []string
	Count         int
	First, Last   time.Time
	Newest        DeadLetter
}

const letterColumns = `
	SELECT l.id, s.name, d.dead_at, d.subscription, d.seq, t.name, l.payload, l.metadata, l.created_at,
	       d.reason, d.fingerprint, d.failures, d.progress, d.redriven, t.version`

// List returns dead letters, newest first.
func (d *DeadLetters) List(ctx context.Context, f LetterFilter, page LetterPage) (letters []DeadLetter, err error) {
	err = d.look(ctx, "list the dead letters of", func() error {
		letters, err = d.page(f, page)
		return err
	})
	return letters, err
}

func (d *DeadLetters) page(f LetterFilter, page LetterPage) ([]DeadLetter, error) {
	w, err := f.condition(d.conn)
	if err != nil {
		return nil, err
	}
	w.from(page.After, page.OldestFirst)
	sorted := order(page.OldestFirst)
	w.args = append(w.args, page.Limit, page.Offset)
	return d.find(" FROM (SELECT *"+dead+w.sql.String()+sorted+" LIMIT ? OFFSET ?) d"+known+sorted, w.args...)
}

// from adds that a letter comes after another one.
func (w *condition) from(mark LetterMark, oldestFirst bool) {
	if mark == (LetterMark{}) {
		return
	}
	than := "<"
	if oldestFirst {
		than = ">"
	}
	w.and("(d.dead_at, d.subscription, d.seq) "+than+" (?, ?, ?)", mark.DeadAt, mark.Subscription, mark.Seq)
}

func order(oldestFirst bool) string {
	if oldestFirst {
		return " ORDER BY d.dead_at, d.subscription, d.seq"
	}
	return " ORDER BY d.dead_at DESC, d.subscription DESC, d.seq DESC"
}

// Count returns how many dead letters there are.
func (d *DeadLetters) Count(ctx context.Context, f LetterFilter) (n int, err error) {
	err = d.look(ctx, "count the dead letters of", func() error {
		n, _, err = d.count(f)
		return err
	})
	return n, err
}

// count returns as well when the last of them died.
func (d *DeadLetters) count(f LetterFilter) (n int, last time.Time, err error) {
	w, err := f.condition(d.conn)
	if err != nil {
		return 0, last, err
	}
	err = d.conn.query("SELECT count(*), max(d.dead_at)"+dead+w.sql.String(), func(s *sqlite3.Stmt) error {
		n, last = s.ColumnInt(0), timeOf(s, 1)
		return nil
	}, w.args...)
	return n, last, err
}

// Groups returns dead letters by their fingerprint, the largest group first.
func (d *DeadLetters) Groups(ctx context.Context, f LetterFilter) (groups []LetterGroup, err error) {
	err = d.look(ctx, "group the dead letters of", func() error {
		groups, err = d.groups(f)
		for i := range groups {
			if err == nil {
				err = d.newest(f, &groups[i])
			}
		}
		return err
	})
	return groups, err
}

func (d *DeadLetters) groups(f LetterFilter) (groups []LetterGroup, err error) {
	w, err := f.condition(d.conn)
	if err != nil {
		return nil, err
	}
	err = d.conn.query(`
		SELECT d.fingerprint, count(*), min(d.dead_at), max(d.dead_at), json_group_array(DISTINCT t.name), json_group_array(DISTINCT s.name)
		FROM (SELECT *`+dead+w.sql.String()+`) d`+known+`
		GROUP BY d.fingerprint ORDER BY count(*) DESC, max(d.dead_at) DESC, d.fingerprint`, func(s *sqlite3.Stmt) error {
		g := LetterGroup{Fingerprint: s.ColumnText(0), Count: s.ColumnInt(1), First: timeOf(s, 2), Last: timeOf(s, 3)}
		if err := json.Unmarshal(s.ColumnRawText(4), &g.Types); err != nil {
			return err
		}
		if err := json.Unmarshal(s.ColumnRawText(5), &g.Subscriptions); err != nil {
			return err
		}
		groups = append(groups, g)
		return nil
	}, w.args...)
	return groups, err
}

// GroupNames returns the fingerprints of dead letters that begin with a prefix, in
// their order.
func (d *DeadLetters) GroupNames(ctx context.Context, prefix string) (names []string, err error) {
	err = d.look(ctx, "group the dead letters of", func() error {
		names, err = texts(d.conn, `
			SELECT DISTINCT fingerprint FROM deliveries WHERE state = 'dead' AND fingerprint >= ?1 AND substr(fingerprint, 1, length(?1)) = ?1
			ORDER BY fingerprint`, prefix)
		return err
	})
	return names, err
}

func (d *DeadLetters) newest(f LetterFilter, g *LetterGroup) error {
	f.Fingerprint = g.Fingerprint
	letters, err := d.page(f, LetterPage{Limit: 1})
	if len(letters) > 0 {
		g.Newest = letters[0]
	}
	return err
}

// find returns letters with their attempts.
func (d *DeadLetters) find(sql string, args ...any) (letters []DeadLetter, err error) {
	err = d.conn.query(letterColumns+sql, func(s *sqlite3.Stmt) error {
		letters = append(letters, DeadLetter{
			LetterKey: LetterKey{Event: uuidOf(s, 0), Subscription: s.ColumnText(1)},
			Mark:      LetterMark{DeadAt: timeOf(s, 2), Subscription: s.ColumnInt64(3), Seq: s.ColumnInt64(4)},
			Type:      s.ColumnText(5), Payload: s.ColumnBlob(6, nil), Metadata: s.ColumnBlob(7, nil), CreatedAt: timeOf(s, 8),
			Reason: s.ColumnText(9), Fingerprint: s.ColumnText(10), Failures: s.ColumnInt(11),
			Progress: s.ColumnText(12), Redriven: s.ColumnInt(13), Version: s.ColumnInt(14),
		})
		return nil
	}, args...)
	for i := range letters {
		if err == nil {
			letters[i].Attempts, err = readAttempts(d.conn, letters[i].Mark.Seq, letters[i].Mark.Subscription)
		}
	}
	return letters, err
}

// LetterDetail is a dead letter with where it comes from and what was done.
type LetterDetail struct {
	DeadLetter
	MadeFrom   []uuid.UUID // events it was made from, the nearest first
	EditedInto []LetterKey // events that were made from it
	Audit      []AuditEntry
}

// Get returns one dead letter. If there is none, missing says what became of
// it.
func (d *DeadLetters) Get(ctx context.Context, key LetterKey) (detail LetterDetail, missing string, err error) {
	err = d.look(ctx, "read a dead letter of", func() error {
		detail, missing, err = d.get(key)
		return err
	})
	return detail, missing, err
}

func (d *DeadLetters) get(key LetterKey) (detail LetterDetail, missing string, err error) {
	letters, err := d.page(LetterFilter{Keys: []LetterKey{key}}, LetterPage{Limit: 1})
	if err != nil {
		return detail, "", err
	}
	if len(letters) == 0 {
		missing, err = whereabouts(d.conn, key)
		return detail, missing, err
	}
	detail.DeadLetter = letters[0]
	if detail.MadeFrom, err = ancestors(d.conn, detail.Mark.Seq); err != nil {
		return detail, "", err
	}
	if detail.EditedInto, err = descendants(d.conn, key.Event); err != nil {
		return detail, "", err
	}
	detail.Audit, err = auditOf(d.conn, key.Event, detail.Mark.Seq, detail.Mark.Subscription)
	return detail, "", err
}

// ancestors returns the events that an event was made from, the nearest first.
func ancestors(c *conn, seq int64) (ids []uuid.UUID, err error) {
	err = c.query(`
		WITH RECURSIVE up (id, n) AS (
		  SELECT parent, 1 FROM origins WHERE seq = ?
		  UNION ALL
		  SELECT o.parent, up.n + 1 FROM up JOIN log l ON l.id = up.id JOIN origins o ON o.seq = l.seq)
		SELECT id FROM up WHERE id <> zeroblob(16) ORDER BY n`, func(s *sqlite3.Stmt) error {
		ids = append(ids, uuidOf(s, 0))
		return nil
	}, seq)
	return ids, err
}

// descendants returns the events that were made from one, and for whom.
func descendants(c *conn, id uuid.UUID) (keys []LetterKey, err error) {
	err = c.query(`
		SELECT l.id, s.name FROM origins o JOIN log l ON l.seq = o.seq JOIN subscriptions s ON s.id = o.subscription
		WHERE o.parent = ? ORDER BY o.seq`, func(s *sqlite3.Stmt) error {
		keys = append(keys, LetterKey{Event: uuidOf(s, 0), Subscription: s.ColumnText(1)})
		return nil
	}, id[:])
	return keys, err
}

// whereabouts says what is known of a delivery that is not dead.
func whereabouts(c *conn, key LetterKey) (text string, err error) {
	text = "there is no such event"
	err = c.query(`
		SELECT s.id, d.state, x.reason, l.due_at IS NULL AND l.seq > s.cursor
		FROM log l LEFT JOIN subscriptions s ON s.id = (SELECT id FROM `+allNames+` WHERE name = ?2)
		LEFT JOIN deliveries d ON d.subscription = s.id AND d.seq = l.seq
		LEFT JOIN discarded x ON x.subscription = s.id AND x.seq = l.seq
		WHERE l.id = ?1`, func(s *sqlite3.Stmt) error {
		switch state := s.ColumnText(1); {
		case s.ColumnType(0) == sqlite3.NULL:
			text = "there is no such subscription"
		case state == rowRunning:
			text = "a handler is running"
		case state == rowHeld:
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
	}, key.Event[:], key.Subscription)
	return text, err
}
