package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

var selectPublished = "SELECT seq, id, type, " + bounded("payload") + ", " + bounded("metadata") + ", created_at, due_at FROM busgen_log WHERE seq > ? ORDER BY seq"

// takeOutbox notes for the tail what a function of the program has published through the view
// outbox, in the transaction at hand. The log ended with the event last before that. Of its events, the first of which is at before, those that
// it has appended are known, and the others are read, and adopted: refused is the error of that.
func (b *batch) takeOutbox(last int64, before int, adopt func(r *engine.Record) error) (refused, err error) {
	if before > 0 {
		last = b.events[before-1].Seq
	}
	all, err := b.types.outboxSince(b.conn, last)
	if err != nil {
		return nil, err
	}
	own := b.events[before:]
	for i := range all {
		e := &all[i]
		if len(own) > 0 && own[0].Seq == e.Seq {
			*e = own[0]
			own = own[1:]
		} else if adopt == nil {
			continue
		} else if refused = adopt(&e.Record); refused != nil {
			return refused, nil
		} else if err = setMetadata(b.conn, &e.Record); err != nil {
			return nil, err
		}
	}
	b.events = append(b.events[:before], all...)
	return nil, nil
}

// outboxSince reads the events that are newer than one.
func (t *typeTable) outboxSince(c *database.Conn, last int64) (all []logged, err error) {
	err = c.Query(selectPublished, func(s *sqlite3.Stmt) error {
		e := logged{typeID: s.ColumnInt64(2), Record: engine.Record{
			Seq: s.ColumnInt64(0), ID: database.UUID(s, 1), CreatedAt: database.Time(s, 5),
		}}
		if err := readBounded(c, s, 3, &e.Record); err != nil {
			return err
		}
		if s.ColumnType(6) != sqlite3.NULL {
			e.Due = database.Time(s, 6)
		}
		all = append(all, e)
		return t.resolveWithin(c, e.typeID, &all[len(all)-1].Record)
	}, last)
	return all, err
}

// setMetadata changes the metadata of an event in the transaction that stores it.
func setMetadata(c *database.Conn, r *engine.Record) error {
	return c.Exec("UPDATE busgen_log SET metadata = ? WHERE seq = ?", string(r.Metadata), r.Seq)
}
