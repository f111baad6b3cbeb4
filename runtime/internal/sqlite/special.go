package sqlite

import "crypto/sha256"

// insertSpecial writes one event that is delayed, or has an idempotency key.
func (w *writer) insertSpecial(one []logged) error {
	e := &one[0]
	if e.Duplicate {
		return nil
	}
	if err := w.insertPlain(one); err != nil {
		return err
	}
	if d := e.Dedupe; d != nil {
		digest := sha256.Sum256(e.Payload)
		err := w.conn.Exec(`
			INSERT OR REPLACE INTO dedupe (type, key, seq, id, digest, expires_at) VALUES (?, ?, ?, ?, ?, ?)`,
			e.typeID, d.Key, e.Seq, e.ID[:], digest[:], d.Expires)
		if err != nil {
			return err
		}
	}
	if e.Due.IsZero() {
		return nil
	}
	// A delayed event is on no consumer's way: each has a delivery that waits. One that
	// is due as it is published must not wait for a wall clock that is set back.
	due := e.Due
	if !due.After(e.CreatedAt) {
		due = atOnce
	}
	w.events[len(w.events)-1].Due = due
	if err := w.conn.Exec("UPDATE log SET due_at = ? WHERE seq = ?", e.Due, e.Seq); err != nil {
		return err
	}
	return w.conn.Exec(`
		INSERT INTO deliveries (subscription, seq, state, failures, due_at)
		SELECT subscription, ?, 'waiting', 0, ? FROM routes WHERE type = ?`, e.Seq, due, e.typeID)
}
