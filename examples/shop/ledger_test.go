package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// numberIn asks the file of a kit for a number.
func numberIn(t *testing.T, kit *runtimetest.Kit, query string) (n int64) {
	t.Helper()
	err := runtime.Transact(t.Context(), kit.Bus, func(tx runtime.Tx) error { return tx.QueryRowContext(t.Context(), query).Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTheLedgerHasEachPaymentAndEachRefundOnceOverPowerCuts(t *testing.T) {
	for seed := range uint64(10) {
		inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
			kit.Start()
			for number := range int64(10) {
				kit.Publish(order(number)) // the last has two coupons
			}
			kit.PowerCut(seed)
			kit.Drain()
			lines, cents := numberIn(t, kit, "SELECT count(*) FROM ledger"), numberIn(t, kit, "SELECT sum(cents) FROM ledger")
			if want := 10*order(1).Total.Amount - 150; lines != 12 || cents != want {
				t.Errorf("seed %d: the ledger has %d lines and the sum %d, want 12 and %d", seed, lines, cents, want)
			}
		})
	}
}

// An order has a row and an event, or neither: here its number is taken, or its event is refused.
func TestAnOrderThatCannotBeStoredIsNotAnnounced(t *testing.T) {
	eventstest.Run(t, func(t *testing.T, kit *runtimetest.Kit) {
		kit.Setup(makeTables)
		s := &shop{bus: kit.Bus, promises: &promises{sheet: scratch(t)}}
		first, second, third := order(7), order(7), order(8)
		third.ShipTo.Country = "Atlantis"
		if err := s.takeOrder(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []events.OrderPlaced{second, third} {
			if err := s.takeOrder(t.Context(), wrong); err == nil {
				t.Errorf("order %d to %s is taken", wrong.Number, wrong.ShipTo.Country)
			}
		}
		placed := eventstest.Published[events.OrderPlaced](kit)
		if len(placed) != 1 || placed[0].Payload.OrderID != first.OrderID {
			t.Errorf("placed: %+v", placed)
		}
		if orders := numberIn(t, kit, "SELECT count(*) FROM orders"); orders != 1 {
			t.Errorf("there are %d orders", orders)
		}
	})
}

// A payment whose line cannot be written is not announced, and its handler tries again.
func TestAPaymentWithoutALineIsNoPayment(t *testing.T) {
	inShop(t, func(t *testing.T, kit *runtimetest.Kit) {
		change := func(statement string) {
			t.Helper()
			err := runtime.Transact(t.Context(), kit.Bus, func(tx runtime.Tx) error {
				_, err := tx.ExecContext(t.Context(), statement)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		change("ALTER TABLE ledger RENAME TO mislaid")
		kit.Publish(order(1))
		kit.Deliver()
		if paid := eventstest.Published[events.PaymentCaptured](kit); len(paid) != 0 {
			t.Errorf("paid: %+v", paid)
		}
		change("ALTER TABLE mislaid RENAME TO ledger")
		kit.Drain()
		if paid := eventstest.Published[events.PaymentCaptured](kit); len(paid) != 1 {
			t.Errorf("paid: %+v", paid)
		}
		if lines := numberIn(t, kit, "SELECT count(*) FROM ledger"); lines != 1 {
			t.Errorf("the ledger has %d lines", lines)
		}
	})
}

// The process is killed again and again, at moments that it does not choose. Whenever it is
// dead, and before anything has recovered, the orders and charges are those of the events.
func TestTheLedgerAndTheEventsNeverDifferOverKills(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts many processes")
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	db := filepath.Join(t.TempDir(), "shop.db")
	file, err := openFile(db)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	charges := 0
	for life := range 6 {
		child := exec.Command(os.Args[0], "-db", db, "-orders", "300", "-publishers", "16")
		child.Env = append(os.Environ(), asShop+"=1")
		open := &awaited{text: "The shop keeps", seen: make(chan struct{})}
		child.Stdout, child.Stderr = open, open
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		died := make(chan error, 1)
		go func() { died <- child.Wait() }()
		select {
		case <-open.seen:
		case err := <-died:
			t.Fatalf("the shop ended by itself: %v\n%s", err, &open.written)
		}
		if life%2 == 0 { // it dies when some more is paid, else at any moment: while it recovers, perhaps
			more := charges + 1 + random.IntN(100)
			for has := charges; has < more && len(died) == 0; time.Sleep(time.Millisecond) {
				if file.QueryRowContext(t.Context(), "SELECT count(*) FROM ledger WHERE cents >= 0").Scan(&has) != nil {
					has = 0 // there is no table yet
				}
			}
		} else {
			time.Sleep(time.Duration(random.Int64N(int64(800 * time.Millisecond))))
		}
		child.Process.Kill()
		<-died
		var proof strings.Builder
		if err := (ledger{file}).prove(context.Background(), always, &proof); err != nil {
			t.Fatalf("%v\n%s", err, &open.written)
		}
		charges = number(t, proof.String(), `(\d+) charges`)
	}
	if charges == 0 {
		t.Error("nothing was paid before the last kill")
	}
	out := openShop(t, 0, "-db", db, "-orders", "10")
	orders := query(t, db, "SELECT count(*) FROM orders")
	declined := query(t, db, "SELECT count(*) FROM events WHERE type = 'payment.declined'")
	dead := query(t, db, "SELECT count(*) FROM dead_letters WHERE subscription = 'charge-card'") // of too many kills
	refunds := query(t, db, "SELECT 2 * count(*) FROM orders JOIN ledger ON order_id = id AND ledger.cents >= 0 WHERE number % 10 = 9")
	wantText(t, out, fmt.Sprintf("The tables and the events agree: %d orders, %d charges, %d refunds.", orders, orders-declined-dead, refunds))
}

// awaited is what a child has written, and closes seen when a text has come.
type awaited struct {
	text    string
	seen    chan struct{}
	written strings.Builder
}

func (a *awaited) Write(p []byte) (int, error) {
	had := strings.Contains(a.written.String(), a.text)
	n, err := a.written.Write(p)
	if !had && strings.Contains(a.written.String(), a.text) {
		close(a.seen)
	}
	return n, err
}

func TestATableThatDiffersWouldBeNoticed(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		"INSERT INTO ledger VALUES ('x', 'y', 1, 'z')":                                                     "1 of 3 charges have no event of their own, and 0 events",
		"DELETE FROM ledger WHERE cents >= 0":                                                              "0 of 0 charges have no event of their own, and 2 events",
		"UPDATE orders SET cents = cents + 1 WHERE number = 1":                                             "1 of 2 orders have no event of their own, and 1 events",
		"INSERT INTO ledger SELECT 'x', order_id, cents, reference FROM ledger WHERE reference LIKE '1-%'": "1 of 3 charges have no event",
	} {
		db := filepath.Join(t.TempDir(), "shop.db")
		openShop(t, 0, "-db", db, "-orders", "2")
		query(t, db, change+" RETURNING 1")
		wantText(t, openShop(t, 1, "-db", db, "-orders", "1"), "shop: the tables and the events DIFFER: "+want)
	}
}

// scratch is an empty file.
func scratch(t *testing.T) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "scratch"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}
