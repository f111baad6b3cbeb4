package sqlite

import (
	"fmt"
	"slices"
)

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

func mustNotWait(e logged) bool { return e.special() || len(e.Payload)+len(e.Metadata) > heldSize }

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
