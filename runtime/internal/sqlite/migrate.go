package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// Migrate implements [engine.Migrator]. When nothing is to be done it only reads.
func (l *Log) Migrate(ctx context.Context, migrations []engine.Migration) error {
	var had map[string]string
	err := l.read(func(c *database.Conn) (err error) {
		had, err = migrationsOf(c)
		return err
	})
	if err != nil {
		return fault.Wrap("migrate", l.path, err)
	}
	if refused := misfit(had, migrations); refused != nil {
		refused.Path = l.path
		return refused
	}
	for i := range migrations {
		if had[migrations[i].Name] != "" {
			continue
		}
		var refused *engine.MigrationError
		err := l.writer.unreferenced(ctx, func(c *database.Conn) error {
			had, err := migrationsOf(c)
			if err != nil {
				return err
			}
			if refused = misfit(had, migrations); refused == nil && had[migrations[i].Name] == "" {
				refused, err = l.writer.migrate(ctx, &migrations[i])
			}
			if refused != nil {
				return refused
			}
			return err
		})
		if refused != nil {
			refused.Path = l.path
			return refused // as it is, and not as a fault of the file
		}
		if err != nil {
			return fault.Wrap("migrate", l.path, err)
		}
	}
	return nil
}

// unreferenced runs f in a transaction of its own in which SQLite does not look at references.
// So f can drop a table that others refer to and make it anew, without losing their rows. SQLite
// looks away for a whole transaction or not at all, so f must see to it that all is well in the end.
func (w *writer) unreferenced(ctx context.Context, f func(c *database.Conn) error) (err error) {
	select {
	case <-w.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { w.turn <- struct{}{} }()
	select {
	case <-w.done:
		return engine.ErrClosed
	default:
	}
	if err := w.conn.ExecScript("PRAGMA foreign_keys=OFF"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.conn.ExecScript("PRAGMA foreign_keys=ON")) }()
	run := func() error {
		return w.conn.Transaction(true, func() error {
			if err := w.inPlace(); err != nil {
				return err
			}
			if err := w.verify(); err != nil {
				return err
			}
			return f(w.conn)
		})
	}
	err = run()
	for tries := 0; tries < changesLimit && w.changed(err); tries++ {
		err = run()
	}
	return err
}

// migrationsOf reads the checksums of the migrations that the file has had, by their names.
// Another process may have run some since the last look.
func migrationsOf(c *database.Conn) (map[string]string, error) {
	had := map[string]string{}
	err := c.Query("SELECT name, checksum FROM busgen_migrations", func(s *sqlite3.Stmt) error {
		had[s.ColumnText(0)] = s.ColumnText(1)
		return nil
	})
	return had, err
}

// misfit returns what does not fit to what the file has had: a migration that is another one
// now, one that is missing, and one that comes too late.
func misfit(had map[string]string, migrations []engine.Migration) *engine.MigrationError {
	known := map[string]bool{}
	last := ""
	for _, m := range migrations {
		known[m.Name] = true
		if checksum := had[m.Name]; checksum == m.Checksum {
			last = m.Name
		} else if checksum != "" {
			return &engine.MigrationError{Name: m.Name, Problem: "the file has had it with another content: restore what it was, and make the change in a new migration"}
		}
	}
	for name := range had {
		if !known[name] {
			return &engine.MigrationError{Name: name, Problem: "the file has had it, and this program does not have it: update the program, or restore the file of the migration"}
		}
	}
	for _, m := range migrations {
		if m.Name == last {
			break
		}
		if had[m.Name] == "" && last != "" {
			return &engine.MigrationError{Name: m.Name, Problem: "it comes before " + last + ", which the file has had: give it a higher number"}
		}
	}
	return nil
}

// migrate runs one migration, as if it were the function of a transaction, but without a limit
// of time, and with references that are looked at in the end only.
func (w *writer) migrate(ctx context.Context, m *engine.Migration) (refused *engine.MigrationError, err error) {
	if err := w.share(); err != nil {
		return nil, err
	}
	session := w.shared.Within()
	_, err = session.ExecContext(ctx, m.SQL, nil)
	if broken := session.End(engine.ErrTxOver); broken != nil {
		return nil, broken
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil && session.Lost() {
		err = errors.New("a statement of it has rolled back its transaction")
	}
	if err == nil {
		err = orphans(w.conn)
	}
	if err == nil && session.Changed() {
		err = w.trespass()
	}
	if err != nil {
		return &engine.MigrationError{Name: m.Name, Problem: "it has failed, and nothing of it is stored", Err: err}, nil
	}
	return nil, w.conn.Exec("INSERT INTO busgen_migrations (name, checksum, at) VALUES (?, ?, ?)", m.Name, m.Checksum, time.Now())
}
