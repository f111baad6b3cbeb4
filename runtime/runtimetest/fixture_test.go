package runtimetest_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// The catalogue of the tests, written the way busgen writes it.

type orderPlaced struct {
	Number int `json:"number"`
}

func (p orderPlaced) Validate() error {
	if p.Number < 0 {
		return errors.New("the number is negative")
	}
	return nil
}

type orderPaid struct {
	Number int `json:"number"`
}

func (orderPaid) Validate() error { return nil }

// foreign is a payload of no event.
type foreign struct{}

func (foreign) Validate() error { return nil }

// settings are without jitter and breaker, so that virtual time is exact.
func settings() declare.Settings {
	s := declare.DefaultSettings()
	s.Timeout, s.Breaker.Off = 30*time.Second, true
	s.Retry = retry.Default().With(retry.MaxAttempts(3), retry.Jitter(0)) // after 1s and 2s
	return s
}

var (
	placedType = runtime.Define(runtime.Spec[orderPlaced]{Name: "order.placed", Settings: settings()})
	paidType   = runtime.Define(runtime.Spec[orderPaid]{Name: "order.paid", Settings: settings()})
	catalogue  = runtime.NewCatalogue(placedType, paidType)
)

var errBoom = errors.New("boom")

// run runs f in a bubble.
func run(t *testing.T, f func(t *testing.T, k *runtimetest.Kit), opts ...runtime.Option) {
	t.Helper()
	runtimetest.Run(t, catalogue, f, opts...)
}

// place publishes one order per number.
func place(t testing.TB, k *runtimetest.Kit, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if _, err := runtime.Publish(t.Context(), k.Bus, placedType, orderPlaced{Number: n}); err != nil {
			t.Fatal(err)
		}
	}
}

// handled collects what a handler has seen.
type handled struct {
	mu     sync.Mutex
	events []runtime.Event[orderPlaced]
}

func (h *handled) handle(_ context.Context, e runtime.Event[orderPlaced]) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
	return nil
}

func (h *handled) numbers() (numbers []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		numbers = append(numbers, e.Payload.Number)
	}
	return numbers
}

func (h *handled) attempts() (attempts []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		attempts = append(attempts, e.Attempt)
	}
	return attempts
}

// subscribe connects a handler now and after each restart.
func subscribe(k *runtimetest.Kit, name string, handler runtime.Handler[orderPlaced]) {
	k.Setup(func(bus *runtime.Bus) error {
		_, err := runtime.Subscribe(bus, placedType, name, handler)
		return err
	})
}

// numbersOf returns the numbers of payloads.
func numbersOf(events []runtime.Event[orderPlaced]) (numbers []int) {
	for _, e := range events {
		numbers = append(numbers, e.Payload.Number)
	}
	return numbers
}
