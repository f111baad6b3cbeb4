package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

// books are a file beside the bus with a line for every payment. To be sure that a line is
// there, the file has to be synced, which costs the same for one line as for a hundred:
// that is what a handler of batches is for.
type books struct {
	mu     sync.Mutex
	file   *os.File // nil keeps the books in memory: in tests
	lines  map[uuid.UUID]bookedPayment
	writes int // in this run
}

type bookedPayment struct {
	Event    uuid.UUID       `json:"event"`
	At       time.Time       `json:"at"`
	Amount   int64           `json:"amount"`
	Currency events.Currency `json:"currency"`
}

func openBooks(db string, isNew bool) (*books, error) {
	mode := os.O_CREATE | os.O_APPEND | os.O_RDWR
	if isNew {
		mode |= os.O_TRUNC
	}
	file, err := os.OpenFile(db+".books", mode, 0o644)
	if err != nil {
		return nil, err
	}
	b := &books{file: file, lines: map[uuid.UUID]bookedPayment{}}
	if err := b.read(); err != nil {
		file.Close()
		return nil, fmt.Errorf("the books cannot be read: %w", err)
	}
	return b, nil
}

// read reads the lines. If a crash has cut the last one off it is removed: its batch was
// not handled then, and comes again.
func (b *books) read() error {
	content, err := io.ReadAll(b.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	if whole < len(content) {
		if err := b.file.Truncate(int64(whole)); err != nil {
			return err
		}
	}
	for text := range bytes.Lines(content[:whole]) {
		var line bookedPayment
		if err := json.Unmarshal(text, &line); err != nil {
			return err
		}
		b.lines[line.Event] = line
	}
	return nil
}

func (b *books) Close() error {
	if b.file == nil {
		return nil
	}
	return b.file.Close()
}

var errNoAmount = errors.New("a payment of nothing does not belong into the books")

// keep is a handler of batches: it writes many payments with one call. A fault of one of them
// is no reason to try the others again. After a crash it may see a payment twice, so it
// leaves out what the books have.
func (b *books) keep(_ context.Context, batch []runtime.Event[events.PaymentCaptured]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var failed runtime.BatchError
	var page bytes.Buffer
	var added []bookedPayment
	for i, e := range batch {
		if _, written := b.lines[e.ID]; written {
			continue
		}
		if e.Payload.Amount.Amount <= 0 {
			failed.Set(i, runtime.Permanent(errNoAmount))
			continue
		}
		line := bookedPayment{e.ID, e.PublishedAt, e.Payload.Amount.Amount, e.Payload.Amount.Currency}
		added = append(added, line)
		if err := json.NewEncoder(&page).Encode(line); err != nil {
			return err
		}
	}
	if b.file != nil {
		if _, err := b.file.Write(page.Bytes()); err != nil {
			return err // all of the batch is tried again
		}
		if err := b.file.Sync(); err != nil {
			return err
		}
	}
	if b.writes++; b.lines == nil {
		b.lines = map[uuid.UUID]bookedPayment{}
	}
	for _, line := range added {
		b.lines[line.Event] = line
	}
	return failed.Err() // nil if nothing has failed
}

// writeReport adds up the days before the time that the schedule is for. That is not the
// present time if the shop was closed then: the report is about the right days all the same.
func (s *shop) writeReport(ctx context.Context, e runtime.Event[events.ReportRequested]) error {
	until := e.ScheduledFor
	if until.IsZero() {
		until = e.PublishedAt // an operator has asked for it
	}
	report := events.ReportWritten{Since: until.AddDate(0, 0, -e.Payload.Days), Until: until, Sums: map[string]int64{}}
	s.books.mu.Lock()
	for _, line := range s.books.lines {
		if !line.At.Before(report.Since) && line.At.Before(report.Until) {
			report.Payments++
			report.Sums[string(line.Currency)] += line.Amount
		}
	}
	s.books.mu.Unlock()
	_, err := events.PublishReportWritten(ctx, s.bus, report)
	return err
}

func (b *books) print(out io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fmt.Fprintf(out, "The books have %d payments. %d batches were written.\n", len(b.lines), b.writes)
}
