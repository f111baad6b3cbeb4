package engine

import (
	"context"
	"fmt"
)

// Migrator is a log that runs the program's own changes of its tables. An engine that has no
// tables does not implement it.
type Migrator interface {
	// Migrate runs those of the migrations, in their order, that the log has not had yet, each in
	// a transaction of its own. The error is a *[MigrationError] if one of them cannot run, or does
	// not fit to what the log has had.
	Migrate(ctx context.Context, migrations []Migration) error
}

// Migration is one change of the program's tables.
type Migration struct {
	Name     string // 0001_accounts.sql; in the order of their numbers
	SQL      string
	Checksum string // of SQL
}

// MigrationError says which migration of the program cannot run, and why. Those before it have
// run, and of it nothing is stored.
type MigrationError struct {
	Path    string // of the file of the bus
	Name    string // of the migration: 0001_accounts.sql
	Problem string // in words, and what to do
	Err     error  // of SQLite, or nil
}

// Error names the file and the migration.
func (e *MigrationError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: migration %s: %s: %v", e.Path, e.Name, e.Problem, e.Err)
	}
	return fmt.Sprintf("%s: migration %s: %s", e.Path, e.Name, e.Problem)
}

// Unwrap returns the error of SQLite, or nil.
func (e *MigrationError) Unwrap() error { return e.Err }
