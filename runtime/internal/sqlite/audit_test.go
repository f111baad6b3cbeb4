package sqlite

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

func TestTheAuditSinceATimeHasAllEntriesSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	log, err := Open(path, Options{})
	must(t, err)
	var all []time.Time
	at := time.Now().Add(-time.Hour)
	must(t, log.writer.do(t.Context(), func(c *database.Conn) error {
		for range 200 {
			at = at.Add(time.Duration(rand.N(60)-10) * time.Minute) // now and then the clock is set back by minutes
			all = append(all, at)
			must(t, c.Exec("INSERT INTO busgen_audit (at, actor, action) VALUES (?, 'ada', 'retry')", at))
		}
		return c.Exec("DELETE FROM busgen_audit WHERE id % 7 = 3")
	}))
	must(t, log.Close())
	file := inspectFile(t, path)
	for n, since := range append(all, all[0].Add(-24*time.Hour), at.Add(24*time.Hour)) {
		want := 0
		for i, one := range all {
			if (i+1)%7 != 3 && !one.Truncate(time.Microsecond).Before(since.Truncate(time.Microsecond)) {
				want++
			}
		}
		entries, _, err := file.Audit(t.Context(), event.AuditFilter{Since: since}, event.Page{Limit: 1000})
		must(t, err)
		if len(entries) != want {
			t.Errorf("since time %d there are %d entries, want %d", n, len(entries), want)
		}
	}
}
