package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/transact"
)

// In returns a publisher whose events become part of a transaction that the program has begun
// itself, on a connection of its own to the file of the bus: they are stored when the program
// commits, together with its rows, and never if it rolls back. x is one of
//
//   - a *[database/sql.Tx], or a *[database/sql.Conn] with a transaction under way, of the
//     driver github.com/ncruces/go-sqlite3/driver
//   - a *sqlite3.Conn of github.com/ncruces/go-sqlite3 with a transaction under way
//
// A few milliseconds after the commit the bus delivers the events, if it dispatches; another
// process that does notices within 200 ms. All options of Publish work. Publishing
// returns without waiting for the disk, and its errors are those of [Publish], and
//
//   - *[event.JoinError]: x is nil, of another driver, or of another file; no transaction is under
//     way, or one that only reads. Nothing was written
//   - [errors.ErrUnsupported]: the bus keeps its events in something that has no tables ([WithEngine])
//   - the error of the driver, such as [database/sql.ErrTxDone]
//
// After an error the events of the call are not part of the transaction, which the program
// can go on with or roll back. [Receipt.Wait] returns [transact.ErrUncommitted] until the transaction is
// committed. Metrics and observers of the bus count the events when they are published, because
// nobody tells it what becomes of them.
//
// While the transaction is open after its first write, the bus cannot write, as for any
// writer of an SQLite file: it waits for up to 5 s, and publishers and functions of [Transact]
// with it. So begin with BEGIN IMMEDIATE, be short, and do not call the bus in between: [Publish]
// with the bus itself would wait for the transaction that waits for it. [Transact]
// has none of these limits, and is faster when many write.
//
// With the ctx of a handler the events are its children, but the transaction is one of its own:
// it is stored whatever becomes of the handler.
//
// A publisher is as safe for concurrent use as x is, and needs no closing. In itself never
// fails: what is wrong with x is the error of the first use.
func In(bus *Bus, x any) Publisher {
	if bus == nil {
		return nobody{}
	}
	return &joined{bus: busOf(bus), x: x}
}

// nobody is a publisher without a bus.
type nobody struct{}

func (nobody) target() (bus, tx any) { return nil, nil }

// joined publishes in a transaction of the program.
type joined struct {
	bus *innerBus
	x   any
}

func (j *joined) target() (bus, tx any) { return j.bus, j }

// append implements within.
func (j *joined) append(ctx context.Context, a *dispatch.Attempt, records []engine.Record) error {
	elsewhere, ok := j.x.(outbox.Joining)
	log, joins := j.bus.log.(engine.Joiner)
	if !ok && !joins {
		return fmt.Errorf("publish in a transaction of the program: %w: the engine of this bus has no tables; transactions need the file of the default engine", errors.ErrUnsupported)
	}
	if err := j.bus.accepts(); err != nil {
		return err
	}
	if a != nil {
		if err := a.Stage(ctx, nil); err != nil { // the attempt is over
			return err
		}
	}
	if ok {
		err := elsewhere.Join(ctx, j.bus.home(), records)
		if err != nil {
			return public(err)
		}
	} else if err := j.bus.makeRoom(len(records)); err != nil {
		return err
	} else if err := log.Join(ctx, j.x, records); err != nil {
		return public(err)
	}
	j.bus.published(records)
	return nil
}

// wait implements within.
func (j *joined) wait(ctx context.Context, r *Receipt) error {
	if elsewhere, ok := j.x.(outbox.Joining); ok {
		return elsewhere.Wait()
	}
	held, err := j.bus.log.(engine.Joiner).Holds(ctx, r.seq, r.ID)
	if err == nil && !held {
		err = transact.ErrUncommitted
	}
	return public(err)
}
