package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// Inspection implements [engine.Inspection] on a file. It needs no bus, and works
// beside one that is running, in this process or another. The files inspect_*.go
// have its methods.
type Inspection struct {
	actor string

	removing sync.Mutex // held by RemoveSubscription, which locks the file in steps

	closing context.Context // ends when Close is called, which interrupts whoever reads
	end     context.CancelFunc

	mu     sync.Mutex
	closed bool
	visit
}

// Inspect implements [engine.Inspectable]. The target is the path of a file.
func (Engine) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v, err := openVisit(target)
	if err != nil {
		return nil, err
	}
	i := &Inspection{actor: actor, visit: v}
	i.closing, i.end = context.WithCancel(context.Background())
	return i, nil
}

// Close implements [engine.Inspection]. It interrupts whoever reads, and waits for whoever
// writes.
func (i *Inspection) Close() error {
	i.end()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	return i.shut()
}

// Release implements [engine.Releaser]. It waits for whoever reads or writes. The next
// method opens the file again.
func (i *Inspection) Release() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.shut()
}

// A file from somebody else may make statements take for ever. So they have some time, which is more than they need for a
// file of many gigabytes: lookTime, and checkTime for what reads all of it.
var (
	lookTime  = 5 * time.Minute
	checkTime = 2 * time.Hour
)

// look runs f, which reads, all of it from one state of the file. Close interrupts it, and so does the end of lookTime.
func (i *Inspection) look(ctx context.Context, op string, f func(c *database.Conn) error) error {
	return i.lookFor(ctx, lookTime, op, f)
}

// lookFor is look with another time.
func (i *Inspection) lookFor(ctx context.Context, most time.Duration, op string, f func(c *database.Conn) error) error {
	tooLong := fmt.Errorf("this takes longer than %v, so it was ended: ask for less, or look at a copy of the file with the sqlite3 shell", most)
	looking, end := context.WithTimeoutCause(ctx, most, tooLong)
	defer end()
	defer context.AfterFunc(i.closing, end)()
	err := i.run(looking, op, i.reading, func(c *database.Conn) error {
		if err := c.Exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		defer c.SetInterrupt(c.SetInterrupt(context.Background()))
		if endErr := c.Exec("ROLLBACK"); err == nil {
			err = endErr
		}
		return err
	}, i.read)
	if err != nil && looking.Err() != nil && ctx.Err() == nil {
		if context.Cause(looking) == tooLong {
			return &event.StorageError{Fault: event.IO, Op: op, Path: i.path, Err: tooLong}
		}
		return engine.ErrClosed
	}
	return err
}

// change runs f in a transaction that is on disk when it returns.
func (i *Inspection) change(ctx context.Context, op string, f func(c *database.Conn) error) error {
	return i.run(ctx, op, i.writing, func(c *database.Conn) error {
		return c.Transaction(true, func() error { return f(c) })
	}, nil)
}

// run opens the file as f needs it and runs f, which the end of ctx interrupts.
// Afterwards checked may return another error.
func (i *Inspection) run(ctx context.Context, op string, open func() error, f func(c *database.Conn) error, checked func(error) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return engine.ErrClosed
	}
	if err := open(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	defer i.conn.SetInterrupt(i.conn.SetInterrupt(ctx))
	err := f(i.conn)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	err = fault.Wrap(op, i.conn.Path, err)
	if checked != nil {
		err = checked(err)
	}
	return err
}

// changeAll is change, or changeFor if there is a name. For all subscriptions it passes
// the zero value to f.
func (i *Inspection) changeAll(ctx context.Context, op, name string, f func(c *database.Conn, only knownSubscription) error) error {
	if name != "" {
		return i.changeFor(ctx, op, name, f)
	}
	return i.change(ctx, op, func(c *database.Conn) error { return f(c, knownSubscription{}) })
}

// changeFor is change for a subscription, by the name it has or had. It looks for the
// subscription before it opens the file for writing, and returns a *NotFoundError if
// there is none.
func (i *Inspection) changeFor(ctx context.Context, op, name string, f func(c *database.Conn, subscription knownSubscription) error) error {
	err := i.look(ctx, "read", func(c *database.Conn) error {
		_, err := requireSubscription(c, name)
		return err
	})
	if err != nil {
		return err
	}
	return i.change(ctx, op, func(c *database.Conn) error {
		found, err := requireSubscription(c, name)
		if err != nil {
			return err
		}
		return f(c, found)
	})
}

// requireSubscription returns the subscription that has a name, or had it before, or a
// *NotFoundError.
func requireSubscription(c *database.Conn, name string) (knownSubscription, error) {
	found, err := knownConsumer(c, name)
	if err == nil && found.id == 0 {
		err = notFound(c, name)
	}
	return found, err
}

// notFound returns a *NotFoundError with the subscriptions that the file has.
func notFound(c *database.Conn, name string) error {
	names, err := texts(c, "SELECT name FROM busgen_subscriptions ORDER BY id")
	return cmp.Or(err, error(&event.NotFoundError{Thing: "subscription", Name: name, Known: names}))
}

// texts returns the first column of a query.
func texts(c *database.Conn, sql string, args ...any) (all []string, err error) {
	err = c.Query(sql, func(s *sqlite3.Stmt) error {
		all = append(all, s.ColumnText(0))
		return nil
	}, args...)
	return all, err
}

// rowKey is where a delivery is in the file: the numbers of its subscription and of
// its event.
type rowKey struct{ subscription, seq int64 }
