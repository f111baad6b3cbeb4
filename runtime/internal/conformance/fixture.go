package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// Fixture is a bus whose methods fail the test instead of returning an error.
type Fixture struct {
	*runtime.Bus
	Env  *Env
	T    *testing.T
	Path string // its target: the path of the file on SQLite
	Log  *LogLines
}

// MustStart starts the bus.
func (f *Fixture) MustStart() {
	f.T.Helper()
	Must(f.T, f.Start(f.T.Context()))
}

// Stop shuts the bus down.
func (f *Fixture) Stop() {
	f.T.Helper()
	Must(f.T, f.Shutdown(context.Background()))
}

// Idle waits until nothing is pending.
func (f *Fixture) Idle() {
	f.T.Helper()
	Must(f.T, f.WaitIdle(f.T.Context()))
}

// Publish publishes one order per number.
func (f *Fixture) Publish(numbers ...int) (receipts []*runtime.Receipt) {
	f.T.Helper()
	for _, n := range numbers {
		r, err := runtime.Publish(f.T.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n})
		Must(f.T, err)
		receipts = append(receipts, r)
	}
	return receipts
}

// PublishRaw stores an event whose payload is this text.
func (f *Fixture) PublishRaw(eventType runtime.Definition, payload string) {
	f.T.Helper()
	_, err := testhook.Append(f.T.Context(), f.Bus, eventType.Name(), eventType.Any().Version(), []byte(payload))
	Must(f.T, err)
}

// Handle subscribes to order.placed.
func (f *Fixture) Handle(name string, handler runtime.Handler[OrderPlaced], opts ...runtime.SubscribeOption) *runtime.Subscription {
	f.T.Helper()
	s, err := runtime.Subscribe(f.Bus, PlacedType, name, handler, opts...)
	Must(f.T, err)
	return s
}

// Killed returns the target of the log as the process of the bus would leave it if it
// was killed at this moment, and ends the bus.
func (f *Fixture) Killed() string {
	f.T.Helper()
	synctest.Wait()
	target := f.Env.Copy(f.T, f.Path)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f.Shutdown(ctx)
	return target
}

// Must fails the test if there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Numbers returns the numbers from one to another, both included.
func Numbers(from, to int) (n []int) {
	for i := from; i <= to; i++ {
		n = append(n, i)
	}
	return n
}

// ErrBoom is the error of handlers that fail.
var ErrBoom = errors.New("boom")

// Journal collects what handlers saw.
type Journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

// Add appends an entry.
func (j *Journal[T]) Add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

// All returns a copy of the entries.
func (j *Journal[T]) All() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// LogLines collects what the bus logs.
type LogLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements [io.Writer] for lines of JSON.
func (l *LogLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// Level returns the lines of one level, decoded.
func (l *LogLines) Level(t *testing.T, level string) (lines []map[string]any) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	decoder := json.NewDecoder(bytes.NewReader(l.buf.Bytes()))
	for decoder.More() {
		var line map[string]any
		Must(t, decoder.Decode(&line))
		if line["level"] == level {
			lines = append(lines, line)
		}
	}
	return lines
}
