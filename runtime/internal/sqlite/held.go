package sqlite

import (
	"fmt"
	"slices"
)

// What parts publish is held, and written for all of them at the end of the transaction: rows that are
// inserted together cost half as much. Until then the events have their numbers, and nobody can tell the
// difference: they are written before any statement that could see them, or that writes to the log.

// heldSize is how large the payload and metadata of an event may be that is held. Larger ones are
// written at once, so that it is their publisher who learns that there is no space or memory for them.
const heldSize = 4096

// hold takes events of the part that runs, if they can wait. Otherwise all that is held is written
// now, and they can follow.
func (t *run) hold(events []logged) (held bool, err error) {
	r, w := t.relay, t.w
	if r.alone || t.session.Published() || len(events) > maxInsertRows || slices.ContainsFunc(events, mustNotWait) {
		return false, r.writeHeld()
	}
	if err := w.declareTypes(events); err != nil {
		return false, err
	}
	var last int64
	if r.held > 0 {
		last = w.events[len(w.events)-1].Seq
	} else if last, err = w.conn.Int64("SELECT coalesce(max(seq), 0) FROM busgen_log"); err != nil {
		return false, err
	}
	for i := range events {
		events[i].Seq = last + int64(i) + 1
	}
	w.events = append(w.events, events...)
	if r.held += len(events); r.held < maxInsertRows {
		return true, nil
	}
	return true, r.writeHeld() // within the time of who has published that many
}

func mustNotWait(e logged) bool { return e.special() || len(e.Payload)+len(e.Metadata) > heldSize }

// writeHeld writes the events that are held.
//
// An error is that of the transaction as a whole, whatever becomes of the part that runs: the events
// are those of others, too.
func (r *relay) writeHeld() error {
	if r.held > 0 {
		r.failed = r.insertHeld()
	}
	return r.failed
}

func (r *relay) insertHeld() error {
	w := r.w
	before := len(w.events) - r.held
	events := w.events[before:]
	r.held = 0
	first := events[0].Seq
	w.events = w.events[:before] // insertPlain appends them again, to the same places
	if err := w.insertPlain(events); err != nil {
		return err
	}
	if events[0].Seq != first {
		return fmt.Errorf("the first of %d events has the number %d in the log, and %d was expected: this is a fault of the bus", len(events), events[0].Seq, first)
	}
	return nil
}
