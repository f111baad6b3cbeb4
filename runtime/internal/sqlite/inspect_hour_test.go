package sqlite

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// With many events the places where the minutes begin are looked for, and few events are read.
func TestAnHourWithManyEventsIsCountedByTheirPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bus.db")
	l, err := Open(path, Options{})
	must(t, err)
	must(t, l.Close())
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	hour := engine.CountHour(time.Now())
	for _, one := range []struct {
		minute int // of the hour; before it, if it is negative
		events int
	}{{-5, 3000}, {0, 1}, {7, 6000}, {8, 4000}, {30, 3}, {59, 2000}} {
		at := hour.Begin().Add(time.Duration(one.minute)*time.Minute + 30*time.Second)
		must(t, c.Exec(`INSERT OR IGNORE INTO busgen_types (id, name, written, version) VALUES (1, 'order.placed', 'order.placed', 1)`))
		must(t, c.Exec(`
			INSERT INTO busgen_log (id, type, payload, created_at)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
			SELECT randomblob(16), 1, '{}', ?1 FROM n`, at, one.events))
	}
	// What was pruned is not looked at.
	must(t, c.Exec("DELETE FROM busgen_log WHERE seq < 2000"))
	must(t, countPublished(c, hour))
	got := map[int]int{}
	for i, n := range hour.Published {
		if n != 0 {
			got[i] = n
		}
	}
	if want := map[int]int{0: 1, 7: 6000, 8: 4000, 30: 3, 59: 2000}; !maps.Equal(got, want) {
		t.Errorf("published is %v, want %v", got, want)
	}
}
