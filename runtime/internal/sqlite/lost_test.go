package sqlite

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// A damaged file may refuse what one of them has to say, for as long as the process runs, and take what the other says.
func TestTheLogSaysOnceThatASubscriptionCannotBeWrittenWhileAnotherOneCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		must(t, err)
		defer log.Close()
		consumer := func(name string) (engine.Consumer, []*engine.Delivery) {
			c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: name, Pattern: "a.b", FromBeginning: true})
			must(t, err)
			polled, err := c.Poll(nil, 100)
			must(t, err)
			return c, polled
		}
		for range 20 {
			appendOne(t, log)
		}
		bill, bills := consumer("bill")
		ship, parcels := consumer("ship")
		exec := func(statement string) {
			must(t, log.writer.do(t.Context(), func(c *database.Conn) error { return c.Exec(statement) }))
		}
		said := func(errors, infos int) {
			t.Helper()
			synctest.Wait()
			if n, m := strings.Count(logged.String(), "cannot be written"), strings.Count(logged.String(), "can be written again"); n != errors || m != infos {
				t.Fatalf("the log says %d times that they cannot be written, want %d, and %d times that they can again, want %d", n, errors, m, infos)
			}
		}
		exec("CREATE TRIGGER refuse BEFORE INSERT ON busgen_deliveries BEGIN SELECT RAISE(ABORT, 'no'); END")
		ship.Settle(parcels[0], engine.Disposition{Kind: engine.Retry, Due: time.Now().Add(time.Hour)})
		for _, d := range bills {
			time.Sleep(100 * time.Millisecond)
			bill.Settle(d, engine.Disposition{Kind: engine.Done})
		}
		said(1, 0)
		exec("DROP TRIGGER refuse")
		time.Sleep(time.Second)
		said(1, 1)
	})
}
