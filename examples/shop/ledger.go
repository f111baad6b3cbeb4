package main

import (
	"context"
	"database/sql"
	"errors"
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

// ledger is a file beside the bus, with a line for every order whose Publish has returned
// nil. However the process ends, each of these orders must be in the file of the bus.
type ledger struct {
	sheet *os.File
	books *sql.DB      // the bus's file, as any SQLite client sees it: read only
	added atomic.Int64 // in this run
}

func openLedger(db string, isNew bool) (*ledger, error) {
	mode := os.O_CREATE | os.O_APPEND | os.O_WRONLY
	if isNew {
		mode |= os.O_TRUNC // a new file has no promises to keep
	}
	sheet, err := os.OpenFile(db+".acked", mode, 0o644)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(db), RawQuery: "mode=ro"}
	books, err := sql.Open("sqlite3", name.String()) // connects when it is first asked
	if err != nil {
		sheet.Close()
		return nil, err
	}
	return &ledger{sheet: sheet, books: books}, nil
}

func (l *ledger) Close() error { return errors.Join(l.books.Close(), l.sheet.Close()) }

// add writes one line. It survives the death of the process, because the operating system
// has it.
func (l *ledger) add(id uuid.UUID) error {
	_, err := fmt.Fprintln(l.sheet, id)
	l.added.Add(1)
	return err
}

// prove looks for each of the orders in the view events, which is a stable interface of
// the file.
func (l *ledger) prove(ctx context.Context, out io.Writer) error {
	stored, err := l.stored(ctx)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(l.sheet.Name())
	if err != nil {
		return err
	}
	promises := strings.Fields(string(content))
	var lost []string
	for _, id := range promises {
		if !stored[id] {
			lost = append(lost, id)
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("%d of %d acknowledged orders are LOST, such as %s", len(lost), len(promises), lost[0])
	}
	fmt.Fprintf(out, "All %d acknowledged orders are there.\n", len(promises))
	return nil
}

// stored returns the ids of all orders in the file.
func (l *ledger) stored(ctx context.Context) (map[string]bool, error) {
	rows, err := l.books.QueryContext(ctx, "SELECT id FROM events WHERE type = 'order.placed'")
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

// lastNumber returns the highest number of an order so far.
func (l *ledger) lastNumber(ctx context.Context) (last int64, err error) {
	err = l.books.QueryRowContext(ctx,
		"SELECT coalesce(max(payload ->> 'number'), 0) FROM events WHERE type = 'order.placed'").Scan(&last)
	return last, err
}

// status returns the status of one event in the file: pending, processing, done or dlq.
func (l *ledger) status(ctx context.Context, id uuid.UUID) (status string, err error) {
	err = l.books.QueryRowContext(ctx, "SELECT status FROM events WHERE id = ?", id.String()).Scan(&status)
	return status, err
}
