package sqlite

import (
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// takeOutbox notes for the tail what a function of the program has published through the view
// outbox, in the transaction at hand. Of its events, the first of which is at before, those that
// it has appended are known, and the others are read.
func (w *writer) takeOutbox(before int) error {
	last := w.known.last
	if before > 0 {
		last = w.events[before-1].Seq
	}
	var all []logged
	own := w.events[before:]
	err := w.conn.Query("SELECT seq, id, type, payload, metadata, created_at, due_at FROM busgen_log WHERE seq > ? ORDER BY seq", func(s *sqlite3.Stmt) error {
		seq := s.ColumnInt64(0)
		if len(own) > 0 && own[0].Seq == seq {
			all = append(all, own[0])
			own = own[1:]
			return nil
		}
		e := logged{typeID: s.ColumnInt64(2), Record: engine.Record{
			Seq: seq, ID: database.UUID(s, 1), Payload: s.ColumnBlob(3, nil), Metadata: s.ColumnBlob(4, nil), CreatedAt: database.Time(s, 5),
		}}
		if s.ColumnType(6) != sqlite3.NULL {
			e.Due = database.Time(s, 6)
		}
		all = append(all, e)
		return w.log.types.resolveWithin(w.conn, e.typeID, &all[len(all)-1].Record)
	}, last)
	if err == nil {
		w.events = append(w.events[:before], all...)
	}
	return err
}
