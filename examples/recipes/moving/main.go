// Command moving publishes what waits in the SQLite file of another system:
//
//	go run ./examples/recipes/moving -from goqite -old old.db -db shop.db
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	_ "github.com/ncruces/go-sqlite3/driver"

	events "github.com/busgen/busgen/examples/recipes/generated"
	"github.com/busgen/busgen/runtime"
)

// waiting selects what the old system has not done: id, payload, and the seconds until it is due.
var waiting = map[string]string{
	"river": `SELECT id, json(args), max(0, unixepoch(scheduled_at) - unixepoch('now')) FROM river_job
WHERE kind = 'order_placed' AND state NOT IN ('completed', 'cancelled', 'discarded') ORDER BY id`,
	"goqite": `SELECT id, body, max(0, unixepoch(timeout) - unixepoch('now')) FROM goqite
WHERE queue = 'orders' ORDER BY created, id`,
	"outbox": `SELECT id, payload, 0 FROM old_outbox WHERE topic = 'order.placed' AND sent_at IS NULL ORDER BY id`,
}

// move publishes it. It can be repeated within a day: the key keeps what is there already from being stored again.
func move(ctx context.Context, bus *runtime.Bus, old *sql.DB, from string) (moved int, err error) {
	query, known := waiting[from]
	if !known {
		return 0, fmt.Errorf("-from %s is none of river, goqite and outbox", from)
	}
	rows, err := old.QueryContext(ctx, query)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var text []byte
		var seconds int64
		if err := rows.Scan(&id, &text, &seconds); err != nil {
			return moved, err
		}
		var order events.OrderPlaced
		if err := json.Unmarshal(text, &order); err != nil {
			return moved, fmt.Errorf("%s %s: %w", from, id, err)
		}
		opts := []runtime.PublishOption{runtime.WithDedupeKey(from + " " + id)}
		if seconds > 0 {
			opts = append(opts, runtime.WithDelay(time.Duration(seconds)*time.Second))
		}
		receipt, err := events.PublishOrderPlaced(ctx, bus, order, opts...)
		if err != nil {
			return moved, fmt.Errorf("%s %s: %w", from, id, err)
		}
		if !receipt.Duplicate {
			moved++
		}
	}
	return moved, rows.Err()
}

func main() {
	from := flag.String("from", "", "river, goqite or outbox")
	old := flag.String("old", "old.db", "the file of the old system")
	db := flag.String("db", "shop.db", "the file of the bus")
	flag.Parse()
	moved, err := run(context.Background(), *from, *old, *db)
	fmt.Println(moved, "events are published")
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, from, path, db string) (moved int, err error) {
	old, err := sql.Open("sqlite3", "file:"+path+"?mode=ro")
	if err != nil {
		return 0, err
	}
	defer old.Close()
	bus, err := events.Open(ctx, db)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, bus.Shutdown(ctx)) }()
	return move(ctx, bus, old, from)
}
