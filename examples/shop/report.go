package main

import (
	"fmt"
	"io"

	"github.com/busgen/busgen/runtime"
)

// printSummary shows the counts since the bus was opened, by event type and by
// subscription. A delivery is one event for one subscription.
func printSummary(out io.Writer, stats runtime.Stats) {
	fmt.Fprintf(out, "\n%-26s %10s %10s %10s %10s\n", "event", "published", "handled", "retried", "dead")
	for _, t := range stats.Types {
		if t.Published+t.Handled+t.Retried+t.Dead > 0 {
			fmt.Fprintf(out, "%-26s %10d %10d %10d %10d\n", t.Type, t.Published, t.Handled, t.Retried, t.Dead)
		}
	}
	fmt.Fprintf(out, "\n%-26s %10s %10s %10s %10s\n", "subscription", "to", "handled", "retried", "dead")
	for _, s := range stats.Subscriptions {
		fmt.Fprintf(out, "%-22s %14s %10d %10d %10d\n", s.Name, s.Pattern, s.Handled, s.Retried, s.Dead)
	}
}

func printNextSteps(out io.Writer, db string) {
	fmt.Fprintf(out, `
Look inside with any SQLite shell:
  sqlite3 -box %[1]s "SELECT status, count(*) FROM events GROUP BY status"
  sqlite3 -box %[1]s "SELECT subscription, attempts, last_error FROM dead_letters LIMIT 5"
  sqlite3 -box %[1]s "SELECT number, customer, orders.cents, reference FROM orders JOIN ledger ON order_id = id LIMIT 5"
See what came of one order (the ids are in the list):
  go tool busgen events list %[1]s --type order.placed --limit 5
  go tool busgen events tree %[1]s ID
See how far the handler of a back-order has come, step by step:
  go tool busgen events list %[1]s --type order.backordered --limit 5
  go tool busgen events steps %[1]s ID
See when the bus will ask for the report of the night:
  go tool busgen schedules list %[1]s
Read what the bus logged:
  tail %[1]s.log
Pull the plug, and see what is left:
  go run ./examples/shop -db %[1]s -crash
  go run ./examples/shop -db %[1]s
`, db)
}
