package sqlite

import (
	"context"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Inspection implements [engine.Inspection] on a file. It needs no bus, and works
// beside one that is running, in this process or another. The files inspect_*.go
// have its methods.
type Inspection struct {
	actor string

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
	return &Inspection{actor: actor, visit: v}, nil
}

// Close implements [engine.Inspection].
func (i *Inspection) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.closed = true
	return i.shut()
}

// look runs f, which reads, all of it from one state of the file.
func (i *Inspection) look(ctx context.Context, op string, f func(c *conn) error) error {
	return i.run(ctx, op, i.reading, func(c *conn) error {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		defer c.SetInterrupt(c.SetInterrupt(context.Background()))
		if endErr := c.exec("ROLLBACK"); err == nil {
			err = endErr
		}
		return err
	}, i.read)
}

// change runs f in a transaction that is on disk when it returns.
func (i *Inspection) change(ctx context.Context, op string, f func(c *conn) error) error {
	return i.run(ctx, op, i.writing, func(c *conn) error {
		return c.transaction(true, func() error { return f(c) })
	}, nil)
}

// run opens the file as f needs it and runs f, which the end of ctx interrupts.
// Afterwards checked may return another error.
func (i *Inspection) run(ctx context.Context, op string, open func() error, f func(c *conn) error, checked func(error) error) error {
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
	err = storageError(op, i.conn.path, err)
	if checked != nil {
		err = checked(err)
	}
	return err
}

// known returns a *NotFoundError unless a subscription has the name now. It looks
// before a change opens the file for writing.
func (i *Inspection) known(ctx context.Context, subscription string) error {
	return i.look(ctx, "read", func(c *conn) error { return requireSubscription(c, subscription) })
}

// requireSubscription returns a *NotFoundError unless a subscription has the name
// now.
func requireSubscription(c *conn, name string) error {
	names, err := texts(c, "SELECT name FROM subscriptions ORDER BY id")
	if err == nil && !slices.Contains(names, name) {
		err = &engine.NotFoundError{Thing: "subscription", Name: name, Known: names}
	}
	return err
}

// texts returns the first column of a query.
func texts(c *conn, sql string, args ...any) (all []string, err error) {
	err = c.query(sql, func(s *sqlite3.Stmt) error {
		all = append(all, s.ColumnText(0))
		return nil
	}, args...)
	return all, err
}

// rowKey is where a delivery is in the file: the numbers of its subscription and of
// its event.
type rowKey struct{ subscription, seq int64 }
