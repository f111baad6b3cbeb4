package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"
)

// ReplayFilter chooses events that a subscription has handled.
type ReplayFilter struct {
	Subscription string
	Events       []uuid.UUID // one of which it is; all if empty
	EventFilter              // Status, Before and Limit do not count
}

// Replay gives events to a subscription again, from the oldest on. It goes in
// steps, each of which is one transaction.
type Replay struct {
	Matched int // how many there were when it began

	subscription int64
	filter       replayArgs
	last         int64 // the events up to here have had their turn
	end          int64 // those that were handled when it began
	ledger       ledger
}

// replayArgs are the parameters of the conditions.
type replayArgs struct {
	types, ids         any
	since, until       int64
	text, correlation  any
	subscription, upTo int64
}

// replayable are the events that a subscription ?1 has handled: its cursor has
// passed them, and nothing says that it was otherwise.
const replayable = `
	FROM log l JOIN subscriptions s ON s.id = ?1
	WHERE l.seq > ?2 AND l.seq <= ?3 AND l.seq > s.start
	  AND l.type IN (SELECT type FROM routes WHERE subscription = ?1)
	  AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.subscription = ?1 AND d.seq = l.seq)
	  AND NOT EXISTS (SELECT 1 FROM discarded x WHERE x.subscription = ?1 AND x.seq = l.seq)
	  AND NOT EXISTS (SELECT 1 FROM origins o WHERE o.seq = l.seq AND o.subscription <> ?1)
	  AND l.type IN (SELECT value FROM json_each(?4))
	  AND l.created_at >= ?5 AND l.created_at < ?6
	  AND (?7 IS NULL OR instr(l.payload, ?7) > 0 OR instr(l.metadata, ?7) > 0)
	  AND (?8 IS NULL OR json_extract(l.metadata, '$.correlation_id') = ?8)
	  AND (?9 IS NULL OR l.id IN (SELECT unhex(value) FROM json_each(?9)))`

// Replay begins to give events again; found is false if there is no such
// subscription. What is handled from now on is not part of it.
func (a *Admin) Replay(ctx context.Context, f ReplayFilter, entry AuditEntry) (r *Replay, found bool, err error) {
	entry.Action, entry.Subscription = "replay", f.Subscription
	if len(f.Events) == 1 {
		entry.Event = f.Events[0]
	}
	r = &Replay{ledger: ledger{AuditEntry: entry}}
	err = a.look(ctx, "read", func(c *conn) error {
		known, err := knownConsumer(c, f.Subscription)
		if err != nil || known.id == 0 {
			return err
		}
		found, r.subscription = true, known.id
		r.filter = replayArgs{since: -never, until: never, text: text(f.Text), correlation: text(f.CorrelationID)}
		if r.filter.types, err = typesOf(c, f.Types); err != nil {
			return err
		}
		if !f.Since.IsZero() {
			r.filter.since = f.Since.UnixMicro()
			if r.last, err = firstSince(c, f.Since.Add(-clockSlack)); err != nil {
				return err
			}
			r.last--
		}
		if !f.Until.IsZero() {
			r.filter.until = f.Until.UnixMicro()
		}
		if len(f.Events) > 0 {
			ids := make([]string, len(f.Events))
			for i, id := range f.Events {
				ids[i] = hex.EncodeToString(id[:])
			}
			list, err := json.Marshal(ids)
			if err != nil {
				return err
			}
			r.filter.ids = string(list)
		}
		if r.end, err = c.int64("SELECT cursor FROM subscriptions WHERE id = ?", known.id); err != nil {
			return err
		}
		matched, err := c.int64("SELECT count(*)"+replayable, r.args()...)
		r.Matched = int(matched)
		return err
	})
	return r, found, err
}

func (r *Replay) args() []any {
	f := r.filter
	return []any{r.subscription, r.last, r.end, f.types, f.since, f.until, f.text, f.correlation, f.ids}
}

// ReplayStep gives up to limit more events, and returns how many. It returns
// false when there are no more.
func (a *Admin) ReplayStep(ctx context.Context, r *Replay, limit int) (replayed int, err error) {
	last := r.last
	err = a.change(ctx, "replay events of", func(c *conn) error {
		var marks []LetterMark
		err := c.query("SELECT l.seq"+replayable+" ORDER BY l.seq LIMIT ?10", func(s *sqlite3.Stmt) error {
			last = s.ColumnInt64(0)
			marks = append(marks, LetterMark{Subscription: r.subscription, Seq: last})
			return nil
		}, append(r.args(), limit)...)
		if err != nil {
			return err
		}
		replayed = len(marks)
		at := time.Now()
		for _, m := range marks {
			if err := c.exec(insertReplayed, m.Subscription, m.Seq, at); err != nil {
				return err
			}
		}
		if err := r.ledger.add(c, len(marks)); err != nil || len(marks) == 0 {
			return err
		}
		return r.ledger.touch(c, marks)
	})
	if err != nil || replayed == 0 {
		return 0, err
	}
	r.last = last
	r.ledger.committed()
	return replayed, nil
}

const insertReplayed = `
	INSERT INTO deliveries (subscription, seq, state, failures, due_at, wait, since, uncounted) VALUES (?1, ?2, 'waiting', 0, ?3, 0, ?3,
		1 + (SELECT count(*) FROM attempts a WHERE a.seq = ?2 AND a.subscription = ?1))`
