package conformance

import (
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/gen/checks"
	"github.com/busgen/busgen/runtime/retry"
)

// The catalogue of the tests, written the way busgen writes it.

// OrderPlaced is the payload of order.placed.
type OrderPlaced struct {
	OrderID string  `json:"order_id"`
	Number  int     `json:"number"`
	Weight  float64 `json:"weight"`
}

func (p OrderPlaced) Validate() error {
	var problems checks.Problems
	problems.Text("order_id", p.OrderID)
	return problems.Err()
}

func (OrderPlaced) isOrderEvent() {}

// OrderPaid is the payload of order.paid.
type OrderPaid struct {
	OrderID string `json:"order_id"`
}

func (p OrderPaid) Validate() error { return nil }

func (OrderPaid) isOrderEvent() {}

// OrderEvent is a payload of order.*.
type OrderEvent interface{ isOrderEvent() }

// UserCreated is the payload of user.created.
type UserCreated struct {
	Name string `json:"name"`
}

func (p UserCreated) Validate() error { return nil }

// Exact returns a policy without jitter, so that virtual time can be compared.
func Exact(opts ...retry.Option) retry.Policy {
	return retry.Default().With(append([]retry.Option{retry.Jitter(0)}, opts...)...)
}

// Within returns the default settings with this policy and timeout, and without a
// breaker.
func Within(timeout time.Duration, policy retry.Policy) declare.Settings {
	s := declare.DefaultSettings()
	s.Timeout, s.Retry, s.Breaker.Off = timeout, policy, true
	return s
}

// The event types, and all of them together.
var (
	PlacedType = runtime.Define(runtime.Spec[OrderPlaced]{
		Name: "order.placed", Doc: "A customer placed an order.", Settings: Within(30*time.Second, Exact()),
		PartitionBy: func(p OrderPlaced) string { return p.OrderID },
		LimitKeys:   map[string]func(OrderPlaced) string{"order_id": func(p OrderPlaced) string { return p.OrderID }},
	})
	PaidType = runtime.Define(runtime.Spec[OrderPaid]{
		Name: "order.paid", Settings: Within(30*time.Second, Exact()),
	})
	UserType = runtime.Define(runtime.Spec[UserCreated]{
		Name: "user.created", Settings: Within(30*time.Second, Exact()),
		LimitKeys: map[string]func(UserCreated) string{"name": func(p UserCreated) string { return p.Name }},
	})
	Catalogue = runtime.NewCatalogue(PlacedType, PaidType, UserType)
)
