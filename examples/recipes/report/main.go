// Command report adds up the orders of the day before, each night at three.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
	_ "time/tzdata" // the zone of the schedule, on systems that have no zones

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

// tables hold the orders, and one report for each day.
const tables = `
CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, cents INTEGER NOT NULL, placed_at INTEGER NOT NULL) STRICT;
CREATE INDEX IF NOT EXISTS orders_by_time ON orders (placed_at);
CREATE TABLE IF NOT EXISTS reports (day TEXT PRIMARY KEY, orders INTEGER NOT NULL, cents INTEGER NOT NULL) STRICT;`

func subscribe(bus *runtime.Bus) error {
	if _, err := runtime.DB(bus).Exec(tables); err != nil {
		return err
	}
	_, err := runtime.SubscribeTx(bus, events.OrderPlacedType, "keep-orders",
		func(ctx context.Context, tx runtime.Tx, e runtime.Event[events.OrderPlaced]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO orders (order_id, cents, placed_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
				e.Payload.OrderID, e.Payload.Cents, e.PublishedAt.UnixMilli())
			return err
		})
	if err != nil {
		return err
	}
	_, err = runtime.SubscribeTx(bus, events.ReportRequestedType, events.OnReportRequestedWriteReport.String(), writeReport)
	return err
}

// writeReport adds up the day before the time of the schedule. That is the time at which it was due, so a report that
// comes late, after an outage, is about the right day.
func writeReport(ctx context.Context, tx runtime.Tx, e runtime.Event[events.ReportRequested]) error {
	due := e.ScheduledFor
	if due.IsZero() {
		due = e.PublishedAt // somebody has asked for it by hand
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	year, month, day := due.In(zone).Date()
	since, until := time.Date(year, month, day-1, 0, 0, 0, 0, zone), time.Date(year, month, day, 0, 0, 0, 0, zone)
	_, err = tx.ExecContext(ctx, `
INSERT INTO reports (day, orders, cents)
SELECT ?, count(*), coalesce(sum(cents), 0) FROM orders WHERE placed_at >= ? AND placed_at < ?
ON CONFLICT (day) DO UPDATE SET orders = excluded.orders, cents = excluded.cents`,
		since.Format(time.DateOnly), since.UnixMilli(), until.UnixMilli())
	return err
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, "report.db"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, db string) error {
	bus, err := events.Open(ctx, db)
	if err != nil {
		return err
	}
	defer bus.Shutdown(context.WithoutCancel(ctx))
	if err := subscribe(bus); err != nil {
		return err
	}
	if err := bus.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
