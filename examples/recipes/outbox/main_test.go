package main

import (
	"context"
	"path/filepath"
	"testing"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

func TestARowAndItsEventAreStoredTogether(t *testing.T) {
	ctx, receipts := t.Context(), make(chan string, 10)
	s, err := open(ctx, filepath.Join(t.TempDir(), "outbox.db"), func(order string) { receipts <- order })
	if err != nil {
		t.Fatal(err)
	}
	defer s.bus.Shutdown(context.WithoutCancel(ctx))
	if err := s.bus.Start(ctx); err != nil {
		t.Fatal(err)
	}
	stored := func(wantRows, wantEvents int) {
		t.Helper()
		var rows, stored int
		err := runtime.DB(s.bus).QueryRowContext(ctx, "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM events)").Scan(&rows, &stored)
		if err != nil || rows != wantRows || stored != wantEvents {
			t.Errorf("%d rows and %d events, %v; want %d and %d", rows, stored, err, wantRows, wantEvents)
		}
	}
	order := events.OrderPlaced{OrderID: "a", Email: "ada@example.org", Cents: 500}
	if err := s.place(ctx, order); err != nil {
		t.Fatal(err)
	}
	if got := <-receipts; got != "a" {
		t.Error(got)
	}
	if s.place(ctx, order) == nil {
		t.Error("the order is stored twice")
	}
	invalid := events.OrderPlaced{OrderID: "b", Email: "no address", Cents: 500}
	if s.place(ctx, invalid) == nil {
		t.Error("an order is stored whose event is refused")
	}
	stored(1, 1)

	// Somebody else's code knows the table only.
	_, err = runtime.DB(s.bus).ExecContext(ctx, "INSERT INTO orders (id, email, cents, imported) VALUES ('c', 'eve@example.org', 250, 1)")
	if err != nil {
		t.Fatal(err)
	}
	if got := <-receipts; got != "c" {
		t.Error(got)
	}
	stored(2, 2)
}
