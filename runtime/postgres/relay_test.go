//go:build linux

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

// intercepted opens a bus in a file whose relay gives records to take, which may give them on.
func (f *fixture) intercepted(path string, take func(ctx context.Context, records []engine.Record, next func() error) error) *runtime.Bus {
	f.Helper()
	return f.open(path, postgres.Intercepted(f.pool, func(to outbox.Bus) outbox.Bus {
		next := to.Take
		to.Take = func(ctx context.Context, records []engine.Record) (left []int, err error) {
			err = take(ctx, records, func() error {
				left, err = next(ctx, records)
				return err
			})
			return left, err
		}
		return to
	}))
}

// A relay ends at a point, as with its process, and the next one goes on.
func TestEachEventArrivesOnceWhereverTheRelayEnds(t *testing.T) {
	end := errors.New("the relay ends here")
	for name, take := range map[string]func(next func() error) error{
		"before the bus has them": func(func() error) error { return end },
		"after the bus has them": func(next func() error) error {
			if err := next(); err != nil {
				return err
			}
			return end
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			path := filepath.Join(t.TempDir(), "bus.db")
			from := f.outbox()
			var want []string
			var one atomic.Bool
			for life := range 4 {
				for i := range 5 {
					want = append(want, fmt.Sprint(life, " ", i))
					_, err := place(t.Context(), from, fmt.Sprint(life), i)
					conformance.Must(t, err)
				}
				ended := make(chan struct{})
				one.Store(true)
				bus := f.intercepted(path, func(ctx context.Context, records []engine.Record, next func() error) error {
					if one.CompareAndSwap(true, false) {
						defer close(ended)
						return take(next)
					}
					<-ctx.Done()
					return ctx.Err()
				})
				conformance.Must(t, bus.Start(t.Context()))
				<-ended
				conformance.Must(t, bus.Shutdown(t.Context()))
			}
			got := f.handle(f.open(path, postgres.Relay(f.pool)))
			f.want(got, want...)
		})
	}
}

func TestTheOutboxWaitsForTheBus(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	refuse := &atomic.Bool{}
	refuse.Store(true)
	var refused atomic.Int64
	bus := f.intercepted(filepath.Join(t.TempDir(), "bus.db"), func(_ context.Context, _ []engine.Record, next func() error) error {
		if refuse.Load() {
			refused.Add(1)
			return errors.New("the disk is full")
		}
		return next()
	})
	got := f.handle(bus)
	for i := range 3 {
		_, err := place(t.Context(), from, "Ada", i)
		conformance.Must(t, err)
	}
	f.until("the bus has refused the events twice", func() bool { return refused.Load() > 1 })
	if o := bus.Stats().Outbox; !strings.Contains(o.Failing, "the disk is full") || o.Waiting(time.Now()) <= 0 || o.Waiting(time.Now().Add(time.Hour)) < time.Hour {
		t.Errorf("the outbox says %+v", o)
	}
	if n := f.number("SELECT count(*) FROM busgen.outbox"); n != 3 {
		t.Errorf("%d events are in the outbox, want 3", n)
	}
	refuse.Store(false)
	f.want(got, "Ada 0", "Ada 1", "Ada 2")
	f.until("the outbox is well", func() bool {
		o := bus.Stats().Outbox
		return o.Failing == "" && o.Waiting(time.Now()) == 0 && o.Relayed == 3
	})
}

func TestEventsStayInTheOutboxWhileTooMuchIsPending(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	bus := f.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(f.pool), runtime.WithMaxPending(10, runtime.Refuse))
	got := f.handle(bus)
	conformance.Must(t, bus.PauseSubscription(t.Context(), "orders", ""))
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint("Ada ", i))
	}
	for i := range 2 {
		_, err := runtime.PublishBatch(t.Context(), from, conformance.PlacedType, placed("Ada", 20*i, 20*i+20))
		conformance.Must(t, err)
		if i == 0 { // a batch that is larger than the limit passes if nothing is pending
			f.drained()
		} else {
			f.until("the bus is full", func() bool { return strings.Contains(bus.Stats().Outbox.Failing, "pending") })
		}
	}
	conformance.Must(t, bus.ResumeSubscription(t.Context(), "orders"))
	f.want(got, want...)
}

func placed(customer string, from, to int) (all []conformance.OrderPlaced) {
	for i := from; i < to; i++ {
		all = append(all, conformance.OrderPlaced{OrderID: customer, Number: i})
	}
	return all
}

// The lease keeps them apart. If it does not, because one of them hangs, both bring the same.
func TestTwoRelaysLoseAndDoubleNothing(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	path := filepath.Join(t.TempDir(), "bus.db")
	bus := f.open(path, postgres.Relay(f.pool))
	got := f.handle(bus)
	// The second one is of another bus, which hands over to the first what it is given, as a second process on JetStream.
	both := f.intercepted(filepath.Join(t.TempDir(), "other.db"), func(ctx context.Context, records []engine.Record, _ func() error) error {
		return give(ctx, f, path, records)
	})
	conformance.Must(t, both.Start(t.Context()))
	var want []string
	stop := make(chan struct{})
	var stealing sync.WaitGroup
	stealing.Go(func() { // the lease runs out all the time
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				f.exec("UPDATE busgen.relay SET until = '-infinity'")
			}
		}
	})
	for i := range 40 {
		for j := range 5 {
			want = append(want, fmt.Sprint(i, " ", j))
		}
		_, err := runtime.PublishBatch(t.Context(), from, conformance.PlacedType, placed(fmt.Sprint(i), 0, 5))
		conformance.Must(t, err)
	}
	f.drained()
	close(stop)
	stealing.Wait()
	f.want(got, want...)
	conformance.Must(t, bus.Shutdown(t.Context()))
	_, err := place(t.Context(), from, "after", 1)
	conformance.Must(t, err)
	f.until("the other one has taken over", func() bool { return both.Stats().Outbox.Relaying })
	f.drained()
}

// give appends records to the file of another bus.
func give(ctx context.Context, f *fixture, path string, records []engine.Record) error {
	log, err := conformance.SQLite.Storage.Open(ctx, path, engine.Options{})
	if err != nil {
		return err
	}
	records = slices.Clone(records)
	for i := range records {
		records[i].Once = new(records[i].ID)
	}
	return errors.Join(log.Append(ctx, records), log.CloseWithin(ctx))
}

func TestAnEventThatCannotBePublishedIsADeadLetterOfTheRelay(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	path := filepath.Join(t.TempDir(), "bus.db")
	small := runtime.NewCatalogue(conformance.PaidType)
	bus, err := runtime.Open(t.Context(), path, small, postgres.Relay(f.pool), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	conformance.Must(t, err)
	paid := &conformance.Journal[string]{}
	_, err = runtime.Subscribe(bus, conformance.PaidType, "paid", func(_ context.Context, e runtime.Event[conformance.OrderPaid]) error {
		paid.Add(e.Payload.OrderID)
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	_, err = place(t.Context(), from, "Ada", 1, runtime.WithMetadata(map[string]string{"tenant": "t"}))
	conformance.Must(t, err)
	_, err = runtime.Publish(t.Context(), from, conformance.PaidType, conformance.OrderPaid{OrderID: "2"})
	conformance.Must(t, err)
	f.until("the other event is handled", func() bool { return len(paid.All()) == 1 })
	f.until("the unknown one is a dead letter", func() bool { return f.deadOf(bus) == 1 })
	f.drained()
	conformance.Must(t, bus.Shutdown(t.Context()))

	bus = f.open(path, postgres.Relay(f.pool)) // which knows the type
	got := f.handle(bus)
	in, err := inspect.Open(t.Context(), path)
	conformance.Must(t, err)
	defer in.Close()
	_, err = in.Retry(t.Context(), inspect.Selection{})
	conformance.Must(t, err)
	f.want(got, "Ada 1")
}

func TestAnEventThatIsTooLargeStaysAndHoldsUpNoOther(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	path := filepath.Join(t.TempDir(), "bus.db")
	bus := f.open(path, postgres.Relay(f.pool), runtime.WithPayloadLimit(1000))
	got := f.handle(bus)
	long := strings.Repeat("x", 2000)
	for i := range 3 {
		_, err := place(t.Context(), from, []string{"Ada", long}[i%2], i)
		conformance.Must(t, err)
	}
	f.until("the others are handled", func() bool { return len(got.All()) == 2 })
	f.until("one stays", func() bool { return f.number("SELECT count(*) FROM busgen.outbox") == 1 })
	f.until("the outbox says that it waits", func() bool { return !bus.Stats().Outbox.Oldest.IsZero() })
	conformance.Must(t, bus.Shutdown(t.Context()))
	got = f.handle(f.open(path, postgres.Relay(f.pool)))
	f.want(got, long+" 1")
}

// A commit that does not wait for the disk is seen at once. The server loses it if it crashes then.
func TestAnEventIsRelayedWhenItsTransactionIsOnDisk(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	behind := make(chan bool, 100)
	bus := f.intercepted(filepath.Join(t.TempDir(), "bus.db"), func(ctx context.Context, _ []engine.Record, next func() error) error {
		var missing bool
		err := f.pool.QueryRow(ctx, "SELECT pg_current_wal_flush_lsn() < (SELECT max(lsn) FROM commits)").Scan(&missing)
		behind <- missing
		return errors.Join(err, next())
	})
	f.exec("CREATE TABLE commits (lsn pg_lsn NOT NULL)")
	f.exec("INSERT INTO commits VALUES ('0/0')")
	conformance.Must(t, bus.Start(t.Context()))
	for range 20 {
		var committed string // where the log of the server was after the insert
		f.tx(func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "SET LOCAL synchronous_commit = off")
			conformance.Must(t, err)
			_, err = place(t.Context(), postgres.In(from, tx), "Ada", 1)
			conformance.Must(t, err)
			conformance.Must(t, tx.QueryRow(t.Context(), "UPDATE commits SET lsn = pg_current_wal_insert_lsn() RETURNING lsn::text").Scan(&committed))
			return nil
		})
		if <-behind {
			t.Fatalf("an event was relayed before its transaction, at %s, was on disk", committed)
		}
		f.drained()
	}
}

func TestTheHealthOfTheBusSaysThatEventsWait(t *testing.T) {
	f := newFixture(t)
	health := observe.DefaultHealth()
	health.Every = time.Second
	bus := f.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(f.pool), runtime.WithHealth(health, nil), runtime.WithPayloadLimit(1000))
	check := func() observe.HealthCheck {
		for _, c := range bus.Health().Checks {
			if c.Name == observe.CheckOutbox {
				return c
			}
		}
		return observe.HealthCheck{}
	}
	f.handle(bus)
	f.until("the outbox is looked at, and well", func() bool { return check().Threshold == 10 && !check().Exceeded })
	f.exec("ALTER TABLE busgen.outbox RENAME TO other")
	f.until("the check says what is wrong", func() bool { c := check(); return strings.Contains(c.Mostly, "outbox") && c.Value > 0 })
	f.exec("ALTER TABLE busgen.other RENAME TO outbox")
	f.until("the outbox is well again", func() bool { c := check(); return c.Mostly == "" && c.Value == 0 })
	var text conformance.LogLines
	conformance.Must(t, bus.WriteMetrics(t.Context(), &text))
}

func TestWhatWasRelayedCanBeSentAgain(t *testing.T) {
	f := newFixture(t)
	from := f.outbox()
	lost := f.relay(postgres.KeepRelayed(48 * time.Hour))
	got := f.handle(lost)
	_, err := runtime.PublishBatch(t.Context(), from, conformance.PlacedType, placed("Ada", 0, 5))
	conformance.Must(t, err)
	f.want(got, "Ada 0", "Ada 1", "Ada 2", "Ada 3", "Ada 4")
	conformance.Must(t, lost.Shutdown(t.Context()))
	f.exec(`CREATE TABLE busgen.relayed_20200101 PARTITION OF busgen.relayed FOR VALUES FROM ('2020-01-01T00:00:00Z') TO ('2020-01-02T00:00:00Z')`)

	again := f.handle(f.relay(postgres.KeepRelayed(48 * time.Hour)))
	f.exec(`INSERT INTO busgen.outbox (id, type, version, payload, metadata, dedupe, due_at)
		SELECT id, type, version, payload, metadata, dedupe, due_at FROM busgen.relayed WHERE relayed_at > now() - interval '1 hour' ORDER BY seq`)
	f.want(again, "Ada 0", "Ada 1", "Ada 2", "Ada 3", "Ada 4")
	if n := f.number("SELECT count(*) FROM pg_class WHERE relname = 'relayed_20200101'"); n != 0 {
		t.Error("a part that is too old is still there")
	}
}

func TestARelayIsNotifiedByOtherProcesses(t *testing.T) {
	f := newFixture(t)
	conn, err := pgx.Connect(t.Context(), f.url)
	conformance.Must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) }) // after the bus is shut down
	got := f.handle(f.relay(postgres.WithNotify(conn), postgres.WithPoll(time.Minute, time.Minute)))
	f.until("it listens", func() bool {
		return f.number("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'") == 1
	})
	from := f.outbox(postgres.WithNotify(nil))
	for i := range 3 {
		_, err := place(t.Context(), from, "Ada", i)
		conformance.Must(t, err)
		f.until("it is handled", func() bool { return len(got.All()) == i+1 })
	}
}

func TestTheSchemaIsMadeOnce(t *testing.T) {
	f := newFixture(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := postgres.Migrate(t.Context(), f.pool, postgres.WithSchema("other_1")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := f.handle(f.relay(postgres.WithSchema("other_1")))
	_, err := place(t.Context(), f.outbox(postgres.WithSchema("other_1")), "Ada", 1)
	conformance.Must(t, err)
	f.until("it is handled", func() bool { return len(got.All()) == 1 })
	f.exec("DROP SCHEMA other_1 CASCADE")
	f.exec(postgres.SQL(postgres.WithSchema("other_1"))) // what tools run
	conformance.Must(t, postgres.Migrate(t.Context(), f.pool, postgres.WithSchema("other_1")))
	f.exec("UPDATE busgen.version SET version = 1000")
	if err := postgres.Migrate(t.Context(), f.pool); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("a newer schema: %v", err)
	}
	if _, err := runtime.Open(t.Context(), "orders", conformance.Catalogue, postgres.Outbox(f.pool)); err == nil {
		t.Error("a newer schema is used")
	}
}

// A type has another name in the program that publishes.
func TestAnEventOfAFormerNameIsRelayed(t *testing.T) {
	f := newFixture(t)
	renamed := runtime.Define(runtime.Spec[conformance.OrderPlaced]{Name: "order.made", Aliases: []string{"order.placed"}, Settings: declare.DefaultSettings()})
	bus, err := runtime.Open(t.Context(), filepath.Join(t.TempDir(), "bus.db"), runtime.NewCatalogue(renamed), postgres.Relay(f.pool), runtime.WithLogger(slog.New(slog.DiscardHandler)))
	conformance.Must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	types := &conformance.Journal[string]{}
	_, err = runtime.Subscribe(bus, renamed, "orders", func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		types.Add(e.Type)
		return nil
	})
	conformance.Must(t, err)
	conformance.Must(t, bus.Start(t.Context()))
	_, err = place(t.Context(), f.outbox(), "Ada", 1)
	conformance.Must(t, err)
	f.until("it is handled", func() bool { return slices.Equal(types.All(), []string{"order.made"}) })
}

// As after a restore without data.
func TestARelayWithoutItsRowSaysSo(t *testing.T) {
	f := newFixture(t)
	bus := f.relay()
	got := f.handle(bus)
	f.until("it relays", func() bool { return bus.Stats().Outbox.Relaying })
	f.exec("DELETE FROM busgen.relay")
	_, err := place(t.Context(), f.outbox(), "Ada", 1)
	conformance.Must(t, err)
	f.until("it says so", func() bool { return strings.Contains(bus.Stats().Outbox.Failing, "INSERT INTO busgen.relay") })
	f.exec("INSERT INTO busgen.relay DEFAULT VALUES")
	f.want(got, "Ada 1")
}

// What docs/postgres.md says that users of the database need.
func TestUsersNeedFewRights(t *testing.T) {
	f := newFixture(t)
	as := func(role, rights string) *fixture {
		f.exec("CREATE ROLE " + role + " LOGIN")
		t.Cleanup(func() {
			_, err := f.pool.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
			conformance.Must(t, err)
		})
		f.exec(strings.ReplaceAll(rights, "ROLE", role))
		pool := pgtest.Pool(t, strings.Replace(f.url, "postgres@", role+"@", 1))
		return &fixture{t, f.url, pool}
	}
	from := as("rights_publisher", "GRANT USAGE ON SCHEMA busgen TO ROLE; GRANT INSERT ON busgen.outbox TO ROLE; GRANT SELECT ON busgen.version TO ROLE")
	to := as("rights_relay", "GRANT USAGE ON SCHEMA busgen TO ROLE; GRANT SELECT, DELETE ON busgen.outbox TO ROLE; GRANT SELECT, UPDATE ON busgen.relay TO ROLE")
	got := f.handle(to.relay())
	bus := from.outbox()
	for i := range 2 {
		_, err := place(t.Context(), bus, "Ada", i)
		conformance.Must(t, err)
	}
	from.tx(func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL synchronous_commit = off") // the relay waits for the disk
		conformance.Must(t, err)
		_, err = place(t.Context(), postgres.In(bus, tx), "Ada", 2)
		return err
	})
	f.want(got, "Ada 0", "Ada 1", "Ada 2")
}
