package apptables

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTheDumpHasEverythingThatMayChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	Make(t, path)
	before := Dump(t, path)
	for _, part := range []string{"CREATE VIEW broken", "3 rows of account", "rows of sqlite_sequence", "entry|<nil> <nil>|account|", `odd "name"`} {
		if !strings.Contains(before, part) {
			t.Errorf("the dump lacks %q:\n%s", part, before)
		}
	}
	for _, change := range []string{
		"UPDATE my_busgen_log SET payload = '{}' WHERE seq = 2", "DELETE FROM eventsx", "DROP TRIGGER wrong", "DROP INDEX \"entry of\"",
		"UPDATE sqlite_sequence SET seq = 1000 WHERE name = 'account'", "DROP VIEW broken",
	} {
		db := open(t, path)
		if _, err := db.ExecContext(t.Context(), change); err != nil {
			t.Errorf("%s: %v", change, err)
		}
		db.Close()
		after := Dump(t, path)
		if after == before {
			t.Errorf("the dump does not show %s", change)
		}
		before = after
	}
}
