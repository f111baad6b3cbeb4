package sqlite

import (
	"bytes"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// The disk may be full for a night.
func TestWhatCannotBeWrittenForLongIsTriedLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, err := Open(filepath.Join(t.TempDir(), "events.db"), Options{Logger: slog.New(slog.DiscardHandler)})
		must(t, err)
		defer log.Close()
		c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ship", Pattern: "a.b", FromBeginning: true})
		must(t, err)
		appendOne(t, log)
		appendOne(t, log)
		polled, _, err := c.Poll(nil, 2)
		must(t, err)
		do := func(f func(c *database.Conn) error) { must(t, log.writer.do(t.Context(), f)) }
		var tries atomic.Int64 // by the writer
		do(func(c *database.Conn) error {
			must(t, c.CreateFunction("try", 0, 0, func(ctx sqlite3.Context, _ ...sqlite3.Value) {
				tries.Add(1)
				ctx.ResultError(errors.New("no"))
			}))
			return c.Exec("CREATE TEMP TRIGGER refuse BEFORE INSERT ON busgen_deliveries BEGIN SELECT try(); END")
		})
		within := func(d time.Duration) int64 {
			before := tries.Load()
			time.Sleep(d)
			synctest.Wait()
			return tries.Load() - before
		}
		for _, d := range polled { // the second time is like the first
			c.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Retry, Due: time.Now().Add(time.Hour)}}, nil)
			if first, later := within(time.Minute), within(time.Minute); first < 200 || later > 70 || later < 50 {
				t.Errorf("it is tried %d times within a minute, and then %d times within another one", first, later)
			}
			do(func(c *database.Conn) error { return c.Exec("DROP TRIGGER refuse") })
			if n := within(time.Minute); n != 0 {
				t.Errorf("it is tried %d times again where nothing refuses it", n)
			}
			do(func(c *database.Conn) error {
				return c.Exec("CREATE TEMP TRIGGER refuse BEFORE INSERT ON busgen_deliveries BEGIN SELECT try(); END")
			})
		}
	})
}

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
			polled, _, err := c.Poll(nil, 100)
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
		ship.Settle(engine.Settled{Delivery: parcels[0], Disposition: engine.Disposition{Kind: engine.Retry, Due: time.Now().Add(time.Hour)}}, nil)
		for _, d := range bills {
			time.Sleep(100 * time.Millisecond)
			bill.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Done}}, nil)
		}
		said(1, 0)
		exec("DROP TRIGGER refuse")
		time.Sleep(time.Second)
		said(1, 1)
	})
}
