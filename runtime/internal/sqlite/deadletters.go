package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// DeadLetters are the dead letters of a file. It needs no bus, and works
// beside one that is running, in this process or another. It is not safe for
// concurrent use.
type DeadLetters struct {
	visit
}

// LetterKey names a dead letter.
type LetterKey struct {
	Event        uuid.UUID
	Subscription string
}

// DeadLetter is a delivery that was given up.
type DeadLetter struct {
	LetterKey
	Mark        LetterMark
	Type        string
	Version     int
	Payload     []byte
	Metadata    []byte
	CreatedAt   time.Time
	Reason      string
	Fingerprint string
	Failures    int
	Progress    string
	Redriven    int
	Attempts    []engine.FailedAttempt // all of them, oldest first
}

// LetterMark is the place of a dead letter in the order in which they died.
type LetterMark struct {
	DeadAt            time.Time
	Subscription, Seq int64
}

// OpenDeadLetters opens a file that exists. It changes nothing.
func OpenDeadLetters(path string) (*DeadLetters, error) {
	v, err := openVisit(path)
	if err != nil {
		return nil, err
	}
	return &DeadLetters{v}, nil
}

// Close releases the file.
func (d *DeadLetters) Close() error { return d.shut() }

// run interrupts f when ctx ends.
func (d *DeadLetters) run(ctx context.Context, op string, f func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old := d.conn.SetInterrupt(ctx)
	defer d.conn.SetInterrupt(old)
	err := f()
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return storageError(op, d.conn.path, err)
}

// look is run for f that reads, all of it from one state of the file.
func (d *DeadLetters) look(ctx context.Context, op string, f func() error) error {
	if err := d.reading(); err != nil {
		return err
	}
	return d.read(d.run(ctx, op, func() error {
		if err := d.conn.exec("BEGIN"); err != nil {
			return err
		}
		err := f()
		defer d.conn.SetInterrupt(d.conn.SetInterrupt(context.Background()))
		return errors.Join(err, d.conn.exec("ROLLBACK"))
	}))
}

// change runs f in a transaction that is on disk when it returns.
func (d *DeadLetters) change(ctx context.Context, op string, f func() error) error {
	if err := d.writing(); err != nil {
		return err
	}
	return d.run(ctx, op, func() error { return d.conn.transaction(true, f) })
}
