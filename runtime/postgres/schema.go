package postgres

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
)

//go:embed schema.sql
var schema string

// schemaVersion is that of schema.sql.
const schemaVersion = 1

// SQL returns the statements that make the schema of an outbox, for tools that migrate databases. [Migrate] runs the
// same. Of the options only [WithSchema] counts. It panics if that is not valid.
func SQL(opts ...Option) string {
	s := settings{schema: "busgen"}
	for _, opt := range opts {
		if err := opt(&s); err != nil {
			panic(err)
		}
	}
	return s.script()
}

func (s *settings) script() string {
	return strings.Replace(s.in(schema), "IF NOT EXISTS busgen;", `IF NOT EXISTS "`+s.schema+`";`, 1)
}

// Migrate makes the schema of an outbox in a database, or brings it up to date, in one transaction. Processes that do
// so at the same time wait for each other. A schema that is newer than the program is left as it is, and is an error.
// Of the options only [WithSchema] counts. The user of the database must be allowed to make a schema, or to make tables
// in it.
func Migrate(ctx context.Context, db DB, opts ...Option) error {
	t, err := newTables(db, opts)
	if err != nil {
		return err
	}
	err = t.db.exec(ctx, t.in(`DO $migrate$ BEGIN
		PERFORM pg_advisory_xact_lock(hashtext('busgen migrates `+t.schema+`'));
		IF to_regclass('busgen.version') IS NULL THEN `+t.script()+` END IF;
	END $migrate$`))
	if err == nil {
		err = t.check(ctx)
	}
	if err != nil {
		return fmt.Errorf("postgres: migrate the schema %s: %w", t.schema, err)
	}
	return nil
}

// check looks whether the schema is there, and is known.
func (t *tables) check(ctx context.Context) error {
	version := 0
	err := t.db.one(ctx, &version, t.in("SELECT version FROM busgen.version"))
	if err == nil && version > schemaVersion {
		err = errNewer
	}
	return err
}

var errNewer = errors.New("the schema of the outbox is newer than this program")
