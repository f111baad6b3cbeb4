package main

import (
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/bench/events"
)

//go:generate go tool busgen generate events.yaml --out events

// sample is the payload that is published over and over.
var sample = events.OrderPlaced{
	OrderID:  uuid.MustParse("0198c5f2-7b1e-7c3a-9d4f-2a6b8c0d1e2f"),
	Customer: "ada@example.com",
	Currency: events.CurrencyEUR,
	Total:    4299,
	Lines:    []events.Line{{SKU: "TEA-GREEN-250", Quantity: 2}},
	PlacedAt: time.Date(2026, 3, 14, 15, 9, 26, 535_897_000, time.UTC),
}
