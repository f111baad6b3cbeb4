package sqlite

import "context"

// Admin looks at a file and steers it from outside. It needs no bus, and works
// beside one that is running, in this process or another. It is not safe for
// concurrent use.
type Admin struct {
	visit
}

// OpenAdmin opens a file that exists. It changes nothing.
func OpenAdmin(path string) (*Admin, error) {
	v, err := openVisit(path)
	if err != nil {
		return nil, err
	}
	return &Admin{v}, nil
}

// Close releases the file.
func (a *Admin) Close() error { return a.shut() }

// run interrupts f when ctx ends.
func (a *Admin) run(ctx context.Context, op string, f func(c *conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	defer a.conn.SetInterrupt(a.conn.SetInterrupt(ctx))
	err := f(a.conn)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return storageError(op, a.conn.path, err)
}

// look is run for f that reads, all of it from one state of the file.
func (a *Admin) look(ctx context.Context, op string, f func(c *conn) error) error {
	if err := a.reading(); err != nil {
		return err
	}
	return a.read(a.run(ctx, op, func(c *conn) error {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		err := f(c)
		defer c.SetInterrupt(c.SetInterrupt(context.Background()))
		if endErr := c.exec("ROLLBACK"); err == nil {
			err = endErr
		}
		return err
	}))
}

// change is run for f that writes, in one transaction.
func (a *Admin) change(ctx context.Context, op string, f func(c *conn) error) error {
	if err := a.writing(); err != nil {
		return err
	}
	return a.run(ctx, op, func(c *conn) error {
		return c.transaction(true, func() error { return f(c) })
	})
}
