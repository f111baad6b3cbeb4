package sqlite

import (
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/typenames"
)

// insertSpecial writes one event that is delayed, or has an idempotency key.
func (b *batch) insertSpecial(one []logged) error {
	e := &one[0]
	if e.Duplicate {
		return nil
	}
	if err := b.insertPlain(one); err != nil {
		return err
	}
	if d := e.Dedupe; d != nil {
		digest, of := e.KeyDigest(), e.typeID
		if d.Scope != "" {
			var err error
			if of, err = declareType(b.conn, typenames.Key{Name: e.KeyType()}); err != nil {
				return err
			}
		}
		if err := b.conn.Exec(insertKey, of, d.Key, e.Seq, e.ID[:], digest[:], d.Expires); err != nil {
			return err
		}
	}
	if e.Due.IsZero() {
		return nil
	}
	// A delayed event is on no consumer's way: each has a delivery that waits.
	due := dueOf(&e.Record)
	b.events[len(b.events)-1].Due = due
	if err := b.conn.Exec(updateDue, e.Due, e.Seq); err != nil {
		return err
	}
	return b.conn.Exec(insertWaiting, e.Seq, due, e.typeID)
}

const (
	insertKey = "INSERT OR REPLACE INTO busgen_dedupe (type, key, seq, id, digest, expires_at) VALUES (?, ?, ?, ?, ?, ?)"
	updateDue = "UPDATE busgen_log SET due_at = ? WHERE seq = ?"
	// insertWaiting gives an event ?1 of a type ?3 deliveries that are due at ?2.
	insertWaiting = `
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at)
		SELECT subscription, ?1, 'waiting', 0, ?2 FROM busgen_routes WHERE type = ?3`
)

// dueOf returns when the deliveries of a delayed event are due. One that is due as it is
// published must not wait for a wall clock that is set back.
func dueOf(r *engine.Record) time.Time {
	if !r.Due.After(r.CreatedAt) {
		return atOnce
	}
	return r.Due
}
