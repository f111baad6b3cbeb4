package sqlite

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"

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
	w        *writer
	requests []*request // that are not begun
	alone    bool       // there is only one; nothing else needs to be taken back
	parts    parts
	held     int                 // how many of the writer's events, the last ones, are yet to be written
	direct   bool                // they are not to be held: that has failed
	now      atomic.Pointer[run] // the last that was given to a caller
	ended    chan error          // receives the error of the transaction as a whole, or nil
	panicked string              // what went wrong on the goroutine of a caller; empty for nothing
}

// pass does what requests ask for. The error is that of the transaction as a whole.
func (r *relay) pass(requests []*request) error {
	r.requests, r.alone, r.parts, r.held = requests, len(requests) == 1, parts{}, 0
	if shared := r.w.shared; shared != nil {
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
		if one.exec == nil && one.part == nil {
			if err := r.append(); err != nil {
				return false, err
			}
			continue
		}
		r.requests = r.requests[1:]
		if one.exec != nil {
			return false, one.exec(r.w.conn)
		}
		if r.parts.next(one.part) {
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
		r.parts.wrote = true
		return r.w.appendTogether(first)
	}
	err := r.w.appendEvents(first[0])
	r.parts.wrote = r.parts.wrote || err == nil && first[0].refused == nil
	return err
}

// give gives the connection to the caller of a part.
func (r *relay) give(p *part) error {
	w := r.w
	if err := w.share(); err != nil {
		return err
	}
	if !r.alone { // else the whole transaction is its own
		if err := w.conn.Exec("SAVEPOINT " + sqlapi.Savepoint); err != nil {
			return err
		}
	}
	turn := &run{
		relay: r, part: p, session: w.shared.Within(),
		before: len(w.events), heldBefore: r.held, diskFailures: w.conn.DiskFailures(),
	}
	turn.session.Patience = p.Limit
	turn.session.Before = r.writeHeld
	w.inside.Store(p.goroutine)
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
	err = r.w.conclude(turn, err)
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
	timer := r.w.limit
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

// conclude ends a part within the transaction at hand. The error is that of the transaction as a whole.
func (w *writer) conclude(turn *run, err error) error {
	p, all, alone := turn.part, &turn.relay.parts, turn.relay.alone
	w.inside.Store(0)
	broken := turn.session.End(engine.ErrTxOver)
	if err == nil && turn.session.Interrupted() {
		err = p.overran() // what it has left behind on another goroutine
	}
	if err == nil {
		err = turn.failed
	}
	if broken != nil || turn.session.Lost() {
		p.refused, p.final = w.spoilt(err, broken, w.conn.DiskFailures() > turn.diskFailures), true
		return errBeginAnew
	}
	if err == nil && turn.session.Published() {
		refused, failed := w.takeOutbox(turn.before, p.Adopt)
		if failed != nil {
			return failed
		}
		err = refused
	}
	if err == nil {
		err = w.unresolved()
	}
	if err == nil && turn.session.Changed() {
		err = w.trespass()
	}
	if err == nil && p.Settle != nil && !w.settle(p.Settle) {
		err = engine.ErrMoved
	}
	switch {
	case err == nil && alone:
		return nil
	case err == nil:
		all.wrote = true
		return w.conn.Exec("RELEASE " + sqlapi.Savepoint)
	}
	p.refused = err
	p.final = alone || !all.wrote || err == errUnwinding || turn.session.Interrupted()
	if alone {
		return errBeginAnew
	}
	clear(w.events[turn.before:])
	w.events = w.events[:turn.before]
	turn.relay.held = turn.heldBefore // those that were written in the savepoint are not any more
	if err := w.conn.Exec("ROLLBACK TO " + sqlapi.Savepoint); err != nil {
		return err
	}
	return w.conn.Exec("RELEASE " + sqlapi.Savepoint)
}
