// Package tables is what the file says: its schema and the way to it from older files, and functions that read and
// write rows on one connection, within the caller's transaction. It knows no bus and no process. Read schema.sql,
// schema.go and rows.go first; names.go has the names of subscriptions, routes.go says which get which type, long.go
// reads long payloads, and look.go opens a file without a bus ([Visit]).
package tables

import (
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// What becomes of a delivery is decided by package ledger. The table deliveries has its rows. Statements that change
// many rows at once are compared with the ledger by a test.

// The states of rows in the file. A delivery that is being handled waits, as far as the ledger knows.
const (
	RowRunning = "running"
	RowWaiting = "waiting"
	RowHeld    = "held"
	RowDead    = "dead"
)

var rowStates = [...]string{ledger.Waiting: RowWaiting, ledger.Held: RowHeld, ledger.Dead: RowDead}

// AtOnce is when a delivery is due that was not put off, but only has a row.
var AtOnce = time.UnixMicro(0)

// wasDead is the reason of an open delivery that was dead before, and was retried. See exempt.
const wasDead = "retried"

// RowColumns are the columns of delivery d and event l that scanRow reads.
const RowColumns = `
	d.state, d.failures, d.uncounted, d.max_attempts, d.crashed, d.suspect, d.snoozes, d.progress, d.replayed, d.redriven,
	l.created_at, l.due_at, d.since, d.due_at, d.wait, d.reason, d.dead_at, d.fingerprint, d.waitlist, d.key, d.run, d.suspended, d.undoing`

// ScanRow reads the row of a delivery, without what other tables know of it. first is the place of rowColumns.
func ScanRow(s *sqlite3.Stmt, first int) (r ledger.Row) {
	is := func(i int) bool { return s.ColumnType(first+i) != sqlite3.NULL }
	r.Delivery = ledger.Delivery{
		Failures: s.ColumnInt(first + 1), Uncounted: s.ColumnInt(first + 2), MaxAttempts: s.ColumnInt(first + 3), Crashed: s.ColumnBool(first + 4),
		Together: s.ColumnInt(first + 5), Snoozes: s.ColumnInt(first + 6), Progress: s.ColumnText(first + 7), Replayed: s.ColumnBool(first + 8),
		Delayed: is(11), Since: database.Time(s, first+10), Run: s.ColumnInt(first + 20), Undoing: s.ColumnBool(first + 22),
	}
	r.Redriven = s.ColumnInt(first + 9)
	anew := is(12)
	switch {
	case anew:
		r.Since = database.Time(s, first+12)
	case r.Delayed:
		r.Since = database.Time(s, first+11)
	}
	state := s.ColumnText(first)
	if state == RowDead {
		r.State, r.Reason, r.Ended, r.Fingerprint = ledger.Dead, s.ColumnText(first+15), database.Time(s, first+16), s.ColumnText(first+17)
		return r
	}
	r.Retried = is(15)
	r.Waitlist, r.Key = s.ColumnText(first+18), s.ColumnText(first+19)
	if s.ColumnInt64(first+13) > 0 {
		r.Due = database.Time(s, first+13)
	}
	if is(14) {
		r.Set = r.Due.Add(-time.Duration(s.ColumnInt64(first+14)) * time.Microsecond)
		r.PutOff = !r.Due.IsZero() && r.Waitlist == "" && !(anew && !r.Due.After(r.Since))
	}
	if r.Suspended = s.ColumnBool(first + 21); r.Suspended {
		r.PutOff = true
	}
	if state == RowHeld {
		if r.State, r.PutOff = ledger.Held, r.Waitlist == ""; s.ColumnInt64(first+14) > 0 {
			r.HeldSince = r.Set
		} else {
			r.Due, r.Set = time.Time{}, time.Time{}
		}
	}
	return r
}

// ReadRow reads all that is known of a delivery that is open or dead, but for the attempts of before it began anew. One
// without a row is handled.
func ReadRow(c *database.Conn, at RowKey) (r ledger.Row, err error) {
	r.State = ledger.Done
	err = c.Query(`
		SELECT (SELECT count(*) FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription),
			`+openCrash+`, (SELECT reason FROM busgen_cancelled x WHERE x.seq = d.seq AND x.subscription = d.subscription), `+RowColumns+`
		FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq
		WHERE d.subscription = ? AND d.seq = ?`, func(s *sqlite3.Stmt) error {
		r = ScanRow(s, 3)
		if r.Tries = s.ColumnInt(0); s.ColumnType(1) != sqlite3.NULL {
			r.OpenCrash = database.Time(s, 1)
		}
		if s.ColumnType(2) != sqlite3.NULL && r.State.Open() {
			r.Cancelled, r.Reason = true, s.ColumnText(2)
		}
		return nil
	}, at.Subscription, at.Seq)
	return r, err
}

// openCrash is the SQL expression for OpenCrash of delivery d, NULL for none. It is over when the handler has ended
// otherwise, which ends suspicion or leaves an attempt, and when the delivery began anew.
const openCrash = `(
	SELECT max(x.at) FROM busgen_crashes x
	WHERE x.seq = d.seq AND x.subscription = d.subscription AND x.counted = 0 AND d.suspect AND x.at > coalesce(d.since, 0)
	  AND x.at > coalesce((SELECT max(a.ended_at) FROM busgen_attempts a WHERE a.seq = d.seq AND a.subscription = d.subscription), 0))`

// Store writes what has become of a delivery. since is when it began anew; nil for what the file says.
func Store(c *database.Conn, at RowKey, r *ledger.Row, now time.Time, since any) error {
	due, wait := any(nil), any(nil)
	switch {
	case r.State == ledger.Done:
		if err := noteHandled(c, at.Subscription, at.Seq); err != nil {
			return err
		}
		return c.Exec("DELETE FROM busgen_deliveries WHERE subscription = ? AND seq = ?", at.Subscription, at.Seq)
	case r.State == ledger.Discarded:
		return discardAfter(c, at, r.Reason, r.Failures+r.Uncounted, Text(r.Progress), r.Together)
	case r.State == ledger.Dead, r.State == ledger.Held && r.Waitlist != "":
	case r.Due.IsZero() && !r.PutOff:
		due = AtOnce
	case r.Due.IsZero(): // that it was put off is in its due time
		due, wait = now, 0
	case !r.HeldSince.IsZero():
		due, wait = r.Due, max(1, r.Due.Sub(r.HeldSince).Microseconds())
	default:
		if due = r.Due; !r.Set.IsZero() {
			wait = r.Due.Sub(r.Set).Microseconds()
		}
	}
	return Put(c, at, r, rowStates[r.State], due, wait, since)
}

// Put writes the row of an open or dead delivery.
func Put(c *database.Conn, at RowKey, r *ledger.Row, state string, due, wait, since any) error {
	var dead, reason any
	switch {
	case state == RowDead:
		dead, reason = r.Ended, r.Reason
	case r.Retried:
		reason = wasDead
	}
	return c.Exec(upsertDelivery, at.Subscription, at.Seq, state, r.Failures, r.Uncounted, number(r.MaxAttempts), r.Crashed, r.Together,
		due, wait, dead, reason, Text(r.Fingerprint), Text(r.Progress), r.Snoozes, since, r.Redriven, r.Replayed,
		Text(r.Waitlist), Text(r.Key), r.Run, r.Suspended, r.Undoing)
}

// upsertDelivery writes the row of a delivery. Of a row that is there, what no turn changes stays.
const upsertDelivery = `
	INSERT INTO busgen_deliveries (subscription, seq, state, failures, uncounted, max_attempts, crashed, suspect,
		due_at, wait, dead_at, reason, fingerprint, progress, snoozes, since, redriven, replayed, waitlist, key, run, suspended, undoing)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23)
	ON CONFLICT DO UPDATE SET state = excluded.state, failures = excluded.failures, uncounted = excluded.uncounted,
		max_attempts = excluded.max_attempts, crashed = excluded.crashed, suspect = excluded.suspect,
		due_at = excluded.due_at, wait = excluded.wait, dead_at = excluded.dead_at, reason = coalesce(excluded.reason, reason),
		fingerprint = excluded.fingerprint, progress = excluded.progress, snoozes = excluded.snoozes,
		since = coalesce(excluded.since, since), waitlist = excluded.waitlist, key = excluded.key, suspended = excluded.suspended,
		undoing = undoing OR excluded.undoing`

// Discard settles a dead letter.
func Discard(c *database.Conn, at RowKey, reason string) error {
	return discardAfter(c, at, reason, nil, nil, nil)
}

// discardAfter settles a delivery without its having been handled. Of an open one the row may be older than what its
// turn has brought: how many executions may have happened so far, its progress, and whether it is a suspect.
func discardAfter(c *database.Conn, at RowKey, reason string, executions, progress, suspect any) error {
	err := c.Exec(`
		INSERT OR REPLACE INTO busgen_discarded (seq, subscription, reason, at, dead_at, dead_reason, fingerprint, failures, progress, redriven, replayed, uncounted, suspect, run, undoing)
		SELECT ?2, ?1, ?3, ?4, d.dead_at, d.reason, d.fingerprint, coalesce(?5, d.failures), iif(?5 IS NULL, d.progress, ?6), d.redriven, d.replayed,
		       d.uncounted, coalesce(?7, d.suspect), coalesce(d.run, 0), coalesce(d.undoing, 0)
		FROM (SELECT 1) LEFT JOIN busgen_deliveries d ON d.subscription = ?1 AND d.seq = ?2`,
		at.Subscription, at.Seq, reason, time.Now(), executions, progress, suspect)
	if err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM busgen_deliveries WHERE subscription = ? AND seq = ?", at.Subscription, at.Seq); err != nil {
		return err
	}
	return ForgetCancelled(c, at)
}

const insertAttempt = `
	INSERT INTO busgen_attempts (seq, subscription, n, kind, started_at, ended_at, error, error_type, member, stack, log)
	SELECT ?1, ?2, 1 + (SELECT count(*) FROM busgen_attempts WHERE seq = ?1 AND subscription = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10`

// AddAttempt puts a failed attempt on record.
func AddAttempt(c *database.Conn, at RowKey, a event.FailedAttempt) error {
	var started any
	if !a.Started.IsZero() {
		started = a.Started
	}
	return c.Exec(insertAttempt, at.Seq, at.Subscription, a.Kind, started, a.Ended, a.Error, Text(a.ErrorType), Text(a.Member), Text(a.Stack), Text(a.Log))
}

// number is NULL for 0.
func number(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

// Text is NULL for an empty text.
func Text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// What has become of deliveries that had failed is kept in the table outcomes,
// for the view events. The others leave no trace: a success costs no write of
// its own.

// noteHandled keeps when a delivery was handled that had failed before.
func noteHandled(c *database.Conn, subscription, seq int64) error {
	return c.Exec(`
		INSERT INTO busgen_outcomes (seq, subscription, history, at)
		SELECT ?1, ?2, 0, ?3 WHERE EXISTS (SELECT 1 FROM busgen_attempts WHERE seq = ?1 AND subscription = ?2)
		ON CONFLICT DO UPDATE SET at = excluded.at`, seq, subscription, time.Now())
}

// NoteHistory makes the attempts of a delivery that begins anew history: they stay on
// record, and no longer count.
func NoteHistory(c *database.Conn, at RowKey, now time.Time) error {
	return c.Exec(`
		INSERT INTO busgen_outcomes (seq, subscription, history, at)
		VALUES (?1, ?2, (SELECT count(*) FROM busgen_attempts a WHERE a.seq = ?1 AND a.subscription = ?2), ?3)
		ON CONFLICT DO UPDATE SET history = excluded.history, at = excluded.at`, at.Seq, at.Subscription, now)
}

// FailuresOf is the retry_count of the view events, for an event l of the log:
// the most failed attempts that a subscription has made since its last redrive.
const FailuresOf = `
	coalesce((SELECT max(n) FROM (
	  SELECT count(*) AS n FROM busgen_attempts a LEFT JOIN busgen_outcomes o ON o.seq = a.seq AND o.subscription = a.subscription
	  WHERE a.seq = l.seq AND a.n > coalesce(o.history, 0) GROUP BY a.subscription)), 0)`

// RowKey is where a delivery is in the file: the numbers of its subscription and of
// its event.
type RowKey struct{ Subscription, Seq int64 }

// ForgetCancelled removes what was cancelled of a delivery: it begins anew, or is settled.
func ForgetCancelled(c *database.Conn, at RowKey) error {
	return c.Exec("DELETE FROM busgen_cancelled WHERE seq = ? AND subscription = ?", at.Seq, at.Subscription)
}
