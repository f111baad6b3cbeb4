package postgres_test

import (
	"context"
	"log"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/postgres"
)

// An order and its event are stored together. Generated code has events.Open and events.PublishOrderPlaced for what is
// spelled out here.
func ExampleIn() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://localhost/shop")
	if err != nil {
		log.Fatal(err)
	}
	if err := postgres.Migrate(ctx, pool); err != nil {
		log.Fatal(err)
	}
	bus, err := runtime.Open(ctx, "shop", conformance.Catalogue, postgres.Outbox(pool))
	if err != nil {
		log.Fatal(err)
	}
	defer bus.Shutdown(ctx)
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO orders (id, total) VALUES ($1, $2)", "o-1", 1990); err != nil {
			return err
		}
		_, err := runtime.Publish(ctx, postgres.In(bus, tx), conformance.PlacedType, conformance.OrderPlaced{OrderID: "o-1"})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
