package sqlite

import (
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// deduplicate finds the events of a request whose key is known, or that are known themselves (Once), before any of
// them is written. A *event.ConflictError concerns this request only.
func (b *batch) deduplicate(events []logged) error {
	now := time.Now()
	var keys engine.Keys // of this request
	for i := range events {
		e := &events[i]
		if e.Dedupe == nil && e.Once == nil {
			continue
		}
		if e.Duplicate { // in a log that has been replaced, while this transaction began
			e.Seq, e.Duplicate = 0, false
			if e.Once != nil {
				e.ID = *e.Once
			} else {
				e.ID = engine.NewID()
			}
		}
		if err := b.recogniseOnce(&e.Record); err != nil {
			return err
		}
		if e.Dedupe != nil && !e.Duplicate {
			if err := b.recognise(&e.Record, now); err != nil {
				return err
			}
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

// recogniseOnce makes an event a duplicate of itself if the log has it.
func (b *batch) recogniseOnce(r *engine.Record) error {
	if r.Once == nil {
		return nil
	}
	return b.conn.Query("SELECT seq FROM busgen_log WHERE id = ?", func(s *sqlite3.Stmt) error {
		r.Seq, r.Duplicate = s.ColumnInt64(0), true
		return nil
	}, r.Once[:])
}

// recognise makes an event a duplicate if its key is remembered.
func (b *batch) recognise(r *engine.Record, now time.Time) error {
	// Keys are forgotten a few at a time, whenever keys are used.
	err := b.conn.Exec(`
		DELETE FROM busgen_dedupe WHERE (type, key) IN (SELECT type, key FROM busgen_dedupe WHERE expires_at <= ? ORDER BY expires_at LIMIT 8)`, now)
	if err != nil {
		return err
	}
	return recognise(b.conn, r, now)
}

// recognise is that of the writer, for any connection.
func recognise(c *database.Conn, r *engine.Record, now time.Time) error {
	var first uuid.UUID
	var seq int64
	same := false
	own := r.KeyDigest()
	err := c.Query(selectKey, func(s *sqlite3.Stmt) (err error) {
		first, seq = database.UUID(s, 0), s.ColumnInt64(1)
		same, err = isSame(r, first, s.ColumnInt(3), s.ColumnRawBlob(2), s.ColumnRawText(4))
		return err
	}, r.KeyType(), r.Dedupe.Key, now, own[:])
	switch {
	case err != nil || seq == 0:
		return err
	case !same:
		return &event.ConflictError{EventType: r.Type, Key: r.Dedupe.Key, First: first}
	}
	r.ID, r.Seq, r.Duplicate = first, seq, true
	return nil
}

// freed is the SQL condition that the event of row d of busgen_dedupe does not have its key any more: no handler
// is called for a delivery of it that was cancelled, or a dead letter of it was discarded or edited. Undone, it has the key
// again, unless another event has it by then. The trigger of outbox has the same condition.
const freed = `(
	EXISTS (SELECT 1 FROM busgen_cancelled x WHERE x.seq = d.seq AND x.reason = '` + engine.ReasonCancelled + `' AND coalesce(x.answer, 1) <> 2)
	OR EXISTS (SELECT 1 FROM busgen_discarded x WHERE x.seq = d.seq AND (x.reason = '` + engine.ReasonCancelled + `' OR x.dead_at IS NOT NULL)))`

// selectKey finds what is remembered of a type ?1 and key ?2 at the time ?3, with the payload if its digest is not ?4.
const selectKey = `
	SELECT d.id, d.seq, d.digest, t.version, CASE WHEN d.digest <> ?4 THEN (SELECT payload FROM busgen_log WHERE seq = d.seq) END
	FROM busgen_dedupe d JOIN busgen_types t ON t.id = d.type
	WHERE t.name = (SELECT name FROM busgen_types WHERE written = ?1 LIMIT 1) AND d.key = ?2 AND d.expires_at > ?3 AND NOT ` + freed + ` LIMIT 1`

// isSame compares a record with the event that selectKey has found. Programs that publish through outbox cannot
// compute digests: theirs are empty.
func isSame(r *engine.Record, first uuid.UUID, version int, digest, stored []byte) (bool, error) {
	if version != r.KeyVersion() { // their payloads cannot be compared
		return true, nil
	}
	return r.SameAs(first, digest, func() ([]byte, error) { return stored, nil })
}

// settledKey is what became of a staged event with an idempotency key.
type settledKey struct {
	tell  func(first uuid.UUID, err error)
	first uuid.UUID
	err   error
}

// keep tells whether a staged event with a key is to be written: no other event has the key.
// The event itself is left as it is, because the transaction may fail and come again.
func (b *batch) keep(staged *logged) (bool, error) {
	if staged.Duplicate { // the publisher knows
		return false, nil
	}
	r := staged.Record
	err := b.recognise(&r, time.Now())
	if err != nil && !isConflict(err) {
		return false, err
	}
	if tell := staged.Dedupe.Settled; tell != nil {
		b.keys = append(b.keys, settledKey{tell, r.ID, err})
	}
	return err == nil && !r.Duplicate, nil
}

// tellKeys says what became of the staged events with keys, once they are in the file.
func (b *batch) tellKeys() {
	for _, k := range b.keys {
		k.tell(k.first, k.err)
	}
}
