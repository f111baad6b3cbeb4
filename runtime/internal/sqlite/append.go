package sqlite

import (
	"context"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Append implements [engine.Log].
func (l *Log) Append(ctx context.Context, records []engine.Record) error {
	if len(records) == 0 {
		return nil
	}
	events := l.types.number(records)
	if err := l.writer.do(ctx, events, nil); err != nil {
		return storageError("append to", l.path, err)
	}
	for i := range records {
		records[i].Seq = events[i].Seq
	}
	return nil
}

// insert writes events at the end of the log, sets their Seq, and notes them
// for the tail.
func (w *writer) insert(events []logged) error {
	if len(events) == 0 {
		return nil
	}
	s, err := w.conn.stmt("INSERT INTO log (id, type, payload, metadata, created_at) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return err
	}
	for i := range events {
		e := &events[i]
		if e.typeID == 0 {
			if e.typeID, err = declareType(w.conn, e.Type); err != nil {
				return err
			}
		}
		if err := s.BindBlob(1, e.ID[:]); err != nil {
			return err
		}
		if err := s.BindInt64(2, e.typeID); err != nil {
			return err
		}
		if err := s.BindRawText(3, e.Payload); err != nil {
			return err
		}
		if e.Metadata == nil {
			err = s.BindNull(4)
		} else {
			err = s.BindRawText(4, e.Metadata)
		}
		if err != nil {
			return err
		}
		if err := s.BindInt64(5, e.CreatedAt.UnixMicro()); err != nil {
			return err
		}
		if err := s.Exec(); err != nil {
			return err
		}
		if i == 0 {
			// The newest row is never deleted, so numbers only grow; inside
			// one transaction they have no gaps.
			e.Seq = w.conn.LastInsertRowID()
		} else {
			e.Seq = events[i-1].Seq + 1
		}
	}
	w.events = append(w.events, events...)
	return nil
}
