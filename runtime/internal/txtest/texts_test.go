package txtest

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
)

// SQLite reads a text up to its first NUL. What is behind it must not be left out without a word.
func TestATextWithANULIsRefused(t *testing.T) {
	f := open(t, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type execer interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	}
	all := func(where string, with execer) {
		for _, text := range []string{
			"CREATE TABLE a (x);\x00CREATE TABLE b (x)", "CREATE TABLE a (x)\x00", "\x00CREATE TABLE a (x)",
			"CREATE TABLE a (x); CREATE TABLE b (x);\x00", "SELECT '\x00'",
		} {
			_, execErr := with.ExecContext(ctx, text)
			_, queryErr := with.QueryContext(ctx, text)
			_, prepareErr := with.PrepareContext(ctx, text)
			for what, err := range map[string]error{"ExecContext": execErr, "QueryContext": queryErr, "PrepareContext": prepareErr} {
				if err == nil || !strings.Contains(err.Error(), "NUL") {
					t.Errorf("%s: %s of %q gives %v", where, what, text, err)
				}
			}
		}
	}
	all("the database", runtime.DB(f.Bus))
	f.must(runtime.Transact(ctx, f.Bus, func(tx runtime.Tx) error { all("a transaction", tx); return nil }))
	f.wantNumber(0, "SELECT count(*) FROM sqlite_schema WHERE name IN ('a', 'b')")
}
