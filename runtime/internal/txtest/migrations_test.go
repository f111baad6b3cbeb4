package txtest

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/busgen/busgen/runtime"
)

// files are migrations by their names.
func files(content map[string]string) fs.FS {
	all := fstest.MapFS{}
	for name, text := range content {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

const (
	makesGoods = "CREATE TABLE goods (id INTEGER PRIMARY KEY, name TEXT NOT NULL); INSERT INTO goods (name) VALUES ('tea')"
	makesShelf = "CREATE TABLE shelf (goods INTEGER NOT NULL REFERENCES goods (id)); INSERT INTO shelf SELECT id FROM goods"
)

func openWith(t *testing.T, path string, content map[string]string) error {
	t.Helper()
	bus, err := runtime.Open(t.Context(), path, catalogue, runtime.WithMigrations(files(content)))
	if err != nil {
		return err
	}
	return bus.Shutdown(context.Background())
}

func TestTheMigrationsOfAProgramRunOnceInTheirOrder(t *testing.T) {
	f := open(t, 0)
	f.must(f.Shutdown(t.Context()))
	f.must(openWith(t, f.path, map[string]string{"2_shelf.sql": makesShelf, "1_goods.sql": makesGoods}))
	f.must(openWith(t, f.path, map[string]string{"2_shelf.sql": makesShelf, "1_goods.sql": makesGoods}))
	f.must(openWith(t, f.path, map[string]string{"2_shelf.sql": makesShelf, "1_goods.sql": makesGoods, "10_more.sql": "INSERT INTO goods (name) VALUES ('salt')"}))
	f.reopen() // without
	f.wantNumber(1, "SELECT count(*) FROM shelf")
	f.wantNumber(2, "SELECT count(*) FROM goods")
	f.wantNumber(3, "SELECT count(*) FROM busgen_migrations")
	f.must(f.Shutdown(t.Context()))
	wantSound(t, f.path)
}

func TestAMigrationOfAProgramThatCannotRunIsRefusedInWords(t *testing.T) {
	f := open(t, 0)
	f.must(f.Shutdown(t.Context()))
	f.must(openWith(t, f.path, map[string]string{"1_goods.sql": makesGoods, "3_shelf.sql": makesShelf}))
	for _, c := range []struct {
		name, want string
		content    map[string]string
	}{
		{"1_goods.sql", "another content", map[string]string{"1_goods.sql": makesGoods + " ", "3_shelf.sql": makesShelf}},
		{"3_shelf.sql", "does not have it", map[string]string{"1_goods.sql": makesGoods}},
		{"2_late.sql", "comes before 3_shelf.sql", map[string]string{"1_goods.sql": makesGoods, "2_late.sql": "SELECT 1", "3_shelf.sql": makesShelf}},
		{"4_wrong.sql", "nothing of it is stored", map[string]string{"1_goods.sql": makesGoods, "3_shelf.sql": makesShelf,
			"4_wrong.sql": "INSERT INTO goods (name) VALUES ('ham'); INSERT INTO nowhere VALUES (1)"}},
		{"4_orphan.sql", "row 2 of shelf would refer to rows of goods that are missing (FOREIGN KEY", map[string]string{
			"1_goods.sql": makesGoods, "3_shelf.sql": makesShelf, "4_orphan.sql": "INSERT INTO shelf VALUES (99)"}},
		{"4_parent.sql", "row 1 of shelf would refer to rows of goods", map[string]string{
			"1_goods.sql": makesGoods, "3_shelf.sql": makesShelf, "4_parent.sql": "DELETE FROM goods"}},
		{"4_ours.sql", "log belongs to the bus", map[string]string{"1_goods.sql": makesGoods, "3_shelf.sql": makesShelf, "4_ours.sql": "DELETE FROM busgen_log"}},
		{"4_end.sql", "shared with others", map[string]string{"1_goods.sql": makesGoods, "3_shelf.sql": makesShelf,
			"4_end.sql": "INSERT INTO goods (name) VALUES ('ham'); COMMIT"}},
	} {
		err := openWith(t, f.path, c.content)
		var refused *runtime.MigrationError
		if !errors.As(err, &refused) || refused.Name != c.name || refused.Path != f.path ||
			!strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), f.path+": ") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	for _, bad := range []fs.FS{nil, files(nil), files(map[string]string{"goods.sql": ""}), files(map[string]string{"1_a.sql": "", "01_b.sql": ""})} {
		if _, err := runtime.Open(t.Context(), f.path, catalogue, runtime.WithMigrations(bad)); err == nil || !strings.Contains(err.Error(), "WithMigrations") {
			t.Errorf("%v: %v", bad, err)
		}
	}
	f.reopen()
	f.wantNumber(1, "SELECT count(*) FROM goods")
	f.wantNumber(2, "SELECT count(*) FROM busgen_migrations")
}

func TestProgramsThatStartAtOnceRunAMigrationOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := openWith(t, path, map[string]string{"1_goods.sql": makesGoods, "2_shelf.sql": makesShelf}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	f := &fixture{T: t, path: path}
	f.reopen()
	f.wantNumber(1, "SELECT count(*) FROM goods")
	f.wantNumber(1, "SELECT count(*) FROM shelf")
}

// SQLite's recipe for a change that ALTER TABLE cannot make is another table in the place of the
// old one.
func TestAMigrationRebuildsATableThatOthersReferTo(t *testing.T) {
	f := open(t, 0)
	f.must(f.Shutdown(t.Context()))
	content := map[string]string{
		"1_goods.sql": makesGoods,
		"2_shelf.sql": "CREATE TABLE shelf (goods INTEGER NOT NULL REFERENCES goods (id) ON DELETE CASCADE); INSERT INTO shelf SELECT id FROM goods",
	}
	f.must(openWith(t, f.path, content))
	content["3_rebuild.sql"] = `
		CREATE TABLE goods_2 (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price INTEGER NOT NULL DEFAULT 0);
		INSERT INTO goods_2 (id, name) SELECT id, name FROM goods;
		DROP TABLE goods;
		ALTER TABLE goods_2 RENAME TO goods`
	f.reopen(runtime.WithMigrations(files(content)))
	f.wantNumber(1, "SELECT count(*) FROM shelf JOIN goods ON goods.id = shelf.goods AND price = 0")
	wrong := runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(t.Context(), "INSERT INTO shelf VALUES (99)")
		return err
	})
	if wrong == nil {
		t.Error("after the migrations, references are not looked at")
	}
	f.must(f.Shutdown(t.Context()))
	wantSound(t, f.path)
}

func TestMigrationsThatHaveRunNeedNoLock(t *testing.T) {
	f := open(t, 0)
	f.must(f.Shutdown(t.Context()))
	content := map[string]string{"1_goods.sql": makesGoods, "2_shelf.sql": makesShelf}
	f.must(openWith(t, f.path, content))
	other := f.connect()
	f.must(other.Exec("BEGIN IMMEDIATE"))
	f.must(openWith(t, f.path, content))
	f.must(other.Exec("ROLLBACK"))
}
