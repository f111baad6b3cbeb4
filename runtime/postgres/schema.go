package postgres

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
)

//go:embed schema.sql
var schema string

// schemaVersion is that of schema.sql.
const schemaVersion = 1

// SQL returns the statements that make the schema of an outbox, for tools that migrate databases. [Migrate] runs the same.
// Of the options only [WithSchema] counts. It panics if that is not valid.
func SQL(opts ...Option) string {
	t := &tables{settings: settings{schema: "busgen"}}
	for _, opt := range opts {
		if err := opt(&t.settings); err != nil {
			panic(err)
		}
	}
	return t.script()
}

func (t *tables) script() string {
	return strings.Replace(t.in(schema), "IF NOT EXISTS busgen;", `IF NOT EXISTS "`+t.schema+`";`, 1)
}

// Migrate makes the schema of an outbox in a database, or brings it up to date, in one transaction. Processes that do so at
// the same time wait for each other. A schema that is newer than the program is left as it is, and is an error.
// Of the options only [WithSchema] counts. The user of the database must be allowed to make a schema, or to make tables in it.
func Migrate(ctx context.Context, db DB, opts ...Option) error {
	t, err := newTables(db, opts)
	if err != nil {
		return err
	}
	err = t.db.within(ctx, func(q querier) error {
		if err := q.exec(ctx, "SELECT pg_advisory_xact_lock(hashtext($1::text))", "busgen migrates "+t.schema); err != nil {
			return err
		}
		made, version := false, 0
		one := func(into any) func(scan func(into ...any) error) error {
			return func(scan func(into ...any) error) error { return scan(into) }
		}
		if err := q.query(ctx, one(&made), "SELECT to_regclass($1::text) IS NOT NULL", t.in("busgen.version")); err != nil {
			return err
		}
		if !made {
			return t.make(ctx, q)
		}
		if err := q.query(ctx, one(&version), t.in("SELECT version FROM busgen.version")); err != nil {
			return err
		}
		if version > schemaVersion {
			return fmt.Errorf("it has version %d, and this program knows %d: use a newer one", version, schemaVersion)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("postgres: migrate the schema %s: %w", t.schema, err)
	}
	return nil
}

// make runs the statements one by one, which every driver can.
func (t *tables) make(ctx context.Context, q querier) error {
	for _, statement := range strings.Split(t.script(), ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if err := q.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
