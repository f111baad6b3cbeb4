package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	_ "github.com/ncruces/go-sqlite3/driver" // database/sql: "sqlite3"
)

// promises are a file beside the bus, with a line for every order whose transaction has returned
// nil. However the process ends, each of these orders must be in the file of the bus.
type promises struct {
	sheet *os.File
	file  *sql.DB      // of the bus
	added atomic.Int64 // in this run
}

func openPromises(db string, isNew bool, file *sql.DB) (*promises, error) {
	mode := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if isNew {
		mode |= os.O_TRUNC // a new file has no promises to keep
	}
	sheet, err := os.OpenFile(db+".acked", mode, 0o644)
	if err != nil {
		return nil, err
	}
	return &promises{sheet: sheet, file: file}, nil
}

// openFile opens the bus's file, as any SQLite client does: read only. It connects when it is
// first asked.
func openFile(db string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(db), RawQuery: "mode=ro"}
	return sql.Open("sqlite3", name.String())
}

func (p *promises) Close() error { return p.sheet.Close() }

// add writes one line. It survives the death of the process, because the operating system
// has it.
func (p *promises) add(id uuid.UUID) error {
	_, err := fmt.Fprintln(p.sheet, id)
	p.added.Add(1)
	return err
}

// prove looks for each of the orders in the view events, which is a stable interface of
// the file.
func (p *promises) prove(ctx context.Context, out io.Writer) error {
	stored, err := p.stored(ctx)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(p.sheet.Name())
	if err != nil {
		return err
	}
	made := strings.Fields(string(content))
	var lost []string
	for _, id := range made {
		if !stored[id] {
			lost = append(lost, id)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d of %d acknowledged orders are LOST, such as %s", len(lost), len(made), lost[0])
	}
	fmt.Fprintf(out, "All %d acknowledged orders are there.\n", len(made))
	return nil
}

// stored returns the ids of all orders in the file.
func (p *promises) stored(ctx context.Context) (map[string]bool, error) {
	rows, err := p.file.QueryContext(ctx, "SELECT id FROM events WHERE type = 'order.placed'")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stored := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		stored[id] = true
	}
	return stored, rows.Err()
}

// status returns the status of one event in the file: pending, processing, done or dlq.
func (p *promises) status(ctx context.Context, id uuid.UUID) (status string, err error) {
	err = p.file.QueryRowContext(ctx, "SELECT status FROM events WHERE id = ?", id.String()).Scan(&status)
	return status, err
}
