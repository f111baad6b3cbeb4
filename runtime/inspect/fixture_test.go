package inspect_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

type order struct {
	Number int `json:"number"`
}

func (order) Validate() error { return nil }

type user struct {
	Name string `json:"name"`
}

func (user) Validate() error { return nil }

// settings allow two attempts, a second apart.
func settings() runtime.Settings {
	s := runtime.DefaultSettings()
	s.Retry = s.Retry.With(retry.MaxAttempts(2), retry.Jitter(0))
	s.Breaker.Off = true
	return s
}

var (
	placedType = runtime.Define(runtime.Spec[order]{Name: "order.placed", Settings: settings()})
	paidType   = runtime.Define(runtime.Spec[order]{Name: "order.paid", Settings: settings()})
	userType   = runtime.Define(runtime.Spec[user]{Name: "user.created", Settings: settings()})
	catalogue  = runtime.NewCatalogue(placedType, paidType, userType)
)

// fixture is a bus on a file of its own, with the file seen from outside.
type fixture struct {
	*runtime.Bus
	t    *testing.T
	path string
	file *inspect.File
}

func open(t *testing.T) *fixture {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "events.db"))
}

func reopen(t *testing.T, path string) *fixture {
	t.Helper()
	bus, err := runtime.Open(t.Context(), path, catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return &fixture{Bus: bus, t: t, path: path, file: outside(t, path)}
}

// outside opens the file without a bus.
func outside(t *testing.T, path string) *inspect.File {
	t.Helper()
	file, err := inspect.Open(t.Context(), path, inspect.WithActor("ada"))
	must(t, err)
	t.Cleanup(func() { file.Close() })
	return file
}

// subscribe handles orders as handle says.
func (f *fixture) subscribe(name string, handle func(number, attempt int) error, opts ...runtime.SubscribeOption) {
	f.t.Helper()
	_, err := runtime.Subscribe(f.Bus, placedType, name, func(_ context.Context, e runtime.Event[order]) error {
		return handle(e.Payload.Number, e.Attempt)
	}, opts...)
	must(f.t, err)
}

func (f *fixture) start() {
	f.t.Helper()
	must(f.t, f.Start(f.t.Context()))
}

func (f *fixture) stop() {
	f.t.Helper()
	must(f.t, f.Shutdown(context.Background()))
}

// publish publishes one order per number, a minute apart.
func (f *fixture) publish(numbers ...int) (receipts []*runtime.Receipt) {
	f.t.Helper()
	for _, n := range numbers {
		receipt, err := runtime.Publish(f.t.Context(), f.Bus, placedType, order{Number: n})
		must(f.t, err)
		receipts = append(receipts, receipt)
		time.Sleep(time.Minute)
	}
	return receipts
}

// handled collects numbers.
type handled struct {
	mu      sync.Mutex
	numbers []int
}

func (h *handled) handle(number, _ int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.numbers = append(h.numbers, number)
	return nil
}

func (h *handled) all() []int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.numbers)
}

var errBroken = errors.New("the printer is on fire")

func fail(int, int) error { return errBroken }

func fine(int, int) error { return nil }

// query runs SQL on the file and returns its rows as text, columns joined by |.
func query(t *testing.T, path, sql string) (rows []string) {
	t.Helper()
	c, err := sqlite3.Open(path)
	must(t, err)
	defer c.Close()
	must(t, c.Exec("PRAGMA foreign_keys=OFF")) // it may be told to do damage
	s, _, err := c.Prepare(sql)
	must(t, err)
	defer s.Close()
	for s.Step() {
		row := s.ColumnText(0)
		for i := 1; i < s.ColumnCount(); i++ {
			row += "|" + s.ColumnText(i)
		}
		rows = append(rows, row)
	}
	must(t, s.Err())
	return rows
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type uuidOf = uuid.UUID

// second is the error of a call that returns something else as well.
func second[T any](_ T, err error) error { return err }
