package migrationtools

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"io/fs"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/pressly/goose/v3"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
)

//go:embed migrations
var embedded embed.FS // migrations/00001_goods.sql, migrations/00002_shelf.sql, …

// open opens a bus whose file has the tables of the program. Then come the subscriptions, and Start.
func open(ctx context.Context, path string) (*runtime.Bus, error) {
	bus, err := events.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	files, err := fs.Sub(embedded, "migrations")
	if err == nil {
		err = migrate(ctx, bus, files, goose.WithLocker(&alone{path: path + ".migrating"}))
	}
	if err != nil {
		return nil, errors.Join(err, bus.Shutdown(ctx))
	}
	return bus, nil
}

// migrate runs the migrations that the file of the bus has not had yet.
func migrate(ctx context.Context, bus *runtime.Bus, files fs.FS, opts ...goose.ProviderOption) error {
	tool, err := goose.NewProvider(goose.DialectSQLite3, runtime.DB(bus), files, opts...)
	if err != nil {
		return err
	}
	_, err = tool.Up(ctx)
	return err
}

// alone lets one process at a time migrate, as the locker of goose. It locks a file of its own, which stays and is
// empty. The system ends the lock with the process, however that dies.
type alone struct {
	path string
	lock *sqlite3.Conn
}

func (a *alone) Lock(ctx context.Context, _ *sql.DB) (err error) {
	if a.lock, err = sqlite3.Open(a.path); err != nil {
		return err
	}
	a.lock.SetInterrupt(ctx)
	if err := errors.Join(a.lock.BusyTimeout(time.Minute), a.lock.Exec("BEGIN EXCLUSIVE")); err != nil {
		return errors.Join(err, a.lock.Close())
	}
	return nil
}

func (a *alone) Unlock(context.Context, *sql.DB) error { return a.lock.Close() }
