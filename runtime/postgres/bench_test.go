//go:build linux

package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
)

func benchPool(b *testing.B) *pgxpool.Pool {
	b.Helper()
	config, err := pgxpool.ParseConfig(server(b).Database(b))
	if err != nil {
		b.Fatal(err)
	}
	config.MaxConns = 140
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err == nil {
		err = postgres.Migrate(b.Context(), pool)
	}
	if err == nil {
		_, err = pool.Exec(b.Context(), "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, customer text NOT NULL, total bigint NOT NULL)")
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return pool
}

func benchBus(b *testing.B, target string, opts ...runtime.Option) *runtime.Bus {
	b.Helper()
	bus, err := runtime.Open(b.Context(), target, conformance.Catalogue, append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { bus.Shutdown(context.Background()) })
	return bus
}

// BenchmarkPublish does what one user does, by 1, 16 and 128 of them at once.
func BenchmarkPublish(b *testing.B) {
	pool := benchPool(b)
	bus := benchBus(b, "orders", postgres.Outbox(pool))
	customer := strings.Repeat("x", 150)
	order := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO orders (customer, total) VALUES ($1, $2)", "ada", 1990)
		return err
	}
	for _, users := range []int{1, 16, 128} {
		for _, one := range []struct {
			name string
			do   func(ctx context.Context) error
		}{
			{"order", func(ctx context.Context) error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return order(ctx, tx) })
			}},
			{"order and event", func(ctx context.Context) error {
				return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
					if err := order(ctx, tx); err != nil {
						return err
					}
					_, err := place(ctx, postgres.In(bus, tx), customer, 1)
					return err
				})
			}},
			{"event", func(ctx context.Context) error {
				_, err := place(ctx, bus, customer, 1)
				return err
			}},
		} {
			b.Run(fmt.Sprint(one.name, "/", users), func(b *testing.B) {
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				for range users {
					all.Go(func() {
						for left.Add(-1) >= 0 {
							if err := one.do(context.Background()); err != nil {
								b.Error(err)
							}
						}
					})
				}
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "1/s")
			})
		}
	}
}

// BenchmarkRelay brings events to a bus in a file that has no subscription.
func BenchmarkRelay(b *testing.B) {
	relayAll(b, benchPool(b))
}

// BenchmarkRelayBesideASnapshot does so while a transaction keeps all dead rows.
func BenchmarkRelayBesideASnapshot(b *testing.B) {
	pool := benchPool(b)
	tx, err := pool.BeginTx(b.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		b.Fatal(err)
	}
	defer tx.Rollback(context.Background())
	if _, err := tx.Exec(b.Context(), "SELECT count(*) FROM orders"); err != nil {
		b.Fatal(err)
	}
	relayAll(b, pool)
}

func relayAll(b *testing.B, pool *pgxpool.Pool) {
	n := b.N
	_, err := pool.Exec(b.Context(), `INSERT INTO busgen.outbox (id, type, version, payload)
		SELECT gen_random_uuid(), 'order.placed', 1, '{"order_id":"' || repeat('x', 150) || '","number":' || i || '}' FROM generate_series(1, $1) i`, n)
	if err != nil {
		b.Fatal(err)
	}
	bus := benchBus(b, filepath.Join(b.TempDir(), "bus.db"), postgres.Relay(pool))
	b.ResetTimer()
	if err := bus.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	for bus.Stats().Outbox.Relayed < uint64(n) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
}
