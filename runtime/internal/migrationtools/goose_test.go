package migrationtools

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"
	"github.com/pressly/goose/v3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/runtimetest"
)

func TestAFreshFileGetsTheTablesOfTheProgramOnce(t *testing.T) {
	p := newProgram(t)
	for range 3 {
		bus, err := open(t.Context(), p.path)
		p.must(err)
		p.must(bus.Shutdown(t.Context()))
	}
	p.want(soundness)
	p.want(map[string]string{
		"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1",
		"SELECT version_id FROM goose_db_version ORDER BY id": "0 1 2",
	})
	if info, err := os.Stat(p.path + ".migrating"); err != nil || info.Size() != 0 {
		t.Errorf("the file of the lock: %v, %v", info, err)
	}
}

// git may check out files with other ends of lines, and editors add a last one.
func TestOtherEndsOfLinesAreNoOtherMigration(t *testing.T) {
	crlf := map[string]string{}
	for name, text := range second {
		crlf[name] = strings.ReplaceAll(text, "\n", "\r\n") + "\r\n"
	}
	for name, steps := range map[string][]map[string]string{"CRLF first": {crlf, second}, "LF first": {second, crlf}} {
		p := newProgram(t)
		for _, content := range steps {
			if err := p.release(content, nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		p.want(soundness)
		p.want(map[string]string{"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1"})
	}
}

// Some editors begin a file with a byte order mark. goose cannot read such a file, and says so before it runs anything.
func TestAMigrationWithAByteOrderMarkIsRefusedUnlessItHasRun(t *testing.T) {
	marked := map[string]string{}
	for name, text := range second {
		marked[name] = "\ufeff" + text
	}
	p := newProgram(t)
	if err := p.release(marked, nil); err == nil || !strings.Contains(err.Error(), "00001_goods.sql") || !strings.Contains(err.Error(), `"\ufeff--`) {
		t.Errorf("got %v, want an error with the file and its mark", err)
	}
	p.want(map[string]string{"SELECT count(*) FROM sqlite_schema WHERE name IN ('goods', 'shelf')": "0"})
	for _, content := range []map[string]string{second, marked} {
		if err := p.release(content, nil); err != nil {
			t.Error(err)
		}
	}
	p.want(soundness)
	p.want(map[string]string{"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1"})
}

func TestProcessesThatStartAtOnceMigrateOnce(t *testing.T) {
	p := newProgram(t)
	// The first one takes so long that the others have looked by then.
	slow := with(second, "00001_goods.sql", strings.Replace(first["00001_goods.sql"], "CREATE",
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000) SELECT count(*) FROM n;\nCREATE", 1))
	var children []*child
	for range 4 {
		children = append(children, p.start(slow))
	}
	for _, c := range children {
		p.must(c.goOn())
	}
	for _, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("a process fails: %v", err)
		}
	}
	p.want(soundness)
	p.want(map[string]string{
		"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1",
		"SELECT version_id FROM goose_db_version ORDER BY id": "0 1 2",
	})
}

// A release adds a column and a table, is taken back, and comes again.
func TestAnOlderProgramGoesOnAfterAMigrationThatAdds(t *testing.T) {
	p := newProgram(t)
	sells := func(query string) func(bus *runtime.Bus) {
		return func(bus *runtime.Bus) {
			sold := make(chan int64, 10)
			_, err := runtime.Subscribe(bus, soldType, "books", func(_ context.Context, e runtime.Event[sale]) error {
				sold <- e.Payload.Goods
				return nil
			})
			p.must(err)
			p.must(bus.Start(t.Context()))
			_, err = runtime.DB(bus).Exec(query)
			p.must(err)
			p.must(runtime.Transact(t.Context(), bus, func(tx runtime.Tx) error {
				_, err := runtime.Publish(t.Context(), tx, soldType, sale{Goods: 7})
				return err
			}))
			if got := <-sold; got != 7 {
				t.Errorf("sold was %d", got)
			}
		}
	}
	for _, release := range []struct {
		content map[string]string
		query   string
	}{
		{first, "INSERT INTO goods (name) VALUES ('salt')"},
		{second, "INSERT INTO goods (name, price) VALUES ('ham', 9)"},
		{first, "INSERT INTO goods (name) VALUES ('jam')"},
		{second, "INSERT INTO shelf SELECT id FROM goods WHERE name = 'jam'"},
	} {
		p.must(p.release(release.content, sells(release.query)))
	}
	p.want(soundness)
	p.want(map[string]string{"SELECT group_concat(name || price) FROM goods": "tea5,salt5,ham9,jam5", "SELECT count(*) FROM shelf": "3"})
}

// The newer program can take its migration back itself, before the older one starts.
func TestAMigrationIsTakenBackByItsProgram(t *testing.T) {
	p := newProgram(t)
	p.must(p.release(second, func(bus *runtime.Bus) {
		tool, err := goose.NewProvider(goose.DialectSQLite3, runtime.DB(bus), filesOf(second), p.locker())
		p.must(err)
		_, err = tool.DownTo(t.Context(), 1)
		p.must(err)
	}))
	p.must(p.release(first, nil))
	p.want(soundness)
	p.want(map[string]string{"SELECT * FROM goods": "1", "SELECT count(*) FROM sqlite_schema WHERE name IN ('shelf', 'sold')": "0"})
}

func TestAMigrationThatFailsLeavesNothing(t *testing.T) {
	p := newProgram(t)
	wrong := with(first, "00002_shelf.sql", "-- +goose Up\nCREATE TABLE shelf (goods INTEGER);\nINSERT INTO goods (name) VALUES ('ham');\nINSERT INTO nowhere VALUES (1);\n")
	for range 2 {
		err := p.release(wrong, nil)
		var failed *goose.PartialError
		if !errors.As(err, &failed) || failed.Failed.Source.Version != 2 || !strings.Contains(err.Error(), "no such table: nowhere") {
			t.Errorf("a migration that fails gives %v", err)
		}
		p.want(soundness)
		p.want(map[string]string{"SELECT name FROM goods": "tea", "SELECT count(*) FROM sqlite_schema WHERE name = 'shelf'": "0"})
	}
	p.must(p.release(second, nil))
	p.want(map[string]string{"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1"})
}

// What the bus would not bear is refused, with the number of the migration.
func TestAMigrationThatChangesWhatIsTheBussIsRefused(t *testing.T) {
	for statement, problem := range map[string]string{
		"DELETE FROM busgen_log;":                           "busgen_log belongs to the bus",
		"CREATE TABLE busgen_shelf (x);":                    "the name busgen_shelf belongs to the bus",
		"CREATE TABLE shelf (event REFERENCES busgen_log);": "refers to busgen_log",
		"PRAGMA user_version = 7;":                          "PRAGMA user_version would change the file",
		"PRAGMA journal_mode = DELETE;":                     "PRAGMA journal_mode would change the file",
	} {
		p := newProgram(t)
		err := p.release(with(first, "00002_wrong.sql", "-- +goose Up\nINSERT INTO goods (name) VALUES ('ham');\n"+statement+"\n"), nil)
		var protected *event.ProtectedError
		if !errors.As(err, &protected) || !strings.Contains(err.Error(), problem) || !strings.Contains(err.Error(), "version:2") {
			t.Errorf("%s gives %v", statement, err)
		}
		p.want(map[string]string{"SELECT name FROM goods": "tea"})
	}
}

// A process is killed while a migration runs: nothing of it is stored, and its lock is gone.
func TestAProcessThatDiesInTheMiddleOfAMigrationLeavesNothing(t *testing.T) {
	p := newProgram(t)
	endless := with(first, "00002_shelf.sql", `-- +goose Up
CREATE TABLE shelf (goods INTEGER);
INSERT INTO goods (name) VALUES ('ham');
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT count(*) FROM n;
`)
	c := p.start(endless)
	p.must(c.goOn())
	p.waitForTheMiddle()
	p.must(c.Process.Kill())
	c.Wait()
	p.want(soundness)
	p.want(map[string]string{"SELECT name FROM goods": "tea", "SELECT count(*) FROM sqlite_schema WHERE name = 'shelf'": "0"})
	p.must(p.release(second, nil))
	p.want(soundness)
	p.want(map[string]string{"SELECT name || price FROM goods": "tea5", "SELECT count(*) FROM shelf": "1"})
}

// waitForTheMiddle waits until the first migration is stored, and the second one has begun to write.
func (p *program) waitForTheMiddle() {
	p.Helper()
	c, err := sqlite3.Open(p.path)
	p.must(err)
	defer c.Close()
	p.must(c.BusyTimeout(0))
	for {
		first := false
		if s, _, err := c.Prepare("SELECT 1 FROM goose_db_version WHERE version_id = 1"); err == nil {
			first = s.Step()
			p.must(s.Close())
		}
		err := c.Exec("BEGIN IMMEDIATE")
		if first && errors.Is(err, sqlite3.BUSY) {
			return
		}
		if err == nil {
			p.must(c.Exec("ROLLBACK"))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// SQLite's recipe for what ALTER TABLE cannot do makes another table in the place of the old one.
// With references on, dropping the old one would delete the rows that refer to it.
func TestAMigrationRebuildsATableThatOthersReferTo(t *testing.T) {
	p := newProgram(t)
	third := with(second, "00003_rebuild.sql", `-- +goose NO TRANSACTION
-- +goose Up
PRAGMA foreign_keys = OFF;
BEGIN IMMEDIATE;
CREATE TABLE goods_2 (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, price INTEGER NOT NULL);
INSERT INTO goods_2 SELECT id, name, price FROM goods;
DROP TABLE goods;
ALTER TABLE goods_2 RENAME TO goods;
COMMIT;
PRAGMA foreign_keys = ON;
`)
	p.must(p.release(second, nil))
	p.must(p.release(third, func(bus *runtime.Bus) {
		if _, err := runtime.DB(bus).Exec("INSERT INTO shelf VALUES (99)"); err == nil {
			t.Error("after the migration, references are not looked at")
		}
	}))
	p.want(soundness)
	p.want(map[string]string{"SELECT count(*) FROM shelf JOIN goods ON goods.id = shelf.goods": "1", "SELECT max(version_id) FROM goose_db_version": "3"})
	wrong := with(third, "00004_wrong.sql", "-- +goose NO TRANSACTION\n-- +goose Up\nPRAGMA foreign_keys = OFF;\nBEGIN IMMEDIATE;\nDROP TABLE goods;\nSELECT * FROM nowhere;\nCOMMIT;\n")
	if err := p.release(wrong, func(bus *runtime.Bus) {
		if _, err := runtime.DB(bus).Exec("INSERT INTO shelf VALUES (99)"); err == nil {
			t.Error("after a migration that failed, references are not looked at")
		}
	}); err == nil {
		t.Error("a migration that fails without a transaction of goose gives no error")
	}
	p.want(soundness)
	p.want(map[string]string{"SELECT name FROM goods": "tea"})
}

// A migration in Go has the transaction of goose, and publishes in it.
func TestAMigrationInGoPublishesEvents(t *testing.T) {
	p := newProgram(t)
	broken := errors.New("broken")
	run := func(result error) (err error) {
		p.must(p.release(first, func(bus *runtime.Bus) {
			err = migrate(t.Context(), bus, filesOf(first), p.locker(), goose.WithGoMigrations(goose.NewGoMigration(2, &goose.GoFunc{
				RunTx: func(ctx context.Context, tx *sql.Tx) error {
					_, err := runtime.Publish(ctx, runtime.In(bus, tx), soldType, sale{Goods: 1})
					return errors.Join(err, result)
				},
			}, nil)))
		}))
		return err
	}
	if err := run(broken); !errors.Is(err, broken) {
		t.Errorf("a migration that fails gives %v", err)
	}
	p.want(map[string]string{"SELECT count(*) FROM events": "0"})
	p.must(run(nil))
	p.want(map[string]string{"SELECT payload FROM events": `{"goods":1}`})
}

// The files of a kit are in memory, where no other process is.
func TestAKitHasTheTablesOfMigrations(t *testing.T) {
	runtimetest.Run(t, catalogue, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(func(bus *runtime.Bus) error { return migrate(t.Context(), bus, filesOf(second)) })
		kit.Crash()
		var n int
		if err := runtime.DB(kit.Bus).QueryRow("SELECT count(*) FROM shelf").Scan(&n); err != nil || n != 1 {
			t.Errorf("the shelf has %d, %v", n, err)
		}
	})
}
