package sqlite

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/ledger"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// seededRow is a delivery whose row is in the file.
type seededRow struct {
	tables.RowKey
	ledger.Row
	event   engine.Record
	last    string // how its last attempt has failed; empty without one
	running bool   // its row says so
}

// rowsOfAllStates writes a row for each event of the log, of all kinds that there are.
func rowsOfAllStates(t *testing.T, c *database.Conn, r *rand.Rand, now time.Time) (all []seededRow) {
	one := func(odds int) bool { return r.IntN(odds) == 0 }
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	must(t, c.Query("SELECT seq, id, created_at FROM busgen_log", func(s *sqlite3.Stmt) error {
		all = append(all, seededRow{RowKey: tables.RowKey{Subscription: 1, Seq: s.ColumnInt64(0)}, event: engine.Record{ID: database.UUID(s, 1), CreatedAt: database.Time(s, 2)}})
		return nil
	}))
	for i := range all {
		d := &all[i]
		if one(4) {
			d.event.Due = ago(40)
			must(t, c.Exec("UPDATE busgen_log SET due_at = ? WHERE seq = ?", d.event.Due, d.Seq))
		}
		d.Row = ledger.Fresh(&d.event)
		d.Failures, d.Uncounted, d.Snoozes, d.MaxAttempts = r.IntN(3), r.IntN(3), r.IntN(2), 5*r.IntN(2)
		d.Together, d.Redriven, d.Replayed = []int{0, 0, 1, 3}[r.IntN(4)], r.IntN(2), one(3)
		d.Crashed, d.Undoing = d.Suspect() && d.Failures > 0 && one(2), one(4)
		if one(2) {
			d.Progress = "[a]"
		}
		var since any
		if one(3) {
			d.Since, since = ago(30), ago(30)
		}
		switch d.PutOff = true; r.IntN(10) {
		case 0: // only has a row
			d.PutOff, d.Due = false, time.Time{}
			d.running = one(2)
		case 1: // has its own time
			d.PutOff, d.Due = false, d.event.Due
		case 2: // waits
			d.Due, d.Set = ago(r.IntN(120)-110), ago(15)
		case 3: // its type is paused
			d.State, d.Due = ledger.Held, time.Time{}
		case 4: // its version is unknown
			d.State, d.HeldSince, d.Due, d.Set = ledger.Held, ago(18), ago(-60), ago(18)
		case 5: // began anew
			d.PutOff, d.Since, since = false, ago(30), ago(30)
			d.Due, d.Set = d.Since, d.Since
		case 6: // is parked
			d.PutOff, d.State, d.Due, d.Waitlist, d.Key = false, ledger.Held, time.Time{}, []string{"a", "b"}[r.IntN(2)], []string{"", "k"}[r.IntN(2)]
		case 8: // waits in a step
			d.Suspended, d.Due = true, ago(r.IntN(120)-110)
		case 7: // was freed
			d.PutOff, d.Waitlist = false, "a"
			d.Due, d.Set = ago(3), ago(3)
		default:
			d.State, d.Ended, d.Due, d.PutOff = ledger.Dead, ago(5*r.IntN(3)), time.Time{}, false
			d.Reason, d.Fingerprint = []string{event.ReasonMaxAttempts, event.ReasonCrash, event.ReasonExpired, event.ReasonUndone}[r.IntN(4)], "f"
		}
		d.Retried = d.State.Open() && one(3)
		for range r.IntN(3) {
			d.last = []string{event.KindError, event.KindCrash}[r.IntN(2)]
			d.Tries++
			must(t, tables.AddAttempt(c, d.RowKey, event.FailedAttempt{Kind: d.last, Ended: ago(25), Error: "e"}))
		}
		at := ago(12)
		if one(2) && (d.Tries > 0 || since != nil) {
			at = ago(45) // it is over
		} else if d.Suspect() {
			d.OpenCrash = at
		}
		must(t, c.Exec("INSERT INTO busgen_crashes (seq, subscription, at, counted) VALUES (?, ?, ?, ?)", d.Seq, d.Subscription, at, crashOpen))
		if one(2) { // another one, which is on record
			must(t, c.Exec("INSERT INTO busgen_crashes (seq, subscription, at, counted) VALUES (?, ?, ?, ?)", d.Seq, d.Subscription, ago(11), crashCounted))
		}
		if d.running {
			must(t, tables.Put(c, d.RowKey, &d.Row, tables.RowRunning, tables.AtOnce, nil, since))
		} else {
			must(t, tables.Store(c, d.RowKey, &d.Row, now, since))
		}
	}
	return all
}

// inFile is a row as the file can say it: what it does not say is left out.
func inFile(r ledger.Row, now time.Time) ledger.Row {
	r.History = 0
	switch {
	case r.Cancelled: // is due at once, however it was put off
		if r.PutOff, r.Set = false, (time.Time{}); !r.Due.After(now) {
			r.Due = time.Time{}
		}
	case r.State == ledger.Held && r.HeldSince.IsZero():
		r.Due, r.Set = time.Time{}, time.Time{}
	case r.State.Open() && r.PutOff && r.Due.IsZero():
		r.Due, r.Set = now, now
	}
	if r.Due, r.Set = r.Due.Round(time.Second), r.Set.Round(time.Second); !r.HeldSince.IsZero() {
		r.Set = r.HeldSince
	}
	if !r.State.Open() {
		r.PutOff, r.Retried = false, false
	}
	if !r.Suspect() || !r.State.Open() {
		r.OpenCrash = time.Time{}
	}
	return r
}

// Whatever changes rows says what the ledger says, whatever the row is.
func TestEachStatementMakesOfEachRowWhatTheLedgerSays(t *testing.T) {
	g := openWithWorker(t)
	records := make([]engine.Record, 100)
	now := time.Now().Truncate(time.Second).UTC()
	for i := range records {
		records[i] = engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "job.queued", Payload: []byte("{}"), CreatedAt: now.Add(-time.Hour)}
	}
	must(t, g.Append(t.Context(), records))
	must(t, g.writer.do(t.Context(), func(c *database.Conn) error { return c.Exec("UPDATE busgen_subscriptions SET cursor = 100") }))
	g.clock.wall = func() time.Time { return now }

	type row = ledger.Row
	same := func(r row) row { return r }
	dead := func(d *seededRow) bool { return d.State == ledger.Dead }
	all := func(*seededRow) bool { return true }
	each := func(f func(c *database.Conn, d *seededRow) error) func(*database.Conn, []seededRow) error {
		return func(c *database.Conn, rows []seededRow) error {
			for i := range rows {
				if err := f(c, &rows[i]); err != nil {
					return err
				}
			}
			return nil
		}
	}
	// cancelled says that the consumer knows that the delivery is; asks that some delivery of the log is.
	settled := func(v engine.Disposition, begun, cancelled, asks bool) func(c *database.Conn, d *seededRow) error {
		return func(_ *database.Conn, d *seededRow) error {
			own := &delivery{row: tables.RowWaiting}
			own.Record = &engine.Record{Seq: d.Seq, Type: "job.queued"}
			d.HandOut(&own.Delivery)
			if !v.Due.IsZero() {
				v.Due = time.Now().Add(time.Hour)
			}
			return g.writer.batch.writeSettled(1, &settledDelivery{delivery: own, Disposition: v, begun: begun, cancelled: cancelled}, asks)
		}
	}

	// undone is a change before which there is a step that can be undone, and then the steps are.
	undone := func(change func(c *database.Conn, d *seededRow) error) func(*database.Conn, []seededRow) error {
		return each(func(c *database.Conn, d *seededRow) error {
			done := engine.Step{Name: "charge", Kind: engine.StepDo, Undoes: true, Started: now, At: now}
			return errors.Join(putStep(c, d.RowKey, 0, &done), change(c, d), undoSteps(c, engine.Undoing{Event: d.event.ID, Subscription: "worker"}, now))
		})
	}

	type twin struct {
		name   string
		chosen func(*seededRow) bool
		change func(c *database.Conn, rows []seededRow) error
		want   func(row) row
	}
	twins := []twin{
		{"as it was", all, func(*database.Conn, []seededRow) error { return nil }, same},
		{"unclaimed", func(d *seededRow) bool { return d.running }, func(c *database.Conn, _ []seededRow) error { return endRunning(c) }, row.Unclaimed},
		{"set back", all, func(c *database.Conn, _ []seededRow) error { return shiftWaits(c, time.Minute) }, func(r row) row { return r.SetBack(time.Minute) }},
		{"taken over", all, func(c *database.Conn, _ []seededRow) error { return g.askAgain(c) }, row.TakenOver},
		{"woken", all, each(func(c *database.Conn, d *seededRow) error { return g.awaits.makeDue(c, d.RowKey) }), func(r row) row { return r.Woken(now) }},
		{"resumed", all, func(c *database.Conn, _ []seededRow) error { return releaseHeld(c, now) }, row.Resume},
		{"freed", all, func(c *database.Conn, _ []seededRow) error {
			return g.writer.batch.freeWaitlist(&flush{id: 1}, "a", 100)
		}, func(r row) row {
			if r.Waitlist == "a" {
				r = r.Freed(now)
			}
			return r
		}},
		{"cancelled", func(d *seededRow) bool { return d.State.Open() && !d.running },
			each(func(c *database.Conn, d *seededRow) error { return cancelDelivery(c, d.RowKey, "why", false) }), func(r row) row { return r.Cancel("why") }},
		{"cancelled twice", func(d *seededRow) bool { return d.State.Open() && !d.running },
			each(func(c *database.Conn, d *seededRow) error {
				return errors.Join(cancelDelivery(c, d.RowKey, "why", false), cancelDelivery(c, d.RowKey, "why not", true))
			}), func(r row) row { return r.Cancel("why").Cancel("why not") }},
		{"cancelled and restored", func(d *seededRow) bool { return d.State.Open() && !d.running },
			each(func(c *database.Conn, d *seededRow) error {
				return errors.Join(cancelDelivery(c, d.RowKey, "why", false), restoreDiscarded(c, discardedRow{RowKey: d.RowKey, open: true}, now))
			}), func(r row) row { return r.Cancel("why").Restore(now) }},
		{"discarded and restored", dead,
			each(func(c *database.Conn, d *seededRow) error {
				return errors.Join(tables.Discard(c, d.RowKey, "why"), restoreDiscarded(c, discardedRow{RowKey: d.RowKey}, now))
			}), func(r row) row {
				r = r.Discard("why", now).Restore(now)
				r.Crashed, r.Snoozes, r.MaxAttempts, r.Since = false, 0, 0, time.Time{} // a revival forgets them
				return r
			}},
		{"discarded by its handler and restored", func(d *seededRow) bool { return d.State.Open() },
			each(func(c *database.Conn, d *seededRow) error {
				err := settled(engine.Disposition{Kind: engine.Discard, Reason: "why", Progress: "[b]"}, true, false, false)(c, d)
				return errors.Join(err, restoreDiscarded(c, discardedRow{RowKey: d.RowKey}, now))
			}), func(r row) row {
				r, _ = r.After(true, &engine.Disposition{Kind: engine.Discard, Reason: "why", Progress: "[b]"}, ledger.Moment{At: now})
				return r.Restore(now)
			}},
		{"revived by hand", dead, each(func(c *database.Conn, d *seededRow) error { return revive(c, d.RowKey, true, now) }), func(r row) row { return r.Revive(true, now) }},
		{"redriven", dead, each(func(c *database.Conn, d *seededRow) error { return revive(c, d.RowKey, false, now) }), func(r row) row { return r.Revive(false, now) }},
		{"undone", dead, undone(func(*database.Conn, *seededRow) error { return nil }), func(r row) row { return r.Undo(now) }},
		{"cancelled and undone", func(d *seededRow) bool { return d.State.Open() && !d.running && !d.Undoing },
			undone(func(c *database.Conn, d *seededRow) error { return cancelDelivery(c, d.RowKey, "why", false) }),
			func(r row) row { return r.Cancel("why").Discard("why", now).Undo(now) }},
		{"discarded and undone", func(d *seededRow) bool { return d.State.Open() }, undone(settled(engine.Disposition{Kind: engine.Discard, Reason: "why", Progress: "[b]"}, true, false, false)),
			func(r row) row {
				r, _ = r.After(true, &engine.Disposition{Kind: engine.Discard, Reason: "why", Progress: "[b]"}, ledger.Moment{At: now})
				return r.Undo(now)
			}},
		{"handled and undone", func(d *seededRow) bool { return d.State.Open() }, undone(settled(engine.Disposition{Kind: engine.Done}, true, false, false)), func(r row) row {
			r, _ = r.After(true, &engine.Disposition{Kind: engine.Done}, ledger.Moment{At: now})
			return r.Undo(now)
		}},
		{"purged", dead, each(func(c *database.Conn, d *seededRow) error { return forget(c, d.RowKey) }), func(row) row { return row{State: ledger.Done} }},
		{"handled and replayed", func(d *seededRow) bool { return d.State.Open() },
			each(func(c *database.Conn, d *seededRow) error {
				err := settled(engine.Disposition{Kind: engine.Done}, true, false, false)(c, d)
				return errors.Join(err, c.Exec(replayHandled, 1, d.Seq, now, d.event.ID[:]))
			}), func(r row) row {
				r, _ = r.After(true, &engine.Disposition{Kind: engine.Done}, ledger.Moment{At: now})
				return r.Replay(now)
			}},
	}
	later, held := now.Add(time.Hour), now.Add(-time.Minute)
	for _, v := range []engine.Disposition{
		{Kind: engine.Done},
		{Kind: engine.Retry, Attempt: &event.FailedAttempt{Kind: event.KindError, Ended: now, Error: "e"}, Due: later, MaxAttempts: 7, Progress: "[b]"},
		{Kind: engine.Snooze, Asked: true, Due: later},
		{Kind: engine.Snooze, NotCalled: true, Due: later},
		{Kind: engine.Hold},
		{Kind: engine.Hold, Held: &held, Due: later},
		{Kind: engine.Hold, Waitlist: "b"},
		{Kind: engine.Hold, Waitlist: "a", Key: "k", Due: later},
		{Kind: engine.Dead, Reason: event.ReasonPermanent, Fingerprint: "g", Attempt: &event.FailedAttempt{Kind: event.KindError, Ended: now, Error: "e"}},
		{Kind: engine.Dead, Reason: event.ReasonExpired},
		{Kind: engine.Undo, Attempt: &event.FailedAttempt{Kind: event.KindError, Ended: now, Error: "e"}, Progress: "[b]"},
		{Kind: engine.Discard, Cancelled: true, Reason: "why"}, // which was undone
		{Kind: engine.Release},
		{Kind: engine.Release, Progress: "[b]"},
	} {
		for _, begun := range []bool{false, true} {
			for _, paused := range []bool{false, true} {
				for _, cancels := range []struct{ cancelled, asks bool }{{false, false}, {false, true}, {true, true}} {
					twins = append(twins, twin{
						fmt.Sprintf("turn %+v, begun %v, paused %v, %+v", v, begun, paused, cancels), func(d *seededRow) bool { return d.State.Open() },
						func(c *database.Conn, rows []seededRow) error {
							if paused {
								must(t, c.Exec("INSERT INTO busgen_pauses (kind, target, since) VALUES ('type', 'job.queued', 1)"))
							}
							return each(func(c *database.Conn, d *seededRow) error {
								if cancels.cancelled {
									must(t, cancelDelivery(c, d.RowKey, "why", false))
								}
								return settled(v, begun, cancels.cancelled, cancels.asks)(c, d)
							})(c, rows)
						},
						func(r row) row {
							if cancels.cancelled {
								r = r.Cancel("why")
							}
							putOff := r.PutOff
							r.PutOff = false // a polled delivery does not say so
							moment := ledger.Moment{At: now, Paused: paused}
							if !v.Due.IsZero() {
								moment.Due = later
							}
							r, effects := r.After(begun, &v, moment)
							r.PutOff = r.PutOff || effects.Unchanged && putOff
							return r
						},
					})
				}
			}
		}
	}
	errUndo := errors.New("undo")
	for seed, twin := range twins {
		err := g.writer.do(t.Context(), func(c *database.Conn) error {
			rows := rowsOfAllStates(t, c, rand.New(rand.NewPCG(1, uint64(seed))), now)
			var chosen []seededRow
			for _, d := range rows {
				if twin.chosen(&d) {
					chosen = append(chosen, d)
				}
			}
			must(t, twin.change(c, chosen))
			for _, d := range chosen {
				got, err := tables.ReadRow(c, d.RowKey)
				must(t, err)
				want := twin.want(d.Row)
				if want.State == ledger.Discarded || want.State == ledger.Done {
					want = row{State: ledger.Done} // it has no row
					if n, err := c.Int64("SELECT count(*) FROM busgen_cancelled WHERE seq = ?", d.Seq); err != nil || n != 0 {
						t.Errorf("%s: %+v is settled, and its cancel is still there (%v)", twin.name, d, err)
						break
					}
				}
				if want.Since.IsZero() {
					got.Since = time.Time{}
				}
				if diff := cmp.Diff(inFile(want, now), inFile(got, now)); diff != "" {
					t.Errorf("%s: %+v (-ledger +file):\n%s", twin.name, d, diff)
					break
				}
			}
			return errUndo
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
	}
}

// Whatever chooses rows chooses those that the ledger says.
func TestEachConditionChoosesWhatTheLedgerSays(t *testing.T) {
	g := openWithWorker(t)
	records := make([]engine.Record, 1000)
	now := time.Now().Truncate(time.Second).UTC()
	for i := range records {
		records[i] = engine.Record{ID: uuid.Must(uuid.NewV7()), Type: "job.queued", Payload: []byte("{}"), CreatedAt: now.Add(-time.Hour)}
	}
	must(t, g.Append(t.Context(), records))
	must(t, g.writer.do(t.Context(), func(c *database.Conn) error {
		rows := rowsOfAllStates(t, c, rand.New(rand.NewPCG(2, 2)), now)
		compare := func(name string, chosen func(*seededRow) bool, got map[int64]bool) {
			for _, d := range rows {
				if want := chosen(&d); want != got[d.Seq] {
					t.Errorf("%s: the ledger says %v of %+v", name, want, d)
					break
				}
			}
		}
		condition := func(name, sql string, chosen func(*seededRow) bool) {
			got := map[int64]bool{}
			must(t, c.Query("SELECT d.seq FROM busgen_deliveries d JOIN busgen_log l ON l.seq = d.seq WHERE "+sql, func(s *sqlite3.Stmt) error {
				got[s.ColumnInt64(0)] = true
				return nil
			}))
			compare(name, chosen, got)
		}
		condition("failing", failing, func(d *seededRow) bool { return d.Failing() })
		condition("exempt", "d.state <> 'dead' AND "+exempt, func(d *seededRow) bool { return d.State.Open() && d.Exempt() })
		condition("died of a crash", "d.state = 'dead' AND "+diedOfCrash, func(d *seededRow) bool { return d.DiedOfCrash(d.last) })
		condition("comes by itself", waits, func(d *seededRow) bool {
			return !d.running && (d.State == ledger.Waiting || d.State == ledger.Held && !d.HeldSince.IsZero())
		})
		for _, reasons := range [][]string{nil, {event.ReasonMaxAttempts}, {event.ReasonCrash}, {event.KindError, event.ReasonExpired}} {
			spec := engine.RedriveSpec{Subscription: "worker", Type: "job.queued", Reasons: reasons, DeadBefore: now.Add(-5 * time.Minute), Max: 1, Limit: len(rows)}
			due, err := redrivable(c, spec)
			must(t, err)
			got := map[int64]bool{}
			for _, at := range due {
				got[at.Seq] = true
			}
			compare(fmt.Sprintf("redrivable for %q", reasons), func(d *seededRow) bool { return d.Redrivable(d.last, &spec) }, got)
		}
		return nil
	}))
}
