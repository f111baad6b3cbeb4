package inspection

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

type Order struct {
	Number int `json:"number"`
}

func (Order) Validate() error { return nil }

type User struct {
	Name string `json:"name"`
}

func (User) Validate() error { return nil }

// settings allow two attempts, a second apart.
func settings() declare.Settings {
	s := declare.DefaultSettings()
	s.Retry = s.Retry.With(retry.MaxAttempts(2), retry.Jitter(0))
	s.Breaker.Off = true
	return s
}

var (
	PlacedType = runtime.Define(runtime.Spec[Order]{
		Name: "order.placed", Settings: settings(), LimitKeys: map[string]func(Order) string{"odd": func(o Order) string { return fmt.Sprint(o.Number%2 == 1) }},
	})
	paidType  = runtime.Define(runtime.Spec[Order]{Name: "order.paid", Settings: settings()})
	UserType  = runtime.Define(runtime.Spec[User]{Name: "user.created", Settings: settings()})
	catalogue = runtime.NewCatalogue(PlacedType, paidType, UserType)
)

// Fixture is a bus on a file of its own, with the file seen from outside.
type Fixture struct {
	*runtime.Bus
	env  *Env
	t    *testing.T
	Path string
	File *inspect.File
}

func (env *Env) Open(t *testing.T, opts ...runtime.Option) *Fixture {
	t.Helper()
	return env.Reopen(t, env.Target(t), opts...)
}

func (env *Env) Reopen(t *testing.T, path string, opts ...runtime.Option) *Fixture {
	t.Helper()
	bus, err := env.OpenBus(t.Context(), path, catalogue, append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))...)
	Must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return &Fixture{Bus: bus, env: env, t: t, Path: path, File: env.Outside(t, path)}
}

// Outside opens the file without a bus.
func (env *Env) Outside(t *testing.T, path string) *inspect.File {
	t.Helper()
	file, err := env.OpenFile(t.Context(), path, inspect.WithActor("ada"))
	Must(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}

// Subscribe handles orders as handle says.
func (f *Fixture) Subscribe(name string, handle func(number, attempt int) error, opts ...runtime.SubscribeOption) {
	f.t.Helper()
	_, err := runtime.Subscribe(f.Bus, PlacedType, name, func(_ context.Context, e runtime.Event[Order]) error {
		return handle(e.Payload.Number, e.Attempt)
	}, opts...)
	Must(f.t, err)
}

func (f *Fixture) MustStart() {
	f.t.Helper()
	Must(f.t, f.Start(f.t.Context()))
}

func (f *Fixture) Stop() {
	f.t.Helper()
	Must(f.t, f.Shutdown(context.Background()))
}

// Publish publishes one order per number, a minute apart.
func (f *Fixture) Publish(numbers ...int) (receipts []*runtime.Receipt) {
	f.t.Helper()
	for _, n := range numbers {
		receipt, err := runtime.Publish(f.t.Context(), f.Bus, PlacedType, Order{Number: n})
		Must(f.t, err)
		receipts = append(receipts, receipt)
		time.Sleep(time.Minute)
	}
	return receipts
}

// Handled collects numbers.
type Handled struct {
	mu      sync.Mutex
	numbers []int
}

func (h *Handled) Handle(number, _ int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.numbers = append(h.numbers, number)
	return nil
}

func (h *Handled) All() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.numbers)
}

var ErrBroken = errors.New("the printer is on fire")

func Fail(int, int) error { return ErrBroken }

func Fine(int, int) error { return nil }

func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Second is the error of a call that returns something else as well.
func Second[T any](_ T, err error) error { return err }
