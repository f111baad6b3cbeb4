package clitest

import (
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/payload/schema"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// ShopCatalogue declares the events of a shop.
const ShopCatalogue = `version: 1
package: shop
events:
  order.placed:
    payload: { number: int, email: string }
  payment.requested:
    payload: { order: int, cents: int64 }
`

// OrderPlaced is the payload of order.placed.
type OrderPlaced struct {
	Number int    `json:"number"`
	Email  string `json:"email"`
}

// Validate accepts every order.
func (OrderPlaced) Validate() error { return nil }

// PaymentRequested is the payload of payment.requested.
type PaymentRequested struct {
	Order int   `json:"order"`
	Cents int64 `json:"cents"`
}

// Validate accepts every request.
func (PaymentRequested) Validate() error { return nil }

// ShopSettings allow three attempts, two seconds and four seconds apart.
func ShopSettings() declare.Settings {
	s := declare.DefaultSettings()
	s.Retry = s.Retry.With(retry.MaxAttempts(3), retry.BaseDelay(2*time.Second), retry.Jitter(0))
	s.Breaker.Off = true
	return s
}

// ShopSchema returns the schema of a payload, as generated code has it.
func ShopSchema(eventType string) string {
	c, findings := parse.Text("events.yaml", []byte(ShopCatalogue))
	if len(findings) > 0 {
		panic(findings)
	}
	return schema.Of(c.EventNamed(eventType))
}

// The event types of the shop. PaymentType has no schema.
var (
	OrderType   = runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: ShopSettings(), Schema: ShopSchema("order.placed")})
	PaymentType = runtime.Define(runtime.Spec[PaymentRequested]{Name: "payment.requested", Settings: ShopSettings()})
)
