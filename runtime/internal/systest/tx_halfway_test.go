package systest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() {
	children["tx killed halfway"] = func(path string) { halfwayChild(path, false) }
	children["tx handler killed halfway"] = func(path string) { halfwayChild(path, true) }
}

// halfwayChild dies within a transaction, when the savepoint of one function has been released and the next
// function runs. The first function is that of a handler, or of Tx.
func halfwayChild(path string, handles bool) {
	bus, err := runtime.Open(context.Background(), path, Catalogue, runtime.WithTxLimit(time.Minute))
	check(err)
	ctx := context.Background()
	check(runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS halfway (number INTEGER)")
		return err
	}))
	released := make(chan struct{}, 1)
	write := func(ctx context.Context, tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO halfway VALUES (1)")
		if err == nil {
			_, err = runtime.Publish(ctx, tx, PaidType, OrderPaid{OrderID: "A"})
		}
		released <- struct{}{}
		return err
	}
	begun, proceed := make(chan struct{}), make(chan struct{})
	if handles {
		_, err := runtime.Subscribe(bus, PlacedType, "halfway", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			close(begun)
			<-proceed
			return runtime.Atomically(ctx, func(tx runtime.Tx) error { return write(ctx, tx) })
		})
		check(err)
		check(bus.Start(ctx))
		_, err = runtime.Publish(ctx, bus, PlacedType, OrderPlaced{Number: 1})
		check(err)
		<-begun
	}
	check(runtime.Transact(ctx, bus, func(runtime.Tx) error { // while it runs, the others queue
		if handles {
			close(proceed)
		} else {
			go runtime.Transact(ctx, bus, func(tx runtime.Tx) error { return write(ctx, tx) })
		}
		time.Sleep(50 * time.Millisecond)
		go runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
			select {
			case <-released:
				say("halfway")
			default:
				say("late") // the machine is busy
			}
			process, _ := os.FindProcess(os.Getpid())
			process.Kill()
			select {}
		})
		time.Sleep(20 * time.Millisecond)
		return nil
	}))
	select {}
}

// Nothing of a function is there before the commit, and a handler runs again.
func TestAProcessThatIsKilledBetweenTwoFunctionsOfATransactionStoresNeither(t *testing.T) {
	for mode, handles := range map[string]bool{"tx killed halfway": false, "tx handler killed halfway": true} {
		t.Run(mode, func(t *testing.T) {
			path, said := "", ""
			for tries := 0; said != "[halfway]"; tries++ {
				if tries == 10 {
					t.Fatalf("the child says %s", said)
				}
				path = filepath.Join(t.TempDir(), "events.db")
				said = fmt.Sprint(child(t, mode, path, 0))
			}
			for table, want := range map[string]string{"halfway": "0", "events WHERE type = 'order.paid'": "0", "events WHERE status = 'done'": "0"} {
				if got := queryFile(t, path, "SELECT count(*) FROM "+table); got != want {
					t.Errorf("%s: there are %s, want %s", table, got, want)
				}
			}
			if !handles {
				return
			}
			f := SQLite.Reopen(t, path)
			attempts := 0
			_, err := runtime.SubscribeTx(f.Bus, PlacedType, "halfway", func(ctx context.Context, tx runtime.Tx, _ runtime.Event[OrderPlaced]) error {
				attempts++
				_, err := tx.ExecContext(ctx, "INSERT INTO halfway VALUES (1)")
				return err
			})
			Must(t, err)
			f.MustStart()
			f.Idle()
			f.Stop()
			if got := queryFile(t, path, "SELECT count(*) FROM halfway"); got != "1" || attempts != 1 {
				t.Errorf("after %d calls there are %s rows, want one", attempts, got)
			}
		})
	}
}
