// Command example is the shop with its orders in Postgres:
//
//	go run ./example
//
// It uses the Postgres that PGHOST or DATABASE_URL name, in a schema of its own that it drops first; without them it
// starts the one that is installed (on Debian: apt-get install postgresql), in a temporary folder. The shop takes
// orders in transactions of Postgres, some of which it rolls back, and publishes an event with each. A bus in a file
// gets them, and its handlers write invoices and reserve stock, in transactions too. In the end the rows are compared.
// It takes about three seconds.
//
// shop.go is what a program of yours has; this file starts it.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/postgres"
	"github.com/busgen/busgen/runtime/postgres/internal/pgtest"
)

// orders is how many customers order something. Each fifth changes their mind.
const orders = 200

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := tell(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// tell is the story.
func tell(ctx context.Context) error {
	url := os.Getenv("DATABASE_URL")
	if url == "" && os.Getenv("PGHOST") == "" {
		server, err := pgtest.Start()
		if err != nil {
			return err
		}
		defer server.Close()
		url = server.URL("postgres")
	}
	fmt.Println("Postgres is at", cmp.Or(os.Getenv("PGHOST"), "the address that is given, or one of this example"))
	folder, err := os.MkdirTemp("", "busgen-example-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	pool, err := connect(ctx, url)
	if err != nil {
		return err
	}
	defer pool.Close()

	quiet := runtime.WithLogger(slog.New(slog.DiscardHandler))
	// One process takes orders: it only publishes. Here it is part of the same program.
	orderService, err := events.Open(ctx, "orders", postgres.Outbox(pool, postgres.WithSchema("busgen_example")), quiet)
	if err != nil {
		return err
	}
	defer orderService.Shutdown(context.Background())
	// Another one handles what has happened.
	bus, err := events.Open(ctx, filepath.Join(folder, "shop.db"), postgres.Relay(pool, postgres.WithSchema("busgen_example")), quiet)
	if err != nil {
		return err
	}
	defer bus.Shutdown(context.Background())
	if err := subscribe(bus); err != nil {
		return err
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	for n := range int64(orders) {
		if err := takeOrder(ctx, pool, orderService, n, n%5 == 4); err != nil && err != errChanged {
			return err
		}
	}
	return compare(ctx, pool, bus)
}

// connect makes the tables of the example, anew.
func connect(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = "busgen_example"
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	if _, err := pool.Exec(ctx, "DROP SCHEMA IF EXISTS busgen_example CASCADE"); err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, pool, postgres.WithSchema("busgen_example")); err != nil {
		return nil, err
	}
	return pool, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, tables)
		return err
	})
}
