package migrationtools

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	tool "github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"

	"github.com/busgen/busgen/runtime"
)

// twoFiles are migrations as golang-migrate wants them.
func twoFiles(content map[string]string) map[string]string {
	all := map[string]string{}
	for name, text := range content {
		up, down, _ := strings.Cut(strings.TrimPrefix(text, "-- +goose Up\n"), "-- +goose Down\n")
		for _, note := range []string{"-- +goose StatementBegin\n", "-- +goose StatementEnd\n"} {
			up = strings.ReplaceAll(up, note, "")
		}
		all[strings.TrimSuffix(name, ".sql")+".up.sql"], all[strings.TrimSuffix(name, ".sql")+".down.sql"] = up, down
	}
	return all
}

// golangMigrate is the recipe for golang-migrate. Its driver has a lock within the process only. Nobody closes tool:
// that would close the database of the bus.
func golangMigrate(ctx context.Context, bus *runtime.Bus, files fs.FS, lock *alone) (err error) {
	if err := lock.Lock(ctx, nil); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock(ctx, nil)) }()
	source, err := iofs.New(files, ".")
	if err != nil {
		return err
	}
	database, err := sqlite.WithInstance(runtime.DB(bus), &sqlite.Config{})
	if err != nil {
		return err
	}
	migrations, err := tool.NewWithInstance("iofs", source, "sqlite", database)
	if err != nil {
		return err
	}
	if err := migrations.Up(); !errors.Is(err, tool.ErrNoChange) {
		return err
	}
	return nil
}

func TestGolangMigrateWorksOnTheFileOfABus(t *testing.T) {
	p := newProgram(t)
	release := func(content map[string]string) (err error) {
		bus, err := runtime.Open(t.Context(), p.path, catalogue)
		p.must(err)
		defer func() { p.must(bus.Shutdown(context.Background())) }()
		return golangMigrate(t.Context(), bus, filesOf(content), &alone{path: p.path + ".migrating"})
	}
	p.must(release(twoFiles(first)))
	p.must(release(twoFiles(first)))

	wrong := twoFiles(with(first, "00002_shelf.sql", "-- +goose Up\nCREATE TABLE shelf (x);\nINSERT INTO nowhere VALUES (1);\n-- +goose Down\n"))
	if err := release(wrong); err == nil || !strings.Contains(err.Error(), "no such table: nowhere") {
		t.Errorf("a migration that fails gives %v", err)
	}
	p.want(map[string]string{"SELECT count(*) FROM sqlite_schema WHERE name = 'shelf'": "0"})
	var dirty tool.ErrDirty
	if err := release(twoFiles(second)); !errors.As(err, &dirty) || dirty.Version != 2 {
		t.Errorf("after it: %v", err)
	}
	bus, err := runtime.Open(t.Context(), p.path, catalogue)
	p.must(err)
	_, err = runtime.DB(bus).Exec("UPDATE schema_migrations SET version = 1, dirty = false") // as migrate force 1 does
	p.must(errors.Join(err, bus.Shutdown(context.Background())))
	p.must(release(twoFiles(second)))
	p.want(soundness)
	p.want(map[string]string{"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1", "SELECT version || dirty FROM schema_migrations": "20"})

	// It does not let an older program go on.
	if err := release(twoFiles(first)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an older program: %v", err)
	}
}
