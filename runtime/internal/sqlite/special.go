package sqlite

import (
	"bytes"
	"crypto/sha256"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

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

// deduplicate finds the events of a request whose key is known, before any of
// them is written. A *engine.ConflictError concerns this request only.
func (w *writer) deduplicate(events []logged) error {
	now := time.Now()
	for i := range events {
		if events[i].Dedupe == nil {
			continue
		}
		if err := w.recognise(&events[i], now); err != nil {
			return err
		}
	}
	return nil
}

// recognise makes an event a duplicate if its key is remembered.
func (w *writer) recognise(e *logged, now time.Time) error {
	// Keys are forgotten a few at a time, by those who use them.
	err := w.conn.Exec(`
		DELETE FROM dedupe WHERE (type, key) IN (SELECT type, key FROM dedupe WHERE expires_at <= ? ORDER BY expires_at LIMIT 8)`, now)
	if err != nil {
		return err
	}
	var first uuid.UUID
	var seq int64
	same := false
	err = w.conn.Query(`
		SELECT d.id, d.seq, d.digest, t.version FROM dedupe d JOIN types t ON t.id = d.type
		WHERE t.name = (SELECT name FROM types WHERE written = ? LIMIT 1) AND d.key = ? AND d.expires_at > ?`, func(s *sqlite3.Stmt) error {
		digest := sha256.Sum256(e.Payload)
		first, seq = database.UUID(s, 0), s.ColumnInt64(1)
		// Payloads of different versions cannot be compared.
		same = s.ColumnInt(3) != max(e.Version, 1) || bytes.Equal(s.ColumnRawBlob(2), digest[:])
		return nil
	}, e.Type, e.Dedupe.Key, now)
	switch {
	case err != nil || seq == 0:
		return err
	case !same:
		return &engine.ConflictError{EventType: e.Type, Key: e.Dedupe.Key, First: first}
	}
	e.ID, e.Seq, e.Duplicate = first, seq, true
	return nil
}
