package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

// orderPlaced is the event of all cases: about 200 bytes of JSON, with the
// field types that events usually have. It is written as busgen writes one.
type orderPlaced struct {
	OrderID  uuid.UUID `json:"order_id"`
	Customer string    `json:"customer"`
	Currency string    `json:"currency"`
	Total    int64     `json:"total"`
	Lines    []line    `json:"lines"`
	PlacedAt time.Time `json:"placed_at"`
}

type line struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// Validate checks the texts, as that of every generated payload.
func (p orderPlaced) Validate() error {
	var problems runtime.Problems
	problems.Text("customer", p.Customer)
	problems.Text("currency", p.Currency)
	for i, item := range p.Lines {
		problems.Item("lines", i, item.Validate())
	}
	return problems.Err()
}

// Validate checks the texts of a line.
func (l line) Validate() error {
	var problems runtime.Problems
	problems.Text("sku", l.SKU)
	return problems.Err()
}

var (
	orderPlacedType = runtime.Define(runtime.Spec[orderPlaced]{
		Name: "order.placed", Retry: retry.Default(), Timeout: 30 * time.Second,
	})
	catalogue = runtime.NewCatalogue(orderPlacedType)
)

// sample is the payload that is published over and over.
var sample = orderPlaced{
	OrderID:  uuid.MustParse("0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"),
	Customer: "ada@example.com",
	Currency: "EUR",
	Total:    4299,
	Lines:    []line{{SKU: "TEA-GREEN-250", Quantity: 2}},
	PlacedAt: time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC),
}
