package sqlite

import (
	"cmp"
	"slices"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// togetherError is the error of an earlier attempt that ended with its process, once the
// delivery was found to be the cause.
const togetherError = "the process ended while this handler and others were running; it has ended again while this one ran alone"

// ran is a delivery whose handler ran when the last owner died.
type ran struct {
	subscription, seq int64
	executions        uint16 // that may have happened before the attempt, its last 16 bits
	waited            bool   // for other handlers, which were at work
	batch             bool   // it was in one

	// What halve has found.
	before   int  // the suspicion of its row before the crash
	together int  // and after it, if it is a suspect then
	again    bool // it was in a half with other suspects
}

// recover finds out from the claims which handlers ran when the last owner died.
// Only the claims count. A row in state running says that a handler was called and
// that its end was not written, which a full disk can prevent for hours. A claim
// also stands for code of the program that was called before the handler.
//
// If one handler ran, that is a failed attempt of its delivery. If several ran,
// nobody knows which of them has ended the process: it counts for none, and the
// table crashes remembers who they were. All of them are suspects: they run alone
// from now on, so that the next crash says which it was. Those of a batch run in halves.
//
// A handler that waited for others did not run. The crash says nothing of it: its attempt
// does not count, and it is no suspect. Only if no handler ran, those that waited are the
// ones that can have ended the process, with a goroutine that did not wait.
func (l *Log) recover(c *database.Conn, left []claims.Claim, found *engine.Recovery) error {
	now := time.Now()
	for _, claim := range left {
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
	together := judgeWaiting(all)
	if err := halve(c, all); err != nil {
		return err
	}
	for _, one := range all {
		crash, err := l.crashOf(c, one, together, now)
		if err != nil {
			return err
		}
		if crash != nil {
			found.Crashes = append(found.Crashes, *crash)
		}
		if together > 1 && !one.waited {
			if err := noteCrash(c, one, crash, now); err != nil {
				return err
			}
		}
	}
	found.Interrupted = len(found.Crashes)
	return endRunning(c)
}

// endRunning makes the rows due that are in state running. They have no due time or that of
// atOnce, so that an index finds them among a million that are dead or wait for a retry.
func endRunning(c *database.Conn) error {
	for _, due := range []string{"due_at = 0", "due_at IS NULL"} {
		err := c.Exec(`
			UPDATE busgen_deliveries INDEXED BY busgen_deliveries_open
			SET state = 'waiting', uncounted = uncounted + 1, due_at = ?, wait = NULL
			WHERE subscription IN (SELECT id FROM busgen_subscriptions) AND `+due+` AND state <> 'dead' AND state = 'running'`, atOnce)
		if err != nil {
			return err
		}
	}
	return nil
}

// whatRan returns the deliveries that the claims say were at work, each once. If
// the log has lost an event in a power cut, or is a copy from before it, nothing
// of it ran.
func whatRan(c *database.Conn, left []claims.Claim) (all []ran, err error) {
	for _, claim := range left {
		if claim.Running == 0 {
			continue
		}
		known, err := c.Int64("SELECT EXISTS (SELECT 1 FROM busgen_log WHERE seq = ?) AND EXISTS (SELECT 1 FROM busgen_subscriptions WHERE id = ?)",
			claim.Running, claim.Subscription)
		if err != nil {
			return nil, err
		}
		if known != 0 {
			all = append(all, ran{
				subscription: claim.Subscription, seq: claim.Running, executions: claim.Executions, waited: claim.Waits, batch: claim.Batch,
			})
		}
	}
	// Of a delivery whose first handler was left behind, the newest attempt counts.
	slices.SortFunc(all, func(a, b ran) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.subscription, b.subscription), int(int16(b.executions-a.executions)))
	})
	same := func(a, b ran) bool { return a.seq == b.seq && a.subscription == b.subscription }
	for i := len(all) - 1; i > 0; i-- {
		if one, older := &all[i-1], all[i]; same(*one, older) {
			one.waited = one.waited && older.waited
		}
	}
	return slices.CompactFunc(all, same), nil
}

// judgeWaiting returns how many of these ran. If all of them waited, all count as if they
// had not.
func judgeWaiting(all []ran) (together int) {
	for _, one := range all {
		if !one.waited {
			together++
		}
	}
	if together > 0 {
		return together
	}
	for i := range all {
		all[i].waited = false
	}
	return len(all)
}

// crashOf writes down that the process died while a handler ran, which was one of
// so many. It returns nil if the attempt was on record already, because it had timed out
// and its handler was left behind, or if its handler waited.
func (l *Log) crashOf(c *database.Conn, one ran, together int, now time.Time) (*engine.Crash, error) {
	if err := giveRow(c, one); err != nil {
		return nil, err
	}
	crash, err := l.readCrash(c, one)
	if crash == nil || err != nil {
		return nil, err // it is settled
	}
	crash.Ran = together
	unknown := int16(one.executions - uint16(crash.Failures+crash.Uncounted))
	if unknown < 0 && one.waited {
		return nil, nil
	}
	if unknown < 0 {
		return nil, c.Exec("UPDATE busgen_deliveries SET suspect = 1 WHERE subscription = ? AND seq = ?", one.subscription, one.seq)
	}
	crash.Uncounted += int(unknown) // that succeeded in an earlier life, as far as the claims know
	if together == 1 && !one.waited {
		return crash, countCrash(c, one, crash, now)
	}
	crash.Uncounted++
	if one.waited {
		return nil, c.Exec("UPDATE busgen_deliveries SET state = 'waiting', uncounted = ?, due_at = ?, wait = 0 WHERE subscription = ? AND seq = ?",
			crash.Uncounted, now, one.subscription, one.seq)
	}
	// A half is due with the suspects that were left, so that it stays before later events.
	return crash, c.Exec(`
		UPDATE busgen_deliveries SET state = 'waiting', uncounted = ?3, suspect = ?4, wait = 0,
			due_at = coalesce((SELECT min(d.due_at) FROM busgen_deliveries d
				WHERE ?6 AND d.subscription = ?1 AND d.state = 'waiting' AND d.suspect AND NOT d.crashed AND d.due_at BETWEEN 1 AND ?5), ?5)
		WHERE subscription = ?1 AND seq = ?2`, one.subscription, one.seq, crash.Uncounted, one.together, now, one.again)
}

// giveRow gives a row to a delivery that is not settled and has none. Those
// before it get one too, so that the cursor can pass them: a row above the cursor
// would be gone once it is settled, and the event be found again on the way.
func giveRow(c *database.Conn, one ran) error {
	err := c.Exec(`
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
		SELECT s.id, l.seq, 'waiting', 0, ?3
		FROM busgen_subscriptions s JOIN busgen_log l ON l.seq > s.cursor AND l.seq <= ?2 AND l.due_at IS NULL
		JOIN busgen_routes r ON r.subscription = s.id AND r.type = l.type
		WHERE s.id = ?1
		ON CONFLICT DO NOTHING`, one.subscription, one.seq, atOnce)
	if err != nil {
		return err
	}
	return c.Exec("UPDATE busgen_subscriptions SET cursor = max(cursor, ?2) WHERE id = ?1", one.subscription, one.seq)
}

// readCrash returns the delivery as it was written last, or nil if it is settled.
func (l *Log) readCrash(c *database.Conn, one ran) (crash *engine.Crash, err error) {
	var typeID int64
	err = c.Query(`
		SELECT d.failures, d.uncounted, s.name, l.id, l.type, l.created_at, coalesce(d.since, l.due_at, l.created_at)
		FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq JOIN busgen_subscriptions s ON s.id = d.subscription
		WHERE d.subscription = ? AND d.seq = ?`, func(s *sqlite3.Stmt) error {
		typeID = s.ColumnInt64(4)
		crash = &engine.Crash{Subscription: l.nameOf(one.subscription, s.ColumnText(2))}
		crash.Delivery = engine.Delivery{
			Record:   &engine.Record{Seq: one.seq, ID: database.UUID(s, 3), CreatedAt: database.Time(s, 5)},
			Failures: s.ColumnInt(0), Uncounted: s.ColumnInt(1), Since: database.Time(s, 6), Suspect: true,
		}
		return nil
	}, one.subscription, one.seq)
	if err == nil && crash != nil {
		err = l.types.resolve(c, typeID, crash.Record)
	}
	return crash, err
}

// countCrash records a failed attempt. If the process has died before while this
// handler and others ran, and the handler has not ended otherwise since, it is
// clear by now that it was this one: so that counts too.
func countCrash(c *database.Conn, one ran, crash *engine.Crash, now time.Time) error {
	var earlier []time.Time
	err := c.Query(`
		SELECT at FROM busgen_crashes
		WHERE seq = ?1 AND subscription = ?2 AND counted = ?3
		  AND at > coalesce((SELECT since FROM busgen_deliveries WHERE seq = ?1 AND subscription = ?2), 0)
		  AND at > coalesce((SELECT max(ended_at) FROM busgen_attempts WHERE seq = ?1 AND subscription = ?2), 0)
		  AND (SELECT suspect FROM busgen_deliveries WHERE seq = ?1 AND subscription = ?2)
		ORDER BY at`, func(s *sqlite3.Stmt) error {
		earlier = append(earlier, database.Time(s, 0))
		return nil
	}, one.seq, one.subscription, crashOpen)
	if err != nil {
		return err
	}
	record := func(at time.Time, text string) error {
		return c.Exec(insertAttempt, one.seq, one.subscription, engine.KindCrash, nil, at, text, nil, nil, nil, nil)
	}
	for _, at := range earlier {
		if err := record(at, togetherError); err != nil {
			return err
		}
		err := c.Exec("UPDATE busgen_crashes SET counted = ? WHERE seq = ? AND subscription = ? AND at = ?", crashCounted, one.seq, one.subscription, at)
		if err != nil {
			return err
		}
	}
	if err := record(now, engine.CrashText); err != nil {
		return err
	}
	crash.Attempt = &engine.FailedAttempt{Kind: engine.KindCrash, Ended: now, Error: engine.CrashText}
	crash.Failures += len(earlier) + 1
	crash.Uncounted = max(0, crash.Uncounted-len(earlier))
	return c.Exec(`
		UPDATE busgen_deliveries SET state = 'waiting', failures = ?3, uncounted = ?4, max_attempts = NULL, crashed = 1, suspect = 1, due_at = ?5, wait = 0
		WHERE subscription = ?1 AND seq = ?2`, one.subscription, one.seq, crash.Failures, crash.Uncounted, now)
}
