package sqlite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
	"github.com/busgen/busgen/runtime/internal/sqlite/tables"
)

// settling begins the only delivery of a log, and returns what handles it with a row.
func settling(t *testing.T, log *Log, run func()) func() error {
	c, d := begun(t, log)
	stored := func() { t.Error("it is told that it is stored") }
	return func() error {
		return log.Transact(context.Background(), engine.Transaction{
			Limit: time.Minute, Settle: &engine.Settling{Consumer: c, Delivery: d, Stored: stored},
			Run: func(tx engine.Tx) error {
				run()
				_, err := tx.ExecContext(context.Background(), "CREATE TABLE booked (seq INTEGER)")
				return err
			},
		})
	}
}

// begun returns a delivery of the one event, which has begun.
func begun(t *testing.T, log *Log) (engine.Consumer, *engine.Delivery) {
	t.Helper()
	c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ledger", Pattern: "a.b", FromBeginning: true})
	must(t, err)
	polled, _, err := c.Poll(nil, 10)
	must(t, err)
	if n, _, _ := c.Begin([]*engine.Delivery{polled[0]}, []int{0}, time.Now()); n == 0 {
		t.Fatal("the delivery cannot begin")
	}
	return c, polled[0]
}

// wantUnhandled checks that there is no row, and that the event is still to be handled.
func wantUnhandled(t *testing.T, log *Log) {
	t.Helper()
	must(t, log.read(func(c *database.Conn) error {
		tables, err := c.Int64("SELECT count(*) FROM sqlite_schema WHERE name = 'booked'")
		if err != nil {
			return err
		}
		open, err := c.Int64("SELECT count(*) FROM events WHERE status <> 'done'")
		if tables != 0 || open != 1 {
			t.Errorf("%d rows are stored, and %d events are open, want 0 and 1", tables, open)
		}
		return err
	}))
}

// The lock has not kept another process from taking over.
func TestNothingOfAHandlerIsStoredAfterAnotherProcessHasTakenOver(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		_, err := log.TakeOver(t.Context())
		must(t, err)
		handle := settling(t, log, func() {})
		other, err := database.Connect(log.path, disk.Name(), sqlite3.OPEN_READWRITE)
		must(t, err)
		must(t, other.Exec("UPDATE busgen_owner SET pid = pid + 1, since = since + 1"))
		must(t, other.Close())
		if err := handle(); !errors.Is(err, engine.ErrMoved) {
			t.Errorf("the error is %v, want ErrMoved", err)
		}
		wantUnhandled(t, log)
		appendOne(t, log) // which goes on
	})
}

// Another consumer takes the place of the handler's while its function runs.
func TestNothingOfAHandlerIsStoredWhoseConsumerIsReplaced(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		err := settling(t, log, func() {
			_, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "ledger", Pattern: "a.b", FromBeginning: true})
			must(t, err)
		})()
		if !errors.Is(err, engine.ErrMoved) {
			t.Errorf("the error is %v, want ErrMoved", err)
		}
		wantUnhandled(t, log)
	})
}

// The goroutine of a function may be busy elsewhere when its turn comes: others wait for no longer
// than for the function.
func TestWhoDoesNotTakeItsTurnHoldsUpNobodyForLongerThanItsLimit(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		w := log.writer
		late := make(chan struct{}, 1)
		r := w.newRequest()
		r.part = &part{turn: make(chan *run, 1), Transaction: engine.Transaction{
			Limit:   100 * time.Millisecond,
			Overran: func() { late <- struct{}{} },
			Run: func(engine.Tx) error {
				t.Error("the function runs")
				return nil
			},
		}}
		w.mu.Lock()
		w.queue = append(w.queue, r) // and nobody awaits it
		w.mu.Unlock()
		began := time.Now()
		appendOne(t, log)
		if took := time.Since(began); took != 100*time.Millisecond {
			t.Errorf("another one waits for %v, want the limit of 100 ms", took)
		}
		var limit *event.TxTimeoutError
		if err := <-r.result; !errors.As(err, &limit) && !errors.As(r.part.refused, &limit) {
			t.Errorf("the error is %v", err)
		}
		<-late
	})
}

// A shutdown that does not wait lets go of a delivery while a transaction stores its success. If that fails, the
// delivery is not one that a crash has left.
func TestADeliveryIsLetGoOfWhoseTransactionFailsAfterThat(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		c, d := begun(t, log)
		result := make(chan error, 1)
		release := disk.Hold()
		go func() {
			result <- log.Transact(context.Background(), engine.Transaction{
				Limit: time.Minute, Settle: &engine.Settling{Consumer: c, Delivery: d}, Run: executing("CREATE TABLE booked (seq INTEGER)"),
			})
		}()
		synctest.Wait() // it has settled the delivery, and syncs
		c.Settle(engine.Settled{Delivery: d, Disposition: engine.Disposition{Kind: engine.Release}}, nil)
		disk.Fail(simfs.Fault{Op: simfs.Sync, Nth: 1, Limit: 1, Err: sqlite3.IOERR_FSYNC})
		release()
		if err := <-result; err == nil {
			t.Fatal("the transaction is stored")
		}
		must(t, log.Flush(t.Context()))
		must(t, log.read(func(c *database.Conn) error {
			return c.Query("SELECT state, due_at FROM busgen_deliveries", func(s *sqlite3.Stmt) error {
				if state := s.ColumnText(0); state != tables.RowWaiting {
					t.Errorf("the delivery is %s, want waiting", state)
				}
				return nil
			})
		}))
		wantUnhandled(t, log)
	})
}
