package sqlite

import (
	"database/sql"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/sqlapi"
)

// A relay does what the requests of a transaction ask for, one after the other. A part runs on the
// goroutine of its caller, who then goes on with the requests that follow, up to the next
// part, and gives the connection to that one's caller. So each part costs one switch between goroutines.
//
// The writer waits for the end. It has the writer's turn all the time; whoever has the run of the
// moment acts for it.
type relay struct {
	*ground
	writer  *writer
	batch   *batch
	lookout *lookout

	requests []*request          // that are not begun
	alone    bool                // there is only one; nothing else needs to be taken back
	first    time.Time           // when the first part began to run
	wrote    bool                // there is something that is not stored yet, which the next part sees
	held     int                 // how many of the writer's events, the last ones, are yet to be written
	direct   bool                // they are not to be held: that has failed
	now      atomic.Pointer[run] // the last that was given to a caller
	ended    chan error          // receives the error of the transaction as a whole, or nil
	panicked string              // what went wrong on the goroutine of a caller; empty for nothing

	pool      *sql.DB     // makes what functions are given; nil before the first
	limit     *time.Timer // of the function that runs
	appending []logged    // by the function that runs
}

func newRelay(g *ground, w *writer, lo *lookout) *relay {
	return &relay{ground: g, writer: w, batch: &w.batch, lookout: lo, ended: make(chan error, 1)}
}

// pass does what requests ask for. The error is that of the transaction as a whole.
func (r *relay) pass(requests []*request) error {
	r.requests, r.alone, r.first, r.wrote, r.held = requests, len(requests) == 1, time.Time{}, false, 0
	if shared := r.writer.shared; shared != nil {
		shared.Renew()
	}
	given, err := r.advance()
	if given && err == nil {
		err = r.watch()
	}
	r.requests = nil
	r.now.Store(nil)
	if err != nil {
		return err
	}
	return r.endHolding()
}

// advance does what follows, up to the next part. It tells whether that was given to its caller.
func (r *relay) advance() (given bool, err error) {
	for len(r.requests) > 0 {
		one := r.requests[0]
		if one.step != nil {
			r.requests, r.wrote = r.requests[1:], true
			if err := r.batch.step(one); err != nil {
				return false, err
			}
			continue
		}
		if one.exec == nil && one.part == nil {
			if err := r.append(); err != nil {
				return false, err
			}
			continue
		}
		r.requests = r.requests[1:]
		if one.exec != nil {
			return false, one.exec(r.writer.conn)
		}
		if r.next(one) {
			return true, r.give(one.part)
		}
	}
	return false, nil
}

// append writes the events of the first request, and those of the next ones that can be written with it.
func (r *relay) append() error {
	if err := r.endHolding(); err != nil {
		return err
	}
	n := max(1, together(r.requests))
	first := r.requests[:n]
	r.requests = r.requests[n:]
	if n > 1 {
		r.wrote = true
		return r.batch.appendTogether(first)
	}
	err := r.batch.appendEvents(first[0])
	r.wrote = r.wrote || err == nil && first[0].refused == nil
	return err
}

// give gives the connection to the caller of a part.
func (r *relay) give(p *part) error {
	if err := r.open(); err != nil {
		return err
	}
	if !r.alone { // else the whole transaction is its own
		if err := r.writer.conn.Exec("SAVEPOINT " + sqlapi.Savepoint); err != nil {
			return err
		}
	}
	turn := &run{
		relay: r, part: p, session: r.writer.shared.Within(),
		before: len(r.batch.events), heldBefore: r.held, diskFailures: r.writer.conn.DiskFailures(),
	}
	turn.session.Patience = p.Limit
	turn.session.Before = r.writeHeld
	r.gate.inside.Store(turn)
	r.now.Store(turn)
	p.turn <- turn
	return nil
}

// conclude stores what a part has done, or takes it back, and goes on.
func (r *relay) conclude(turn *run, err error) {
	defer func() {
		if cause := recover(); cause != nil { // which must not be lost in the program's own recover
			r.panicked = fmt.Sprintf("%v\n\n%s", cause, debug.Stack())
			r.ended <- nil
		}
	}()
	err = r.finish(turn, err)
	given := false
	if err == nil {
		given, err = r.advance()
	}
	if !given || err != nil {
		r.ended <- err
	}
}

// limitTicks is in how many pieces the time of a function is measured, one after the other.
// While the process gets no time itself, or is stopped, no more than one piece passes.
const limitTicks = 10

// watch waits until all is done, and ends what takes too long. A part that is not the first can take
// up to one piece longer than its limit.
func (r *relay) watch() error {
	timer := r.limit
	defer timer.Stop()
	for turn := r.now.Load(); ; turn = r.now.Load() {
		tick := turn.part.Limit / limitTicks
		for n := 0; n < limitTicks && turn == r.now.Load(); n++ {
			timer.Reset(tick)
			select {
			case err := <-r.ended:
				if r.panicked != "" {
					go panic(r.panicked) // here, a handler's recover might leave the writer stuck
					select {}
				}
				return err
			case <-timer.C:
				if turn == r.now.Load() {
					r.writer.recheck(turn)
				}
			}
		}
		if turn == r.now.Load() {
			turn.interrupt()
		}
	}
}

// overran says that the function takes too long.
func (p *part) overran() error {
	if p.Overran != nil {
		go p.Overran()
	}
	return &event.TxTimeoutError{Limit: p.Limit}
}

// finish ends a part within the transaction at hand. The error is that of the transaction as a whole.
func (r *relay) finish(turn *run, err error) error {
	p := turn.part
	r.gate.inside.Store(nil)
	broken := turn.session.End(engine.ErrTxOver)
	if err == nil && turn.session.Interrupted() {
		err = p.overran() // what it has left behind on another goroutine
	}
	if err == nil {
		err = turn.failed
	}
	if broken != nil || turn.session.Lost() {
		p.refused, p.final = r.spoilt(err, broken, r.writer.conn.DiskFailures() > turn.diskFailures), true
		return errBeginAnew
	}
	if err == nil && turn.session.Published() {
		refused, failed := r.batch.takeOutbox(r.lookout.known.last, turn.before, p.Adopt)
		if failed != nil {
			return failed
		}
		err = refused
	}
	if err == nil {
		err = r.unresolved()
	}
	if err == nil && turn.session.Changed() {
		err = r.trespasses.check(r.writer.conn)
	}
	if err == nil && p.Settle != nil && !r.batch.settle(p.Settle) {
		err = engine.ErrMoved
	}
	if err == nil && p.Step != nil {
		own, failed := r.batch.storeStep(p.Step)
		if failed != nil {
			return failed
		}
		err = own
	}
	switch {
	case err == nil && r.alone:
		return nil
	case err == nil:
		r.wrote = true
		return r.writer.conn.Exec("RELEASE " + sqlapi.Savepoint)
	}
	p.refused = err
	p.final = r.alone || !r.wrote || err == errUnwinding || turn.session.Interrupted()
	if r.alone {
		return errBeginAnew
	}
	clear(r.batch.events[turn.before:])
	r.batch.events = r.batch.events[:turn.before]
	r.held = turn.heldBefore // those that were written in the savepoint are not any more
	if err := r.writer.conn.Exec("ROLLBACK TO " + sqlapi.Savepoint); err != nil {
		return err
	}
	return r.writer.conn.Exec("RELEASE " + sqlapi.Savepoint)
}

// What parts publish is held, and written for all of them at the end of the transaction: rows that are
// inserted together cost half as much. Until then the events have their numbers. They are written before
// any statement that could see them, or that writes to the log; only a query whose rows are being read
// while its function publishes can tell the difference.
//
// If they cannot be written together, the transaction begins anew, and each part writes its own. So it is
// the part whose event is refused that fails, and no other.

// heldSize is how large the payload and metadata of an event may be that is held. Larger ones are
// written at once.
const heldSize = 4096

// hold takes events of the part that runs, if they can wait. Otherwise all that is held is written
// now, and they can follow.
func (t *run) hold(events []logged) (held bool, err error) {
	r, b := t.relay, t.batch
	if r.alone || r.direct || t.session.Published() || len(events) > maxInsertRows || slices.ContainsFunc(events, mustNotWait) {
		return false, r.writeHeld()
	}
	if err := b.declareTypes(events); err != nil {
		return false, err
	}
	var last int64
	if r.held > 0 {
		last = b.events[len(b.events)-1].Seq
	} else if last, err = b.conn.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log"); err != nil {
		return false, err
	}
	for i := range events {
		events[i].Seq = last + int64(i) + 1
	}
	b.events = append(b.events, events...)
	if r.held += len(events); r.held < maxInsertRows {
		return true, nil
	}
	return true, r.writeHeld() // within the time of who has published that many
}

func mustNotWait(e logged) bool {
	return e.special() || e.Once != nil || len(e.Payload)+len(e.Metadata) > heldSize
}

// writeHeld writes the events that are held. If that fails they are still held, so that the transaction
// cannot end without them.
func (r *relay) writeHeld() error {
	if r.held == 0 {
		return nil
	}
	events := r.batch.events[len(r.batch.events)-r.held:]
	first := events[0].Seq
	err := r.batch.insertAll(events)
	if err == nil && events[0].Seq != first {
		err = fmt.Errorf("the first of %d events has the number %d in the log, and %d was expected", len(events), events[0].Seq, first)
	}
	if err != nil {
		r.direct = true
		return err
	}
	r.held = 0
	return nil
}

// endHolding is writeHeld where no part runs, whose error it could be.
func (r *relay) endHolding() error {
	if r.writeHeld() != nil {
		return errBeginAnew
	}
	return nil
}
