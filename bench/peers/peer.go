package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/bench/events"
)

// A peer is a system that is measured.
type peer struct {
	name   string
	driver string // the SQLite library, one of those in database.go, or "" for busgen, which chooses its own
	module string // whose version is printed
	open   func(ctx context.Context, path string, s setup) (system, error)

	docs            string // the documentation that its settings come from
	defaults, tuned string // what it is set to
	syncs           string // what it does not sync
	notes           string // what else a reader should know

	fanOut bool // one publish reaches many subscribers
	// multiply makes n of the one handled event that is in the file, where the peer keeps
	// those that are handled; nil if it never does, and errNotKept if its settings do not. It
	// gets the file closed.
	multiply func(ctx context.Context, path string, n int) error
	// again says how long after a crash the default settings begin an interrupted event again.
	// The cases do not wait for more than scale.crash.
	again time.Duration
}

// setup is how a system is opened.
type setup struct {
	tuned       bool
	subscribers int // 0 opens a system that only publishes
	// handle is called for each event by each subscriber, from many goroutines.
	handle func(ctx context.Context, subscriber int, number int64) error
}

// A system is a peer with an open file.
type system interface {
	// publish returns when the event with that number is synced.
	publish(ctx context.Context, number int64) error
	// start lets the subscribers handle what is and what will be published.
	start(ctx context.Context) error
	// close stops handling and closes the file.
	close() error
}

// payload returns what all systems store: about 200 bytes of JSON. Its total is the number of
// the event.
func payload(number int64) events.OrderPlaced {
	return events.OrderPlaced{
		OrderID:  uuid.MustParse("0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"),
		Customer: "ada@example.com",
		Currency: events.CurrencyEUR,
		Total:    number,
		Lines:    []events.Line{{SKU: "TEA-GREEN-250", Quantity: 2}},
		PlacedAt: time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC),
	}
}

// encoded and decoded are for systems that store bytes: all have the same work.
func encoded(number int64) ([]byte, error) { return json.Marshal(payload(number)) }

func decoded(data []byte) (number int64, err error) {
	var p events.OrderPlaced
	err = json.Unmarshal(data, &p)
	return p.Total, err
}
