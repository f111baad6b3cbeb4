package sqlite

import (
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// A delivery that is cancelled while it waits for its retry is due at once, and keeps its wait. A due time below 0 would
// make it an express one, which only polls for these find.
func TestWhatIsDueAtOnceStaysSoWhenTheClockIsSetBack(t *testing.T) {
	path := newFile(t)
	changed(t, path, `
		INSERT INTO busgen_types (id, name, written, version) VALUES (1, 'a', 'a', 1);
		INSERT INTO busgen_log (seq, id, type, payload, created_at) VALUES (1, x'01', 1, '{}', 1), (2, x'02', 1, '{}', 1), (3, x'03', 1, '{}', 1);
		INSERT INTO busgen_subscriptions (id, name, pattern, start, cursor, created_at) VALUES (1, 's', 'a', 0, 2, 1);
		INSERT INTO busgen_deliveries (subscription, seq, state, failures, due_at, wait) VALUES
		  (1, 1, 'waiting', 1, 0, 60000000), (1, 2, 'waiting', 1, 7200000000, 60000000), (1, 3, 'waiting', 0, -2, NULL)`)
	c, err := database.Connect(path, "", sqlite3.OPEN_READWRITE)
	must(t, err)
	defer c.Close()
	must(t, shiftWaits(c, time.Hour))
	for seq, want := range map[int]int64{1: 0, 2: 3600000000, 3: -2} {
		if due, err := c.Int64("SELECT due_at FROM busgen_deliveries WHERE seq = ?", seq); err != nil || due != want {
			t.Errorf("delivery %d is due at %d, %v; want %d", seq, due, err, want)
		}
	}
}
