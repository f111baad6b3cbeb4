//go:build linux

package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

var allKills = short.Flag("all.kills", 200, 6, "how often a relay with its handlers or Postgres is killed, or connections are cut")

// handleAll is a process that relays to a file, and handles what comes there, in both ways.
func handleAll(path, url string) error {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return err
	}
	bus, err := runtime.Open(ctx, path, conformance.Catalogue, postgres.Relay(pool), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	for _, name := range []string{"pgx", "batch"} {
		_, err := ways[name](bus, name, func(ctx context.Context, tx within, e order) error {
			if err := tx.exec("INSERT INTO ledger (customer, number) VALUES ($1, $2)", name+" "+e.Payload.OrderID, e.Payload.Number); err != nil {
				return err
			}
			_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprint(name, " ", e.Payload.OrderID, " ", e.Payload.Number)})
			return err
		}, runtime.WithStrictOrder(), runtime.WithConcurrency(4), runtime.FromBeginning())
		if err != nil {
			return err
		}
	}
	return bus.Start(ctx)
}

// 8 publishers change 8 accounts over a network that is cut, and publish what the accounts are then. What a commit
// without an answer has done the accounts say.
func TestRowsAreEventsOverKillsOfAll(t *testing.T) {
	own, err := pgtest.Start()
	missing(t, err)
	t.Cleanup(func() { own.Close() })
	direct := fixtureAt(t, own.Database(t))
	direct.ledger()
	f, n := direct.behind(nil)
	path := filepath.Join(t.TempDir(), "bus.db")
	from := f.outbox()
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	for i := range 8 {
		publishing.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Duration(rand.IntN(200)) * time.Millisecond): // handlers are to keep up
				}
				ctx, end := context.WithTimeout(t.Context(), 5*time.Second)
				pgx.BeginFunc(ctx, f.pool, func(tx pgx.Tx) error { return change(ctx, from, tx, fmt.Sprint("k", (i+rand.IntN(3))%8)) })
				end()
			}
		})
	}
	start := func() *exec.Cmd {
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), "BUSGEN_POSTGRES_ROLE=handle "+path+" "+f.url)
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		conformance.Must(t, process.Start())
		return process
	}
	rows := func(query string) (n int) {
		if direct.pool.QueryRow(t.Context(), query).Scan(&n) != nil {
			return -1
		}
		return n
	}
	wait := func(what string, holds func() bool) { // longer than limit: a busy machine starts Postgres and processes slowly
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("for five minutes it is not so: %s", what)
			}
		}
	}
	free := func() { // as if the lease of a process that was killed had run out
		t.Helper()
		wait("the lease is free", func() bool {
			_, err := direct.pool.Exec(t.Context(), "UPDATE busgen.relay SET until = '-infinity'")
			return err == nil // or the connection is of before Postgres was killed
		})
	}
	process := start()
	kills := map[string]int{}
	for i := range allKills.N() {
		before := rows("SELECT count(*) FROM ledger")
		if i%10 == 0 {
			wait("events are handled", func() bool { return rows("SELECT count(*) FROM ledger") > before })
		}
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		switch rand.IntN(3) {
		case 0:
			kills["relay and handlers"]++
			process.Process.Kill()
			process.Wait()
			free()
			process = start()
		case 1:
			kills["Postgres"]++
			conformance.Must(t, own.Kill())
			conformance.Must(t, own.Restart())
		default:
			kills["connections"]++
			for range 4 {
				n.cut()
			}
		}
	}
	close(stop)
	publishing.Wait()
	process.Process.Kill()
	process.Wait()
	free()
	process = start()
	wanted := direct.number("SELECT sum(n) FROM accounts")
	wait("all rows are there", func() bool {
		return rows("SELECT count(*) FROM ledger") >= 2*wanted && rows("SELECT count(*) FROM busgen.outbox") == 0
	})
	process.Process.Kill()
	process.Wait()
	if all, once := rows("SELECT count(*) FROM ledger"), rows("SELECT count(DISTINCT (customer, number)) FROM ledger"); all != 2*wanted || once != 2*wanted {
		t.Errorf("the ledger has %d rows, of which %d differ, want %d", all, once, 2*wanted)
	}
	disorder := rows("SELECT count(*) FROM (SELECT number, lag(number) OVER (PARTITION BY customer ORDER BY at) AS before FROM ledger) x WHERE number <> coalesce(before, 0) + 1")
	if disorder != 0 {
		t.Errorf("%d events of a key were handled out of order", disorder)
	}
	bus := f.open(path)
	db := runtime.DB(bus)
	for eventType, want := range map[string]int{"order.placed": wanted, "order.paid": 2 * wanted} {
		var stored, distinct int
		conformance.Must(t, db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT payload) FROM busgen_log l JOIN busgen_types y ON y.id = l.type WHERE y.name = ?", eventType).Scan(&stored, &distinct))
		if stored != want || distinct != want {
			t.Errorf("the bus has %d events %s, of which %d differ, want %d", stored, eventType, distinct, want)
		}
	}
	var killed []string
	for what, n := range kills {
		killed = append(killed, fmt.Sprint(n, " × ", what))
	}
	t.Logf("%d events over kills of %s", wanted, strings.Join(killed, ", "))
}
