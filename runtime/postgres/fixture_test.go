//go:build linux

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

// Time is real here: Postgres has a clock of its own. No test asserts how long something takes.

// shared is the server of the tests, started by the first one that needs it.
var shared struct {
	sync.Once
	*pgtest.Server
	err error
}

func TestMain(m *testing.M) {
	if role := os.Getenv("BUSGEN_POSTGRES_ROLE"); role != "" {
		os.Exit(play(role))
	}
	code := m.Run()
	if shared.Server != nil {
		if err := shared.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// server returns the server of the tests.
func server(t testing.TB) *pgtest.Server {
	t.Helper()
	shared.Do(func() { shared.Server, shared.err = pgtest.Start() })
	missing(t, shared.err)
	return shared.Server
}

// missing skips a test for a visitor who has no Postgres. It fails where all changes are tested.
func missing(t testing.TB, err error) {
	t.Helper()
	switch {
	case errors.Is(err, pgtest.ErrMissing) && os.Getenv("BUSGEN_TESTS") != "more" && testing.Short():
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// fixture is a database with an outbox, and the account that programs of the tests change.
type fixture struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
}

const accounts = "CREATE TABLE accounts (name text PRIMARY KEY, n int NOT NULL)"

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return fixtureAt(t, server(t).Database(t))
}

func fixtureAt(t *testing.T, url string) *fixture {
	t.Helper()
	f := &fixture{T: t, url: url, pool: pgtest.Pool(t, url)}
	conformance.Must(t, postgres.Migrate(t.Context(), f.pool))
	f.exec(accounts)
	return f
}

func (f *fixture) exec(statement string, args ...any) {
	f.Helper()
	_, err := f.pool.Exec(f.Context(), statement, args...)
	conformance.Must(f.T, err)
}

func (f *fixture) number(query string, args ...any) (n int) {
	f.Helper()
	conformance.Must(f.T, f.pool.QueryRow(f.Context(), query, args...).Scan(&n))
	return n
}

// outbox opens a bus that only publishes.
func (f *fixture) outbox(opts ...postgres.Option) *runtime.Bus {
	f.Helper()
	return f.open("orders", postgres.Outbox(f.pool, opts...))
}

// relay opens a bus in a file that relays.
func (f *fixture) relay(opts ...postgres.Option) *runtime.Bus {
	f.Helper()
	return f.open(filepath.Join(f.TempDir(), "bus.db"), postgres.Relay(f.pool, opts...))
}

func (f *fixture) open(target string, opts ...runtime.Option) *runtime.Bus {
	f.Helper()
	bus, err := runtime.Open(f.Context(), target, conformance.Catalogue, append([]runtime.Option{runtime.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	conformance.Must(f.T, err)
	f.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus
}

// tx runs f in a transaction.
func (f *fixture) tx(do func(tx pgx.Tx) error) {
	f.Helper()
	conformance.Must(f.T, pgx.BeginFunc(f.Context(), f.pool, do))
}

// place publishes an order.
func place(ctx context.Context, to runtime.Publisher, customer string, number int, opts ...runtime.PublishOption) (*runtime.Receipt, error) {
	return runtime.Publish(ctx, to, conformance.PlacedType, conformance.OrderPlaced{OrderID: customer, Number: number}, opts...)
}

// orders has the orders that a bus was given, as "customer number".
type orders struct{ conformance.Journal[string] }

// handle subscribes to orders, and starts the bus.
func (f *fixture) handle(bus *runtime.Bus) *orders {
	f.Helper()
	all := &orders{}
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		all.Add(fmt.Sprint(e.Payload.OrderID, " ", e.Payload.Number))
		return nil
	}, runtime.FromBeginning())
	conformance.Must(f.T, err)
	conformance.Must(f.T, bus.Start(f.Context()))
	return all
}

// limit is how long tests wait for what must come.
const limit = 15 * time.Second

// until waits until something holds.
func (f *fixture) until(what string, holds func() bool) {
	f.Helper()
	for end := time.Now().Add(limit); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			f.Fatalf("for %v it is not so: %s", limit, what)
		}
	}
}

// drained waits until nothing is in the outbox.
func (f *fixture) drained() {
	f.Helper()
	f.until("the outbox is empty", func() bool { return f.number("SELECT count(*) FROM busgen.outbox") == 0 })
}

// want waits for orders, in any order, and for nothing else in the outbox.
func (f *fixture) want(got *orders, want ...string) {
	f.Helper()
	f.drained()
	f.until("as many orders are handled as are wanted", func() bool { return len(got.All()) >= len(want) })
	all := got.All()
	slices.Sort(all)
	slices.Sort(want)
	if !slices.Equal(all, want) {
		f.Errorf("handled were %q, want %q", all, want)
	}
}
