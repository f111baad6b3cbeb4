package systest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// How often a process is killed whose handlers write rows.
var txKills = short.Flag("tx.kills", 12, 2, "how often the test kills a process whose handlers write rows with their success")

const txOrders = 500

// patient makes no dead letters of events that are hit by many kills.
var patient = runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(1000))

func init() { children["tx handlers"] = txChild }

// writeRows makes three subscriptions note each order: within their transaction, after
// they are done, and outside, in the file's neighbour.
func writeRows(bus *runtime.Bus, path string) {
	ctx := context.Background()
	check(runtime.Transact(ctx, bus, func(tx runtime.Tx) error {
		_, err := tx.ExecContext(ctx, `
			CREATE TABLE IF NOT EXISTS within (number INTEGER);
			CREATE TABLE IF NOT EXISTS after (number INTEGER)`)
		return err
	}))
	_, err := runtime.SubscribeTx(bus, PlacedType, "within", func(ctx context.Context, tx runtime.Tx, e runtime.Event[OrderPlaced]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO within (number) VALUES (?)", e.Payload.Number)
		return err
	}, runtime.FromBeginning(), runtime.WithConcurrency(4), patient)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "after", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		if _, err := runtime.Publish(ctx, bus, PaidType, OrderPaid{OrderID: e.ID.String()}); err != nil {
			return err
		}
		return runtime.Atomically(ctx, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO after (number) VALUES (?)", e.Payload.Number)
			return err
		})
	}, runtime.FromBeginning(), patient)
	check(err)
	effects, err := os.OpenFile(path+".effects", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	_, err = runtime.SubscribeTx(bus, PlacedType, "outside", func(ctx context.Context, tx runtime.Tx, e runtime.Event[OrderPlaced]) error {
		_, err := fmt.Fprintf(effects, "%d %d\n", e.Payload.Number, e.Attempt)
		return err
	}, runtime.FromBeginning(), runtime.WithConcurrency(2), patient)
	check(err)
}

// txChild handles the orders until it is killed.
func txChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	writeRows(bus, path)
	check(bus.Start(context.Background()))
	say("ready")
	select {}
}

// Each order has one row of each handler, however often the process is killed.
func TestRowsOfHandlersAreThereOnceOverKills(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	published := 0
	for kill := range txKills.N() {
		bus, err := runtime.Open(t.Context(), path, Catalogue)
		Must(t, err)
		for share := txOrders * (kill + 1) / txKills.N(); published < share; published++ {
			_, err := runtime.Publish(t.Context(), bus, PlacedType, OrderPlaced{Number: published})
			Must(t, err)
		}
		Must(t, bus.Shutdown(t.Context()))
		child(t, "tx handlers", path, 300*time.Microsecond+rand.N(8*time.Millisecond))
	}
	f := SQLite.Reopen(t, path)
	writeRows(f.Bus, path)
	f.MustStart()
	f.Idle()
	f.Stop()
	if got := queryFile(t, path, "SELECT count(*) FROM dead_letters"); got != "0" {
		t.Errorf("there are %s dead letters", got)
	}
	for _, table := range []string{"within", "after"} {
		if got, want := queryFile(t, path, "SELECT count(*) || ' ' || count(DISTINCT number) FROM "+table), fmt.Sprintf("%d %d", txOrders, txOrders); got != want {
			t.Errorf("%s has %s rows, want %s", table, got, want)
		}
	}
	if got := queryFile(t, path, "SELECT count(*) || ' ' || count(DISTINCT payload) FROM events WHERE type = 'order.paid'"); got != fmt.Sprintf("%d %d", txOrders, txOrders) {
		t.Errorf("there are %s payments for %d orders", got, txOrders)
	}
	content, err := os.ReadFile(path + ".effects")
	Must(t, err)
	seen, extra := map[string]bool{}, 0
	for _, line := range strings.Split(strings.TrimSpace(string(content)), "\n") {
		number, attempt, _ := strings.Cut(line, " ")
		if seen[number] {
			extra++
			if attempt == "1" {
				t.Errorf("order %s had its effect again, in a first attempt", number)
			}
		}
		seen[number] = true
	}
	if len(seen) != txOrders {
		t.Errorf("%d orders had their effect, want %d", len(seen), txOrders)
	}
	t.Logf("%d kills; %d effects outside came twice", txKills.N(), extra)
}
