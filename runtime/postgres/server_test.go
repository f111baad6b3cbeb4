//go:build linux

package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

var (
	relayKills  = short.Flag("relay.kills", 20, 4, "how often a relay is killed")
	serverKills = short.Flag("server.kills", 8, 2, "how often Postgres is killed")
)

// play is what a process of a test does: it relays to a file, and prints what is handled.
func play(role string) int {
	if rest, ok := strings.CutPrefix(role, "handle "); ok {
		path, url, _ := strings.Cut(rest, " ")
		if err := handleAll(path, url); err != nil {
			return 7
		}
		select {}
	}
	path, url, ok := strings.Cut(role, " ")
	if !ok {
		return 2
	}
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return 3
	}
	bus, err := runtime.Open(ctx, path, conformance.Catalogue, postgres.Relay(pool), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return 4
	}
	_, err = runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		_, err := fmt.Println(e.Payload.OrderID, e.Payload.Number)
		return err
	}, runtime.FromBeginning())
	if err != nil {
		return 5
	}
	if err := bus.Start(ctx); err != nil {
		return 6
	}
	select {}
}

// Handlers may be called twice, because they are killed, too. So what is in the log counts.
func TestEachEventArrivesOnceOverKillsOfTheRelay(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "bus.db")
	from := f.outbox()
	var published atomic.Int64
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	for i := range 4 {
		publishing.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := place(t.Context(), from, fmt.Sprint(i), n); err != nil {
					t.Error(err)
					return
				}
				published.Add(1)
			}
		})
	}
	for range relayKills.N() {
		before := f.number("SELECT coalesce(max(seq), 0) FROM busgen.outbox")
		process := exec.Command(os.Args[0])
		process.Env = append(os.Environ(), "BUSGEN_POSTGRES_ROLE="+path+" "+f.url)
		process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		out, err := process.StdoutPipe()
		conformance.Must(t, err)
		conformance.Must(t, process.Start())
		lines := bufio.NewScanner(out)
		if !lines.Scan() { // it relays: the first event is handled
			t.Fatalf("the relay has ended: %v", process.Wait())
		}
		go func() {
			for lines.Scan() {
			}
		}()
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		process.Process.Kill()
		process.Wait()
		f.exec("UPDATE busgen.relay SET until = '-infinity'") // its lease runs out
		if after := f.number("SELECT coalesce(max(seq), 0) FROM busgen.outbox"); after < before {
			t.Errorf("the numbers went from %d to %d", before, after)
		}
	}
	close(stop)
	publishing.Wait()
	bus := f.open(path, postgres.Relay(f.pool))
	f.handle(bus)
	f.drained()
	conformance.Must(t, bus.WaitIdle(t.Context()))
	db := runtime.DB(bus)
	var stored, distinct int64
	conformance.Must(t, db.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT payload) FROM busgen_log").Scan(&stored, &distinct))
	if want := published.Load(); stored != want || distinct != want {
		t.Errorf("%d events were published; the log has %d, of which %d differ", want, stored, distinct)
	}
}

// Publishers try again while the server is down. What they are told is stored is, and once.
func TestTheRelaySurvivesItsServer(t *testing.T) {
	own, err := pgtest.Start()
	missing(t, err)
	t.Cleanup(func() { own.Close() })
	f := fixtureAt(t, own.Database(t))
	from := f.outbox()
	bus := f.relay()
	got := f.handle(bus)
	known, doubtful := &conformance.Journal[string]{}, &conformance.Journal[string]{}
	stop := make(chan struct{})
	var publishing sync.WaitGroup
	for i := range 4 {
		publishing.Go(func() {
			for n := 1; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				f.publish(from, fmt.Sprint(i), n, known, doubtful)
			}
		})
	}
	for range serverKills.N() {
		before := len(got.All())
		f.until("events are handled", func() bool { return len(got.All()) > before+20 })
		conformance.Must(t, own.Kill())
		conformance.Must(t, own.Restart())
	}
	close(stop)
	publishing.Wait()
	f.until("the outbox is empty", func() bool {
		n := -1
		f.pool.QueryRow(t.Context(), "SELECT count(*) FROM busgen.outbox").Scan(&n)
		return n == 0
	})
	conformance.Must(t, bus.WaitIdle(t.Context()))
	f.wantOnce(got, known, doubtful)
}

// wantOnce compares what was handled with what is known to be published, and what may be.
func (f *fixture) wantOnce(got *orders, known, doubtful *conformance.Journal[string]) {
	f.Helper()
	all := got.All()
	slices.Sort(all)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		f.Errorf("%d events were handled, %d of them once", len(all), len(once))
	}
	for _, order := range known.All() {
		if _, found := slices.BinarySearch(all, order); !found {
			f.Errorf("order %s is lost", order)
		}
	}
	if extra := len(all) - len(known.All()); extra < 0 || extra > len(doubtful.All()) {
		f.Errorf("%d events were handled, %d are known to be stored, and %d may be", len(all), len(known.All()), len(doubtful.All()))
	}
}

// publish publishes an order, and notes whether it is stored.
func (f *fixture) publish(from *runtime.Bus, customer string, number int, known, doubtful *conformance.Journal[string]) {
	_, err := place(f.Context(), from, customer, number)
	order := fmt.Sprint(customer, " ", number)
	var storage *event.StorageError
	switch {
	case err == nil:
		known.Add(order)
	case errors.As(err, &storage) && storage.InDoubt:
		doubtful.Add(order)
	default:
		f.Error(err)
	}
}
