package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/testhook"
	"github.com/busgen/busgen/runtime/retry"
)

// The catalogue of the tests, written the way busgen writes it.

type orderPlaced struct {
	OrderID string  `json:"order_id"`
	Number  int     `json:"number"`
	Weight  float64 `json:"weight"`
}

func (p orderPlaced) Validate() error {
	var problems runtime.Problems
	problems.Text("order_id", p.OrderID)
	return problems.Err()
}

func (orderPlaced) isOrderEvent() {}

type orderPaid struct {
	OrderID string `json:"order_id"`
}

func (p orderPaid) Validate() error { return nil }

func (orderPaid) isOrderEvent() {}

type orderEvent interface{ isOrderEvent() }

type userCreated struct {
	Name string `json:"name"`
}

func (p userCreated) Validate() error { return nil }

// exact is a policy without jitter, so that virtual time can be compared.
func exact(opts ...retry.Option) retry.Policy {
	return retry.Default().With(append([]retry.Option{retry.Jitter(0)}, opts...)...)
}

// within returns the default settings but for these two, and without a breaker.
func within(timeout time.Duration, policy retry.Policy) runtime.Settings {
	s := runtime.DefaultSettings()
	s.Timeout, s.Retry, s.Breaker.Off = timeout, policy, true
	return s
}

var (
	placedType = runtime.Define(runtime.Spec[orderPlaced]{
		Name: "order.placed", Doc: "A customer placed an order.", Settings: within(30*time.Second, exact()),
		PartitionBy: func(p orderPlaced) string { return p.OrderID },
	})
	paidType = runtime.Define(runtime.Spec[orderPaid]{
		Name: "order.paid", Settings: within(30*time.Second, exact()),
	})
	userType  = runtime.Define(runtime.Spec[userCreated]{Name: "user.created", Settings: within(30*time.Second, exact())})
	catalogue = runtime.NewCatalogue(placedType, paidType, userType)
)

// fixture is a bus on a file of its own.
type fixture struct {
	*runtime.Bus
	t    *testing.T
	path string
	log  *logLines
}

func open(t *testing.T, opts ...runtime.Option) *fixture {
	t.Helper()
	return reopen(t, filepath.Join(t.TempDir(), "events.db"), opts...)
}

func reopen(t *testing.T, path string, opts ...runtime.Option) *fixture {
	t.Helper()
	return reopenWith(t, path, catalogue, opts...)
}

func reopenWith(t *testing.T, path string, catalogue *runtime.Catalogue, opts ...runtime.Option) *fixture {
	t.Helper()
	lines := &logLines{}
	opts = append([]runtime.Option{runtime.WithLogger(slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug})))}, opts...)
	bus, err := runtime.Open(t.Context(), path, catalogue, opts...)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Bus: bus, t: t, path: path, log: lines}
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return f
}

func (f *fixture) start() {
	f.t.Helper()
	must(f.t, f.Start(f.t.Context()))
}

func (f *fixture) stop() {
	f.t.Helper()
	must(f.t, f.Shutdown(context.Background()))
}

func (f *fixture) idle() {
	f.t.Helper()
	must(f.t, f.WaitIdle(f.t.Context()))
}

// publish publishes one order per number.
func (f *fixture) publish(numbers ...int) (receipts []*runtime.Receipt) {
	f.t.Helper()
	for _, n := range numbers {
		r, err := runtime.Publish(f.t.Context(), f.Bus, placedType, orderPlaced{OrderID: "A", Number: n})
		must(f.t, err)
		receipts = append(receipts, r)
	}
	return receipts
}

// publishRaw stores an event whose payload is this text.
func (f *fixture) publishRaw(eventType runtime.AnyEventType, payload string) {
	f.t.Helper()
	_, err := testhook.Append(f.t.Context(), f.Bus, eventType.Name(), eventType.Version(), []byte(payload))
	must(f.t, err)
}

// handle subscribes to order.placed.
func (f *fixture) handle(name string, handler runtime.Handler[orderPlaced], opts ...runtime.SubscribeOption) *runtime.Subscription {
	f.t.Helper()
	s, err := runtime.Subscribe(f.Bus, placedType, name, handler, opts...)
	must(f.t, err)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func numbers(from, to int) (n []int) {
	for i := from; i <= to; i++ {
		n = append(n, i)
	}
	return n
}

// journal collects what handlers saw.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *journal[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// logLines collects what the bus logs.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// level returns the lines of one level, decoded.
func (l *logLines) level(t *testing.T, level string) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	decoder := json.NewDecoder(bytes.NewReader(l.buf.Bytes()))
	for decoder.More() {
		var line map[string]any
		must(t, decoder.Decode(&line))
		if line["level"] == level {
			lines = append(lines, line)
		}
	}
	return lines
}

var errBoom = errors.New("boom")
