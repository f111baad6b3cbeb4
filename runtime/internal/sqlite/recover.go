package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// togetherError is the error of an earlier attempt that ended with its process, once the
// delivery was found to be the cause.
const togetherError = "the process ended while this handler and others were running; it has ended again while this one ran alone"

// ran is a delivery whose handler ran when the last owner died.
type ran struct {
	tables.RowKey
	executions uint16 // that may have happened before the attempt, its last 16 bits
	waited     bool   // for other handlers, which were at work
	batch      bool   // it was in one
	apart      bool   // it has had a row from the beginning
	name       string // of the subscription, as it is stored
	event      engine.Record
	typeID     int64
	row        ledger.Row
}

// recover finds out from the claims which handlers ran when the last owner died.
// Only the claims count. A row in state running says that a handler was called and
// that its end was not written, which a full disk can prevent for hours. A claim
// also stands for code of the program that was called before the handler.
//
// What that means for each of them is decided by package ledger. The table crashes remembers who ran together.
func (o *owner) recover(c *database.Conn, left []claims.Claim, found *engine.Recovery) error {
	now := time.Now()
	for _, claim := range left {
		if claim.Express {
			continue
		}
		err := c.Exec("UPDATE busgen_subscriptions SET redelivered = max(redelivered, min(?, (SELECT ifnull(max(seq), 0) FROM busgen_log))) WHERE id = ?",
			claim.Highest, claim.Subscription)
		if err != nil {
			return err
		}
	}
	all, err := whatRan(c, left)
	if err != nil {
		return err
	}
	last := map[int64]int64{} // by subscription
	for _, one := range all {
		if !one.apart {
			last[one.Subscription] = max(last[one.Subscription], one.Seq)
		}
	}
	for _, subscription := range slices.Sorted(maps.Keys(last)) {
		if err := giveRows(c, tables.RowKey{Subscription: subscription, Seq: last[subscription]}); err != nil {
			return err
		}
	}
	own := make([]ledger.Claim, len(all))
	for i := range all {
		one := &all[i]
		if one.row, err = tables.ReadRow(c, one.RowKey); err != nil {
			return err
		}
		own[i] = ledger.Claim{Unit: strconv.FormatInt(one.Subscription, 10), Together: one.row.Together, Waits: one.waited, Batch: one.batch}
	}
	for i, verdict := range ledger.Judge(own, ledger.Others{}, true) {
		if err := o.crash(c, &all[i], verdict, now, found); err != nil {
			return err
		}
	}
	found.Interrupted = len(found.Crashes)
	for _, claim := range left {
		if !claim.Express {
			continue
		}
		if err := doubtExpress(c, claim.Subscription, claim.Highest); err != nil {
			return err
		}
	}
	return endRunning(c)
}

// endRunning makes the rows due that are in state running. Their due time is that of atOnce, so that an index finds
// them among a million that are dead, parked or wait for a retry.
func endRunning(c *database.Conn) error {
	return c.Exec(`
		UPDATE busgen_deliveries INDEXED BY busgen_deliveries_open
		SET state = 'waiting', uncounted = uncounted + 1, due_at = ?1, wait = NULL, waitlist = NULL, key = NULL
		WHERE subscription IN (SELECT id FROM busgen_subscriptions) AND due_at = ?1 AND state <> 'dead' AND state = 'running'`, tables.AtOnce)
}

// whatRan returns the deliveries that the claims say were at work, each once. If
// the log has lost an event in a power cut, or is a copy from before it, nothing
// of it ran.
func whatRan(c *database.Conn, left []claims.Claim) (all []ran, err error) {
	for _, claim := range left {
		if claim.Running == 0 {
			continue
		}
		err := c.Query(`
			SELECT s.name, l.id, l.type, l.created_at, l.due_at IS NOT NULL OR `+goneAhead+` FROM busgen_log l JOIN busgen_subscriptions s ON s.id = ?2 WHERE l.seq = ?1`, func(s *sqlite3.Stmt) error {
			all = append(all, ran{
				RowKey: tables.RowKey{Subscription: claim.Subscription, Seq: claim.Running}, executions: claim.Executions, waited: claim.Waits, batch: claim.Batch,
				name: s.ColumnText(0), typeID: s.ColumnInt64(2), apart: s.ColumnBool(4),
				event: engine.Record{Seq: claim.Running, ID: database.UUID(s, 1), CreatedAt: database.Time(s, 3)},
			})
			return nil
		}, claim.Running, claim.Subscription)
		if err != nil {
			return nil, err
		}
	}
	// Of a delivery whose first handler was left behind, the newest attempt counts.
	slices.SortFunc(all, func(a, b ran) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Subscription, b.Subscription), int(int16(b.executions-a.executions)))
	})
	same := func(a, b ran) bool { return a.RowKey == b.RowKey }
	for i := len(all) - 1; i > 0; i-- {
		if one, older := &all[i-1], all[i]; same(*one, older) {
			one.waited = one.waited && older.waited
		}
	}
	return slices.CompactFunc(all, same), nil
}

// crash writes down what it means for a delivery that the process died while its handler ran.
func (o *owner) crash(c *database.Conn, one *ran, verdict ledger.Verdict, now time.Time, found *engine.Recovery) error {
	unknown := int16(one.executions - uint16(one.row.Failures+one.row.Uncounted)) // that succeeded in an earlier life, as far as the claims know
	var first time.Time
	if verdict.Again {
		err := c.Query(`
			SELECT min(due_at) FROM busgen_deliveries
			WHERE subscription = ? AND state = 'waiting' AND suspect AND NOT crashed AND due_at BETWEEN 1 AND ?`, func(s *sqlite3.Stmt) error {
			if s.ColumnType(0) != sqlite3.NULL {
				first = database.Time(s, 0)
			}
			return nil
		}, one.Subscription, now)
		if err != nil {
			return err
		}
	}
	row, effects := one.row.Crash(verdict, int(unknown), first, now)
	if verdict.Ran > 1 && verdict.How != ledger.Waited {
		counted := crashOfHalf
		switch {
		case !effects.Crash: // it is settled, or its attempt is on record
			counted = crashCounted
		case row.OpenCrash.Equal(now):
			counted = crashOpen
		}
		err := c.Exec("INSERT OR REPLACE INTO busgen_crashes (seq, subscription, at, counted) VALUES (?, ?, ?, ?)", one.Seq, one.Subscription, now, counted)
		if err != nil {
			return err
		}
	}
	if effects.Unchanged {
		return nil
	}
	if at := effects.Counted; !at.IsZero() {
		err := c.Exec("UPDATE busgen_crashes SET counted = ? WHERE seq = ? AND subscription = ? AND at = ?", crashCounted, one.Seq, one.Subscription, at)
		if err == nil {
			err = tables.AddAttempt(c, one.RowKey, event.FailedAttempt{Kind: event.KindCrash, Ended: at, Error: togetherError})
		}
		if err != nil {
			return err
		}
	}
	if effects.Attempt != nil {
		if err := tables.AddAttempt(c, one.RowKey, *effects.Attempt); err != nil {
			return err
		}
	}
	if err := tables.Store(c, one.RowKey, &row, now, nil); err != nil || !effects.Crash {
		return err
	}
	crash := engine.Crash{Attempt: effects.Attempt, Ran: verdict.Ran, Subscription: o.consumers.nameOf(one.Subscription, one.name)}
	row.HandOut(&crash.Delivery)
	crash.Record = &one.event
	found.Crashes = append(found.Crashes, crash)
	return o.types.resolve(c, one.typeID, crash.Record)
}

// What the table crashes says of a crash while several ran.
const (
	crashOpen    = iota // it may count as a failed attempt later
	crashCounted        // it is on record as one
	crashOfHalf         // it never counts: the delivery was a suspect of an earlier one
)

// giveRows gives a row to a delivery that is not settled and has none, and to those
// before it, so that the cursor can pass them: a row above the cursor
// would be gone once it is settled, and the event be found again on the way.
func giveRows(c *database.Conn, at tables.RowKey) error {
	err := c.Exec(`
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
		SELECT s.id, l.seq, 'waiting', 0, ?3
		FROM busgen_subscriptions s JOIN busgen_log l ON l.seq > s.cursor AND l.seq <= ?2 AND l.due_at IS NULL AND NOT `+goneAhead+`
		JOIN busgen_routes r ON r.subscription = s.id AND r.type = l.type
		WHERE s.id = ?1
		ON CONFLICT DO NOTHING`, at.Subscription, at.Seq, tables.AtOnce)
	if err != nil {
		return err
	}
	return c.Exec("UPDATE busgen_subscriptions SET cursor = max(cursor, ?2) WHERE id = ?1", at.Subscription, at.Seq)
}
