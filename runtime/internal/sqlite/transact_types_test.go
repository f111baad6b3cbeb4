package sqlite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/simfs"
	"github.com/busgen/busgen/runtime/internal/sqlite/database"
)

// newborn is an event of a type that the file does not know.
func newborn() []engine.Record {
	return []engine.Record{{ID: uuid.Must(uuid.NewV7()), Type: "new.born", Payload: []byte("{}"), CreatedAt: time.Now()}}
}

func wantNewborn(t *testing.T, log *Log) {
	t.Helper()
	must(t, log.read(func(c *database.Conn) error {
		n, err := c.Int64("SELECT count(*) FROM busgen_log l JOIN busgen_types t ON t.id = l.type WHERE t.name = 'new.born'")
		if n != 1 {
			t.Errorf("there are %d events of the new type, want 1", n)
		}
		return err
	}))
}

// The transaction that declares a type with its first event may be rolled back by a function
// beside it, and run again.
func TestATypeIsDeclaredAgainWhenItsTransactionBeginsAnew(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		run := func(f func(tx engine.Tx) error) error {
			return log.Transact(context.Background(), engine.Transaction{Limit: time.Minute, Run: f})
		}
		var appended, spoilt error
		must(t, run(func(tx engine.Tx) error {
			go func() { appended = log.Append(context.Background(), newborn()) }()
			synctest.Wait()
			go func() {
				spoilt = run(func(tx engine.Tx) error {
					_, err := tx.ExecContext(context.Background(), "CREATE TABLE one (id INTEGER PRIMARY KEY); INSERT INTO one VALUES (1); INSERT OR ROLLBACK INTO one VALUES (1)")
					return err
				})
			}()
			synctest.Wait()
			return nil
		}))
		synctest.Wait()
		if spoilt == nil {
			t.Error("nothing was rolled back")
		}
		must(t, appended)
		wantNewborn(t, log)
	})
}

// The same with what a handler publishes, when the disk fails.
func TestATypeIsDeclaredAgainAfterATransactionThatCouldNotBeStored(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, disk *simfs.FS) {
		c, err := log.Consumer(t.Context(), engine.ConsumerSpec{Name: "billing", Pattern: "a.b", FromBeginning: true})
		must(t, err)
		polled, _, err := c.Poll(nil, 1)
		must(t, err)
		if n, _, _ := c.Begin([]*engine.Delivery{polled[0]}, []int{0}, time.Now()); n == 0 {
			t.Fatal("the delivery cannot begin")
		}
		disk.Fail(simfs.Fault{Op: simfs.Write, Nth: 1, Limit: 1, Err: sqlite3.FULL})
		c.Settle(engine.Settled{Delivery: polled[0], Disposition: engine.Disposition{Kind: engine.Done, Staged: newborn()}}, nil)
		time.Sleep(time.Second)
		must(t, log.Flush(t.Context()))
		wantNewborn(t, log)
	})
}

// A type that is declared by a transaction is known when that is stored, and not before: its number may
// become that of another one.
func TestATypeThatTheOutboxHasSeenInATransactionIsForgottenWithIt(t *testing.T) {
	grouped(t, func(t *testing.T, log *Log, _ *simfs.FS) {
		no := errors.New("no")
		runs := 0
		errs := transactTogether(t, log,
			func(tx engine.Tx) error {
				if runs++; runs > 1 {
					return no
				}
				if err := tx.Append(newborn()); err != nil {
					return err
				}
				return executing("INSERT INTO outbox (type, payload) VALUES ('new.born', '{}')")(tx)
			},
			executing("CREATE TABLE one (id INTEGER PRIMARY KEY); INSERT INTO one VALUES (1); INSERT OR ROLLBACK INTO one VALUES (1)"),
		)
		if errs[0] != no || errs[1] == nil || runs != 2 {
			t.Fatalf("after %d calls the errors are %v", runs, errs)
		}
		other := newborn()
		other[0].Type = "other.born"
		must(t, log.Append(t.Context(), other)) // its type has the number now
		must(t, log.Append(t.Context(), newborn()))
		wantNewborn(t, log)
	})
}
