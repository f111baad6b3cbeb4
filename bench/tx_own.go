package main

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	_ "github.com/ncruces/go-sqlite3/driver" // database/sql: "sqlite3"
)

// ownTx is a program without a bus: it does the same with database/sql, on a file with the
// same tables, in a transaction for each caller. It is as good as such a program gets: all go
// through one connection, so that none waits for a lock, and its statements are prepared.
type ownTx struct {
	db                    *sql.DB
	entry, account, event *sql.Stmt

	id      uuid.UUID // of an event
	last    atomic.Uint64
	typeID  int64
	payload string
}

// ownTx makes the file and opens it. Its first event was published by a bus.
func (s *setting) ownTx(ctx context.Context) (*ownTx, error) {
	path := s.file()
	if err := publishOne(ctx, path); err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Opaque: path, RawQuery: "_txlock=immediate" +
		"&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=journal_size_limit(67108864)"}
	db, err := sql.Open("sqlite3", name.String())
	if err != nil {
		return nil, err
	}
	s.closing = append(s.closing, db.Close)
	db.SetMaxOpenConns(1)
	o := &ownTx{db: db}
	if err := o.prepare(ctx); err != nil {
		return nil, fmt.Errorf("database/sql: %w", err)
	}
	return o, nil
}

func (o *ownTx) prepare(ctx context.Context) error {
	for _, want := range []struct{ pragma, value string }{{"journal_mode", "wal"}, {"synchronous", "2"}} {
		value := ""
		if err := o.db.QueryRowContext(ctx, "PRAGMA "+want.pragma).Scan(&value); err != nil {
			return err
		}
		if value != want.value {
			return fmt.Errorf("%s is %q and should be %q", want.pragma, value, want.value)
		}
	}
	var id []byte
	if err := o.db.QueryRowContext(ctx, "SELECT id, type, payload FROM busgen_log").Scan(&id, &o.typeID,
		&o.payload); err != nil {
		return err
	}
	o.id = uuid.UUID(id)
	o.last.Store(binary.BigEndian.Uint64(o.id[8:]))
	if _, err := o.db.ExecContext(ctx, makeTables); err != nil {
		return err
	}
	for _, s := range []struct {
		stmt **sql.Stmt
		sql  string
	}{
		{&o.entry, insertEntry},
		{&o.account, updateAccount},
		{&o.event, "INSERT INTO busgen_log (id, type, payload, metadata, created_at) VALUES (?, ?, ?, NULL, ?)"},
	} {
		var err error
		if *s.stmt, err = o.db.PrepareContext(ctx, s.sql); err != nil {
			return err
		}
	}
	return nil
}

// book is one transaction.
func (o *ownTx) book(ctx context.Context, account int) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.StmtContext(ctx, o.entry).ExecContext(ctx, account, sample.Total); err != nil {
		return err
	}
	if _, err := tx.StmtContext(ctx, o.account).ExecContext(ctx, sample.Total, account); err != nil {
		return err
	}
	id := o.id
	binary.BigEndian.PutUint64(id[8:], o.last.Add(1)) // as in the bare loop
	if _, err := tx.StmtContext(ctx, o.event).ExecContext(ctx, id[:], o.typeID, o.payload,
		time.Now().UnixMicro()); err != nil {
		return err
	}
	return tx.Commit()
}
