package tables

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"

	"slices"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

//go:embed schema.sql
var Schema string

const (
	// applicationID marks the file as ours: "busg" in ASCII.
	applicationID = 0x62757367
	// SchemaVersion is the user_version of schema.sql.
	SchemaVersion = 1
)

// Migrations are the statements that lead from each version to the next: the first from version 1, and the last to
// SchemaVersion, with the schema of schema.sql. Once released they are never edited.
var Migrations []string

// Migrate makes sure that the file is one of ours in the current version, and
// creates the schema in an empty one. A file it refuses is left untouched.
func Migrate(c *database.Conn) error {
	empty, err := Inspect(c)
	if err != nil {
		return err
	}
	if err := c.SetFull(true); err != nil {
		return err
	}
	made := false
	if empty {
		if made, err = create(c); err != nil {
			return err
		}
	}
	// Readers must not block the writer. The mode is then stored in the file; who has it already sets it in vain.
	if err := c.ExecScript("PRAGMA journal_mode=WAL"); err != nil {
		return err
	}
	// Read back, because everything we promise rests on it, and a write-ahead log has another default.
	if mode, err := c.Int64("PRAGMA synchronous"); err != nil || mode != 2 {
		return errors.Join(err, fmt.Errorf("the driver does not keep synchronous=FULL (it says %d)", mode))
	}
	// A WAL that one large transaction blew up is cut back to this size.
	if err := c.ExecScript("PRAGMA journal_size_limit=67108864"); err != nil || made {
		return err
	}
	if err := Upgrade(c, Migrations); err != nil {
		return err
	}
	return isSchema(c)
}

// create makes the tables in an empty file, before that has a write-ahead log: so they are written, and the disk is
// waited for, once. It reports false if another process was faster.
func create(c *database.Conn) (made bool, err error) {
	// Only an empty file can be told to keep track of its free pages, which is what lets Compact give them back without
	// rewriting the file. BEGIN IMMEDIATE would make it a file without that.
	err = c.ExecScript("BEGIN; PRAGMA auto_vacuum=INCREMENTAL")
	if err == nil {
		made, err = Inspect(c)
	}
	if made {
		err = c.ExecScript(Schema + fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", applicationID, SchemaVersion))
	}
	if !c.GetAutocommit() {
		err = errors.Join(err, c.Exec("ROLLBACK"))
	}
	return made, err
}

// Upgrade runs the migrations that the file has not seen yet, each in one
// transaction with the version that it leads to.
func Upgrade(c *database.Conn, migrations []string) error {
	version, err := c.Int64("PRAGMA user_version")
	if err != nil || int(version) > len(migrations) {
		return err
	}
	// No transaction can change these. A table that others refer to can only be replaced while nobody checks
	// references. And SQLite must not look at the views and triggers of the program when it changes a table: a view on
	// events would stop it, and so would one that is broken.
	err = c.ExecScript("PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON")
	for err == nil && int(version) <= len(migrations) {
		if err = step(c, migrations[version-1], version); err == nil {
			version, err = c.Int64("PRAGMA user_version") // another process may be at it, too
		}
	}
	return errors.Join(err, c.ExecScript("PRAGMA foreign_keys=ON; PRAGMA legacy_alter_table=OFF"))
}

// step runs the migration of a file of the version.
func step(c *database.Conn, migration string, version int64) error {
	err := c.Transaction(true, func() error {
		// Another process may have been faster.
		if now, err := c.Int64("PRAGMA user_version"); err != nil || now != version {
			return err
		}
		err := c.ExecScript(migration + fmt.Sprintf("; PRAGMA user_version=%d", version+1))
		if err != nil {
			return err
		}
		return c.Query("PRAGMA foreign_key_check", func(s *sqlite3.Stmt) error {
			if !IsOurs(s.ColumnText(0)) {
				return nil // a table of the program, which may not care
			}
			return fmt.Errorf("a row of %s refers to one of %s that is missing", s.ColumnText(0), s.ColumnText(2))
		})
	})
	if err != nil {
		return fmt.Errorf("schema version %d to %d: %w", version, version+1, err)
	}
	return nil
}

// Inspect tells an empty file from one of ours; anything else is an error.
func Inspect(c *database.Conn) (empty bool, err error) {
	tables, id, version, err := header(c)
	switch {
	case err != nil:
		return false, err
	case tables == 0 && id == 0 && version == 0:
		return true, nil
	case id != applicationID:
		return false, &event.StorageError{
			Fault: event.Foreign, Op: "open", Path: c.Path,
			Hint: "it is an SQLite database of another program, and was left as it is; choose a new file, and copy the tables into it if the bus is to share it",
		}
	case version < 1:
		return false, noVersion(c, version)
	case version > SchemaVersion:
		return false, &event.StorageError{
			Fault: event.TooNew, Op: "open", Path: c.Path,
			Hint: fmt.Sprintf("it has schema version %d and this program knows versions up to %d; update the program", version, SchemaVersion),
		}
	}
	return false, nil
}

// noVersion is the error for a file of ours whose header is damaged.
func noVersion(c *database.Conn, version int64) error {
	return fault.Wrap("open", c.Path, fmt.Errorf("its header says schema version %d, which there has never been (%w)", version, sqlite3.CORRUPT))
}

// header reads what tells whose file it is. These are plain pragmas, because a table of another program
// may have the name of the function that returns the same. They see one state: another process may be
// creating the schema.
func header(c *database.Conn) (tables, id, version int64, err error) {
	if c.GetAutocommit() {
		if err := c.Exec("BEGIN"); err != nil {
			return 0, 0, 0, err
		}
		defer func() { err = errors.Join(err, c.Exec("ROLLBACK")) }()
	}
	if tables, err = c.Int64("SELECT count(*) FROM sqlite_schema"); err == nil { // which begins to read
		if id, err = c.Int64("PRAGMA application_id"); err == nil {
			version, err = c.Int64("PRAGMA user_version")
		}
	}
	return tables, id, version, err
}

// Kinds are the tables, views, indexes and triggers of the schema, by their names.
var Kinds = func() map[string]string {
	all := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^CREATE (?:UNIQUE )?(TABLE|VIEW|INDEX|TRIGGER) (\w+)`).FindAllStringSubmatch(Schema, -1) {
		all[found[2]] = strings.ToLower(found[1])
	}
	return all
}()

// isSchema refuses a file in which something else has the name of a table of the schema: a view may compute for ever
// what a statement reads, and so may a table of a module or a column that is computed. It reads no table of the file.
func isSchema(c *database.Conn) error {
	wrong := ""
	var tables []string
	err := c.QueryOnce("SELECT type, name, rootpage FROM sqlite_schema", func(s *sqlite3.Stmt) error {
		kind, name := s.ColumnText(0), strings.ToLower(s.ColumnText(1))
		want, ours := Kinds[name]
		switch {
		case !ours:
		case kind != want:
			wrong = fmt.Sprintf("%s is a %s, and must be a %s", name, kind, want)
		case kind == "table" && s.ColumnInt64(2) == 0:
			wrong = name + " is a virtual table"
		case kind == "table":
			tables = append(tables, name)
		}
		return nil
	})
	for _, table := range tables {
		if err != nil || wrong != "" {
			break
		}
		err = c.QueryOnce("PRAGMA table_xinfo("+table+")", func(s *sqlite3.Stmt) error {
			if s.ColumnInt(6) != 0 {
				wrong = fmt.Sprintf("the column %s of %s is computed", s.ColumnText(1), table)
			}
			return nil
		})
	}
	if err != nil || wrong == "" {
		return err
	}
	return &event.StorageError{
		Fault: event.Foreign, Op: "open", Path: c.Path, Err: errors.New(wrong),
		Hint: "somebody has changed the schema, and the file is left as it is: restore it from a backup",
	}
}

// UpToDate refuses a file that a bus has yet to bring to the current schema. Those
// that only look into a file do not do that: the program that owns it may be older.
func UpToDate(c *database.Conn) error {
	version, err := c.Int64("PRAGMA user_version")
	switch {
	case err != nil || version == SchemaVersion:
		return err
	case version < 1:
		return noVersion(c, version)
	}
	return &event.StorageError{
		Fault: event.TooOld, Op: "open", Path: c.Path,
		Hint: fmt.Sprintf("it has schema version %d, and this program works with version %d: start the new version of the program "+
			"that uses it, which upgrades it, or look at it with the older busgen", version, SchemaVersion),
	}
}

// OpenWriter opens the connection that writes, creating the file and the
// schema when there is none, until ctx ends.
func OpenWriter(ctx context.Context, path, vfsName string) (*database.Conn, error) {
	path, vfsName, err := database.Locate(path, vfsName)
	if err != nil {
		return nil, err
	}
	if err := requireOwnLog(path, vfsName); err != nil {
		return nil, err
	}
	c, err := database.ConnectAt(path, vfsName, sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		return nil, err
	}
	c.Signature = signature
	defer c.SetInterrupt(c.SetInterrupt(ctx))
	// Of several processes that switch a new file to a write-ahead log, SQLite
	// refuses some at once, where waiting could be a deadlock.
	began := time.Now()
	for err = Migrate(c); errors.Is(err, sqlite3.BUSY) && ctx.Err() == nil && time.Since(began) < database.BusyTimeout; err = Migrate(c) {
		time.Sleep(time.Millisecond + rand.N(4*time.Millisecond))
	}
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		return nil, fault.Wrap("open", path, err)
	}
	return c, nil
}

// OpenReader opens a connection that cannot write.
func OpenReader(path, vfsName string) (*database.Conn, error) {
	c, err := database.Connect(path, vfsName, sqlite3.OPEN_READWRITE)
	if err != nil {
		return nil, err
	}
	if err := c.ExecScript("PRAGMA query_only=1"); err != nil {
		c.Close()
		return nil, fault.Wrap("open", path, err)
	}
	return c, nil
}

// publicViews are what the bus has in the file for others to use. Everything else of it has a
// name that begins with busgen_.
var publicViews = []string{"events", "dead_letters", "event_subscriptions", "outbox"}

// IsOurs tells whether a name in the database belongs to the bus.
func IsOurs(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "busgen_") || slices.Contains(publicViews, name)
}
