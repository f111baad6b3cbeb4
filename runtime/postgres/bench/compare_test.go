//go:build linux

// Package bench compares the outbox and the inbox with what others have. It is a module of its own, so that nobody else
// downloads them.
package bench

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wsql "github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

var (
	rounds = flag.Int("rounds", 0, "how many rounds each way to publish has, in turns; 0 for one that only shows that all works")
	turn   = flag.Duration("turn", 400*time.Millisecond, "how long a turn takes")
	held   = flag.Duration("held", 0, "for how long a snapshot is held while looks of the relay are timed; 0 for not at all")
)

// job is what River's workers would get.
type job struct {
	OrderID string `json:"order_id"`
	Number  int    `json:"number"`
}

func (job) Kind() string { return "order.placed" }

var payload = strings.Repeat("x", 150)

type database struct {
	*testing.T
	pool *pgxpool.Pool
}

func start(t *testing.T) *database {
	t.Helper()
	s, err := pgtest.Start()
	conformance.Must(t, err)
	t.Cleanup(func() { s.Close() })
	config, err := pgxpool.ParseConfig(s.Database(t))
	conformance.Must(t, err)
	config.MaxConns = 140
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	conformance.Must(t, err)
	t.Cleanup(pool.Close)
	conformance.Must(t, postgres.Migrate(t.Context(), pool))
	d := &database{t, pool}
	d.exec("CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text NOT NULL, total bigint NOT NULL)")
	return d
}

func (d *database) exec(statement string, args ...any) {
	d.Helper()
	_, err := d.pool.Exec(d.Context(), statement, args...)
	conformance.Must(d.T, err)
}

func (d *database) open(target string, opts ...runtime.Option) *runtime.Bus {
	d.Helper()
	bus, err := runtime.Open(d.Context(), target, conformance.Catalogue, append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))...)
	conformance.Must(d.T, err)
	d.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus
}

// Each way to publish an event with an order has its turn in each round, so that what else the machine does is shared.
// The figures are medians, and medians of the ratios within a round.
func TestWhatPublishingWithAnOrderCosts(t *testing.T) {
	d := start(t)
	bus := d.open("orders", postgres.Outbox(d.pool))
	migrator, err := rivermigrate.New(riverpgxv5.New(d.pool), nil)
	conformance.Must(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	conformance.Must(t, err)
	rivers, err := river.NewClient(riverpgxv5.New(d.pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	conformance.Must(t, err)
	setup, err := wsql.NewPublisher(wsql.BeginnerFromPgx(d.pool), wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}, AutoInitializeSchema: true}, watermill.NopLogger{})
	conformance.Must(t, err)
	conformance.Must(t, setup.Publish("orders", message.NewMessage(watermill.NewUUID(), []byte(`{}`))))

	order := func(ctx context.Context, more func(tx pgx.Tx) error) error {
		return pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders (customer, total) VALUES ($1, $2)", "ada", 1990); err != nil {
				return err
			}
			return more(tx)
		})
	}
	ways := []struct {
		name string
		do   func(ctx context.Context) error
	}{
		{"order alone", func(ctx context.Context) error { return order(ctx, func(pgx.Tx) error { return nil }) }},
		{"with outbox", func(ctx context.Context) error {
			return order(ctx, func(tx pgx.Tx) error {
				_, err := runtime.Publish(ctx, postgres.In(bus, tx), conformance.PlacedType, conformance.OrderPlaced{OrderID: payload, Number: 1})
				return err
			})
		}},
		{"with river.InsertTx", func(ctx context.Context) error {
			return order(ctx, func(tx pgx.Tx) error {
				_, err := rivers.InsertTx(ctx, tx, job{payload, 1}, nil)
				return err
			})
		}},
		{"with Watermill SQL", func(ctx context.Context) error {
			return order(ctx, func(tx pgx.Tx) error {
				text, err := json.Marshal(job{payload, 1})
				if err != nil {
					return err
				}
				p, err := wsql.NewPublisher(wsql.TxFromPgx(tx), wsql.PublisherConfig{SchemaAdapter: wsql.DefaultPostgreSQLSchema{}}, watermill.NopLogger{})
				if err != nil {
					return err
				}
				m := message.NewMessage(watermill.NewUUID(), text)
				m.SetContext(ctx)
				return p.Publish("orders", m)
			})
		}},
	}
	for _, users := range []int{1, 16, 128} {
		rates, ratios := make([][]float64, len(ways)), make([][]float64, len(ways))
		for range max(*rounds, 1) {
			for i, way := range ways {
				time := *turn
				if *rounds == 0 {
					time /= 10
				}
				rates[i] = append(rates[i], d.rate(users, time, way.do))
				ratios[i] = append(ratios[i], rates[i][len(rates[i])-1]/rates[0][len(rates[0])-1])
			}
			d.exec("TRUNCATE busgen.outbox, orders, river_job")
		}
		for i, way := range ways {
			t.Logf("%3d publishers, %-20s %8.0f/s, %.2f of the order alone", users, way.name, median(rates[i]), median(ratios[i]))
		}
	}
}

// rate returns how often something is done per second.
func (d *database) rate(users int, long time.Duration, do func(ctx context.Context) error) float64 {
	var n atomic.Int64
	var all sync.WaitGroup
	began := time.Now()
	for range users {
		all.Go(func() {
			for time.Since(began) < long {
				if err := do(context.Background()); err != nil {
					d.Error(err)
					return
				}
				n.Add(1)
			}
		})
	}
	all.Wait()
	return float64(n.Load()) / time.Since(began).Seconds()
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// Events are brought to a bus in a file, and handled there with a row each.
func TestHowFastEventsAreRelayedAndHandled(t *testing.T) {
	insert := func(ctx context.Context, tx pgx.Tx, e runtime.Event[conformance.OrderPlaced]) error {
		_, err := tx.Exec(ctx, "INSERT INTO orders (customer, total) VALUES ($1, $2)", e.Payload.OrderID, e.Payload.Number)
		return err
	}
	one := func(concurrency int) func(bus *runtime.Bus) error {
		return func(bus *runtime.Bus) error {
			_, err := postgres.Subscribe(bus, conformance.PlacedType, "rows", insert, runtime.WithConcurrency(concurrency), runtime.FromBeginning())
			return err
		}
	}
	for _, way := range []struct {
		name      string
		events    int
		subscribe func(bus *runtime.Bus) error
	}{
		{"relay", 40_000, func(*runtime.Bus) error { return nil }},
		{"inbox, one at a time", 2_000, one(1)},
		{"inbox, 16 at a time", 6_000, one(16)},
		{"inbox, batches of 200, 4 at a time", 40_000, func(bus *runtime.Bus) error {
			_, err := postgres.SubscribeBatch(bus, conformance.PlacedType, "rows", func(ctx context.Context, tx pgx.Tx, events []runtime.Event[conformance.OrderPlaced]) error {
				_, err := tx.CopyFrom(ctx, pgx.Identifier{"orders"}, []string{"customer", "total"}, pgx.CopyFromSlice(len(events), func(i int) ([]any, error) {
					return []any{events[i].Payload.OrderID, int64(events[i].Payload.Number)}, nil
				}))
				return err
			}, runtime.WithBatch(200, 10*time.Millisecond), runtime.WithConcurrency(4), runtime.FromBeginning())
			return err
		}},
	} {
		d := start(t)
		n := way.events
		if *rounds == 0 {
			n /= 20
		}
		d.exec(`INSERT INTO busgen.outbox (id, type, version, payload)
			SELECT gen_random_uuid(), 'order.placed', 1, '{"order_id":"' || lpad(i::text, 150, 'x') || '","number":' || i || '}' FROM generate_series(1, $1) i`, n)
		path := filepath.Join(t.TempDir(), "bus.db")
		bus := d.open(path, postgres.Relay(d.pool))
		began := time.Now()
		if way.name != "relay" { // they are there when it begins
			conformance.Must(t, bus.Start(t.Context()))
			d.relayed(bus, n)
			conformance.Must(t, bus.Shutdown(t.Context()))
			bus = d.open(path, postgres.Relay(d.pool))
			began = time.Now()
		}
		conformance.Must(t, way.subscribe(bus))
		conformance.Must(t, bus.Start(t.Context()))
		if way.name == "relay" {
			d.relayed(bus, n)
		} else {
			conformance.Must(t, bus.WaitIdle(t.Context()))
		}
		took := time.Since(began)
		if way.name != "relay" {
			rows := 0
			conformance.Must(t, d.pool.QueryRow(t.Context(), "SELECT count(*) FROM orders").Scan(&rows))
			if rows != n {
				t.Errorf("%s: %d rows, want %d", way.name, rows, n)
			}
		}
		t.Logf("%-36s %8.0f events/s", way.name, float64(n)/took.Seconds())
	}
}

func (d *database) relayed(bus *runtime.Bus, n int) {
	for bus.Stats().Outbox.Relayed < uint64(n) {
		time.Sleep(time.Millisecond)
	}
}

// Looks stay short while a snapshot keeps all dead rows: at the end of the time, as the server tells.
func TestALookStaysShortWhileASnapshotIsHeld(t *testing.T) {
	d := start(t)
	bus := d.open(filepath.Join(t.TempDir(), "bus.db"), postgres.Relay(d.pool))
	conformance.Must(t, bus.Start(t.Context()))
	from := d.open("orders", postgres.Outbox(d.pool))
	tx, err := d.pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	conformance.Must(t, err)
	defer tx.Rollback(context.Background())
	_, err = tx.Exec(t.Context(), "SELECT count(*) FROM orders")
	conformance.Must(t, err)
	waits := []float64{}
	for began := time.Now(); ; {
		d.rate(4, 200*time.Millisecond, func(ctx context.Context) error {
			_, err := runtime.Publish(ctx, from, conformance.PlacedType, conformance.OrderPlaced{OrderID: payload})
			return err
		})
		waits = append(waits, float64(bus.Stats().Outbox.Waiting(time.Now()).Milliseconds()))
		if time.Since(began) >= *held {
			break
		}
	}
	var look float64
	floor := int64(bus.Stats().Outbox.Relayed) - 400 // about where the floor of the relay is, because numbers begin with 1
	var plan string
	rows, err := d.pool.Query(t.Context(), fmt.Sprintf("EXPLAIN (ANALYZE, COSTS off) SELECT * FROM busgen.outbox WHERE seq > %d ORDER BY seq LIMIT 300", max(floor, 0)))
	conformance.Must(t, err)
	for rows.Next() {
		conformance.Must(t, rows.Scan(&plan))
		fmt.Sscanf(plan, "Execution Time: %f ms", &look)
	}
	t.Logf("after %v and %d events: a look takes %.1f ms; the oldest event waited for %.0f ms, as a median", *held, bus.Stats().Outbox.Relayed, look, median(waits))
	if *held >= time.Minute && look > 10 {
		t.Errorf("a look takes %.1f ms", look)
	}
}
