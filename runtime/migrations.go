package runtime

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// WithMigrations makes Open run the program's own changes of its tables, which are in the file
// of the bus: the files *.sql in the root of files, often an [embed.FS] after [fs.Sub]. Their names
// begin with a number and an underscore, 0001_accounts.sql, and they run in the order
// of the numbers.
//
// Each runs once per file, in a transaction of its own, when a program with it opens the
// file for the first time. Several processes may do so at once: one runs it, the others wait for
// up to 5 s. What has run is recorded in the table busgen_migrations, with a checksum. A
// file may hold several statements. It must not begin or end transactions, and must not
// change what belongs to the bus, as in a [Tx]; but there is no limit of time, and all who write
// wait.
//
// SQLite looks at references between tables when a migration has run, and not before. So it can
// replace a table that others refer to: make another, copy the rows, drop the old one,
// rename. ON DELETE CASCADE and the like do nothing meanwhile. A migration that leaves a row without
// the one that it refers to has failed; so it has if that was missing before.
//
// Open returns a *[MigrationError] if a migration fails; then nothing of it is stored, and those
// before it have run. So it does if a migration that has run is missing now or has another
// content, and if a new one has a lower number than one that has run. It returns
// [errors.ErrUnsupported] with an engine that has no tables ([WithEngine]).
func WithMigrations(files fs.FS) Option {
	return func(c *config) error {
		if files == nil {
			return errors.New("WithMigrations: the files are nil")
		}
		migrations, err := readMigrations(files)
		if err != nil {
			return fmt.Errorf("WithMigrations: %w", err)
		}
		c.migrations = migrations
		return nil
	}
}

// MigrationError says which migration of the program cannot run on which file, and why.
//
//	type MigrationError struct {
//		Path    string // of the file of the bus
//		Name    string // of the migration: 0001_accounts.sql
//		Problem string // in words, and what to do
//		Err     error  // of SQLite, or nil
//	}
type MigrationError = engine.MigrationError

var migrationName = regexp.MustCompile(`^(\d{1,9})_.*\.sql$`)

func readMigrations(files fs.FS) (migrations []engine.Migration, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, errors.New("there is no file *.sql in the root: use fs.Sub for those in a folder")
	}
	numbers := map[string]int{}
	byNumber := map[int]string{}
	for _, name := range names {
		match := migrationName.FindStringSubmatch(name)
		if match == nil {
			return nil, fmt.Errorf("the name %s does not begin with a number and an underscore, such as 0001_accounts.sql", name)
		}
		n, _ := strconv.Atoi(match[1])
		if other, used := byNumber[n]; used {
			return nil, fmt.Errorf("%s and %s have the same number", other, name)
		}
		numbers[name], byNumber[n] = n, name
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		migrations = append(migrations, engine.Migration{Name: name, SQL: string(text), Checksum: hex.EncodeToString(sum[:])})
	}
	return migrations, nil
}

// migrate runs the migrations of the program.
func migrate(ctx context.Context, log engine.Log, migrations []engine.Migration) error {
	if len(migrations) == 0 {
		return nil
	}
	migrator, ok := log.(engine.Migrator)
	if !ok {
		return fmt.Errorf("WithMigrations: %w: the engine of this bus has no tables", errors.ErrUnsupported)
	}
	return migrator.Migrate(ctx, migrations)
}
