package main

import (
	"errors"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// readModel is a table in a file of its own, with a row per order: what many handlers are
// for. Its transactions are not synced to disk one by one, which would make small ones a
// hundred times slower. It is for one handler that runs at a time.
type readModel struct {
	conn                  *sqlite3.Conn
	begin, insert, commit *sqlite3.Stmt
}

// readModel makes the file.
func (s *setting) readModel() (*readModel, error) {
	conn, err := sqlite3.Open(s.file())
	if err != nil {
		return nil, err
	}
	m := &readModel{conn: conn}
	s.closing = append(s.closing, m.close)
	err = conn.Exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;" +
		"CREATE TABLE orders (event BLOB PRIMARY KEY, customer TEXT NOT NULL, total INTEGER NOT NULL) WITHOUT ROWID")
	for _, s := range []struct {
		stmt **sqlite3.Stmt
		sql  string
	}{
		{&m.begin, "BEGIN IMMEDIATE"},
		{&m.insert, "INSERT OR IGNORE INTO orders (event, customer, total) VALUES (?, ?, ?)"},
		{&m.commit, "COMMIT"},
	} {
		if err == nil {
			*s.stmt, _, err = conn.PrepareFlags(s.sql, sqlite3.PREPARE_PERSISTENT)
		}
	}
	return m, err
}

// write adds rows in one transaction. Of events that have one nothing changes.
func (m *readModel) write(all ...runtime.Event[events.OrderPlaced]) error {
	if err := m.begin.Exec(); err != nil {
		return err
	}
	for i := range all {
		e := &all[i]
		err := errors.Join(m.insert.BindBlob(1, e.ID[:]), m.insert.BindText(2, e.Payload.Customer),
			m.insert.BindInt64(3, e.Payload.Total))
		if err == nil {
			err = m.insert.Exec()
		}
		if err != nil {
			return err
		}
	}
	return m.commit.Exec()
}

// close closes what is open.
func (m *readModel) close() (err error) {
	for _, s := range []*sqlite3.Stmt{m.begin, m.insert, m.commit} {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, m.conn.Close())
}
