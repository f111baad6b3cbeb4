package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

func TestEveryVersionHasItsMigration(t *testing.T) {
	if len(tables.Migrations) != tables.SchemaVersion-1 {
		t.Errorf("there are %d migrations from version 1 on, and schema.sql has version %d", len(tables.Migrations), tables.SchemaVersion)
	}
}

// Migrations that might come.
var synthetic = []string{
	"ALTER TABLE busgen_log ADD COLUMN copy TEXT; UPDATE busgen_log SET copy = payload",
	"CREATE TABLE copies (seq INTEGER PRIMARY KEY, copy TEXT); INSERT INTO copies SELECT seq, copy FROM busgen_log",
}

func TestMigrationsRunOnceAndInTheirOrder(t *testing.T) {
	migrationTest(t, func(m *machine) {
		for range 2 {
			c, err := database.Connect(m.path, m.fs.Name(), sqlite3.OPEN_READWRITE)
			m.must(err)
			m.must(tables.Upgrade(c, synthetic))
			m.must(c.Close())
			m.schemaHolds(m.fs, 3)
		}
	})
}

func TestAMigrationThatFailsLeavesNothingBehind(t *testing.T) {
	migrationTest(t, func(m *machine) {
		c, err := database.Connect(m.path, m.fs.Name(), sqlite3.OPEN_READWRITE)
		m.must(err)
		broken := []string{synthetic[0], synthetic[1] + "; INSERT INTO copies SELECT seq, copy FROM busgen_log"} // a second time
		if err := tables.Upgrade(c, broken); !errors.Is(err, sqlite3.CONSTRAINT) {
			m.fail("the broken migration returned %v", err)
		}
		m.schemaHolds(m.fs, 2)
		m.must(tables.Upgrade(c, synthetic)) // of a program that was corrected
		m.must(c.Close())
		m.schemaHolds(m.fs, 3)
	})
}

func TestAPowerCutInAMigrationLeavesAVersionAsItIs(t *testing.T) {
	found := map[string]bool{}
	for cut, over := 1, false; !over; cut++ {
		migrationTest(t, func(m *machine) {
			c, err := database.Connect(m.path, m.fs.Name(), sqlite3.OPEN_READWRITE)
			m.must(err)
			m.fs.CutAfter(cut)
			err = tables.Upgrade(c, synthetic)
			if over = !m.fs.Dead(); over != (err == nil) {
				m.fail("with the power cut at change %d the migration returned %v", cut, err)
			}
			for seed := range uint64(5) {
				disk := simfs.New(filepath.Dir(m.path), m.fs.Crash(seed))
				found[m.schemaHolds(disk, 1, 2, 3)] = true
				after, err := database.Connect(m.path, disk.Name(), sqlite3.OPEN_READWRITE)
				m.must(err)
				m.must(tables.Upgrade(after, synthetic))
				m.must(after.Close())
				m.schemaHolds(disk, 3)
				disk.Unregister()
			}
			m.fs.Heal()
			c.Close()
		})
	}
	if !found["1"] || !found["2"] || !found["3"] {
		t.Errorf("the power cuts left versions %v, want all of them", found)
	}
}

// A commit that fails must not leave a file that is neither empty nor ours.
func TestAFileWhoseMakingHasFailedIsMadeTheNextTime(t *testing.T) {
	short.Skip(t, "each write of a new file fails once")
	for _, op := range []simfs.Op{simfs.Write, simfs.Sync, simfs.Truncate, simfs.Read} {
		for nth, over := 1, false; !over; nth++ {
			synctest.Test(t, func(t *testing.T) {
				s := newSim(t, uint64(nth))
				s.boot(nil)
				s.fs.Fail(simfs.Fault{Op: op, Nth: nth, Err: sqlite3.IOERR, Extent: simfs.All})
				first, err := Open(s.path, Options{VFS: s.fs.Name()})
				if err == nil {
					s.must(first.Close())
				}
				over = s.fs.Failures() == 0
				s.fs.Heal()
				if s.log, err = Open(s.path, Options{VFS: s.fs.Name()}); err != nil {
					s.fail("after operation %d (%v) had failed once: %v", nth, op, err)
				}
			})
		}
	}
}

// migrationTest runs f with a file of version 1 that has many pages of events.
func migrationTest(t *testing.T, f func(m *machine)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := &machine{sim: newSim(t, 1), model: newModel(), counter: &counter{}}
		m.failed = func(doing string, err error) { m.fail("%s: %v", doing, err) }
		if oldFile == nil {
			m.boot(m.base())
			if !m.start() {
				m.fail("the log does not open")
			}
			m.publish(40, 1000)
			m.must(m.log.Close())
			m.log = nil
			c, err := database.Connect(m.path, m.fs.Name(), sqlite3.OPEN_READWRITE)
			m.must(err)
			m.must(c.Exec("PRAGMA user_version=1")) // the migrations here are made up
			m.must(c.Close())
			oldFile = m.fs.Kill()[m.path]
		}
		m.boot(simfs.Image{m.path: oldFile})
		f(m)
	})
}

var oldFile []byte

// schemaHolds checks that the file has one of the versions, and all of it.
func (m *machine) schemaHolds(fs *simfs.FS, versions ...int) (version string) {
	m.Helper()
	c := m.raw(fs)
	defer c.Close()
	version = m.rows(c, "PRAGMA user_version")[0][0]
	column := m.rows(c, "SELECT count(*) FROM pragma_table_info('busgen_log') WHERE name = 'copy'")[0][0] == "1"
	table := m.rows(c, "SELECT count(*) FROM sqlite_schema WHERE name = 'copies'")[0][0] == "1"
	fits := false
	for _, v := range versions {
		if version != fmt.Sprint(v) {
			continue
		}
		fits = column == (v >= 2) && table == (v >= 3)
		if fits && column && m.rows(c, "SELECT count(*) FROM busgen_log WHERE copy = payload")[0][0] != "40" ||
			fits && table && m.rows(c, "SELECT count(*) FROM copies")[0][0] != "40" {
			m.fail("version %d is not complete", v)
		}
	}
	if !fits {
		m.fail("the file has version %s (want one of %v), its column: %v, its table: %v", version, versions, column, table)
	}
	if check := m.rows(c, "PRAGMA integrity_check")[0][0]; check != "ok" {
		m.fail("the file is damaged: %s", check)
	}
	return version
}

// typesNamed lists types in their first version.
func typesNamed(names ...string) (specs []engine.TypeSpec) {
	for _, name := range names {
		specs = append(specs, engine.TypeSpec{Name: name})
	}
	return specs
}

// Another process creates the file between any two statements of one that opens
// it.
func TestAFileThatAnotherProcessCreatesMeanwhileIsAccepted(t *testing.T) {
	for at := 1; ; at++ {
		path := filepath.Join(t.TempDir(), "events.db")
		c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
		must(t, err)
		statements := 0
		must(t, c.Trace(sqlite3.TRACE_STMT, func(sqlite3.TraceEvent, any, any) error {
			if !c.GetAutocommit() {
				return nil // it has the file for itself
			}
			if statements++; statements == at {
				other, err := tables.OpenWriter(t.Context(), path, "")
				must(t, err)
				must(t, other.Close())
			}
			return nil
		}))
		if err := tables.Migrate(c); err != nil && !errors.Is(err, sqlite3.BUSY) { // which is tried again
			t.Errorf("created before statement %d: %v", at, err)
		}
		must(t, c.Close())
		if statements < at {
			return
		}
	}
}
