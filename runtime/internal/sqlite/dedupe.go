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

// deduplicate finds the events of a request whose key is known, before any of
// them is written. A *engine.ConflictError concerns this request only.
func (w *writer) deduplicate(events []logged) error {
	now := time.Now()
	var keys engine.Keys // of this request
	for i := range events {
		e := &events[i]
		if e.Dedupe == nil {
			continue
		}
		if e.Duplicate { // in a log that has been replaced, while this transaction began
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			e.ID, e.Seq, e.Duplicate = id, 0, false
		}
		if err := w.recognise(&e.Record, now); err != nil {
			return err
		}
		if len(events) == 1 {
			continue
		}
		if keys == nil {
			keys = engine.Keys{}
		}
		if err := keys.Recognise(&e.Record); err != nil {
			return err
		}
	}
	return nil
}

// numberDuplicates gives duplicates of earlier events of their request, which are written
// by now, the Seq of those.
func numberDuplicates(events []logged) {
	var written map[uuid.UUID]int64
	for i := range events {
		e := &events[i]
		if !e.Duplicate || e.Seq != 0 {
			continue
		}
		if written == nil {
			written = make(map[uuid.UUID]int64, len(events))
			for j := range events {
				if !events[j].Duplicate {
					written[events[j].ID] = events[j].Seq
				}
			}
		}
		e.Seq = written[e.ID]
	}
}

// recognise makes an event a duplicate if its key is remembered.
func (w *writer) recognise(r *engine.Record, now time.Time) error {
	// Keys are forgotten a few at a time, whenever keys are used.
	err := w.conn.Exec(`
		DELETE FROM dedupe WHERE (type, key) IN (SELECT type, key FROM dedupe WHERE expires_at <= ? ORDER BY expires_at LIMIT 8)`, now)
	if err != nil {
		return err
	}
	return recognise(w.conn, r, now)
}

// recognise is that of the writer, for any connection.
func recognise(c *database.Conn, r *engine.Record, now time.Time) error {
	var first uuid.UUID
	var seq int64
	same := false
	err := c.Query(`
		SELECT d.id, d.seq, d.digest, t.version FROM dedupe d JOIN types t ON t.id = d.type
		WHERE t.name = (SELECT name FROM types WHERE written = ? LIMIT 1) AND d.key = ? AND d.expires_at > ?`, func(s *sqlite3.Stmt) error {
		digest := sha256.Sum256(r.Payload)
		first, seq = database.UUID(s, 0), s.ColumnInt64(1)
		// Payloads of different versions cannot be compared.
		same = s.ColumnInt(3) != max(r.Version, 1) || bytes.Equal(s.ColumnRawBlob(2), digest[:])
		return nil
	}, r.Type, r.Dedupe.Key, now)
	switch {
	case err != nil || seq == 0:
		return err
	case !same:
		return &engine.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: first}
	}
	r.ID, r.Seq, r.Duplicate = first, seq, true
	return nil
}

// settledKey is what became of a staged event with an idempotency key.
type settledKey struct {
	tell  func(first uuid.UUID, err error)
	first uuid.UUID
	err   error
}

// keep tells whether a staged event with a key is to be written: no other event has the key.
// The event itself is left as it is, because the transaction may fail and come again.
func (w *writer) keep(staged *logged) (bool, error) {
	if staged.Duplicate { // the publisher knows
		return false, nil
	}
	r := staged.Record
	err := w.recognise(&r, time.Now())
	if err != nil && !isConflict(err) {
		return false, err
	}
	if tell := staged.Dedupe.Settled; tell != nil {
		w.keys = append(w.keys, settledKey{tell, r.ID, err})
	}
	return err == nil && !r.Duplicate, nil
}

// tellKeys says what became of the staged events with keys, once they are in the file.
func (w *writer) tellKeys() {
	for _, k := range w.keys {
		k.tell(k.first, k.err)
	}
}
