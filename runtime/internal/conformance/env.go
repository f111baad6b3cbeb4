package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Env is an engine under test. Its methods are the tests, and the helpers that open logs
// on the engine.
type Env struct{ *Engine }

// SQLite is the engine that buses use by default.
var SQLite = &Env{&Engine{
	Storage:   sqlite.Engine{},
	NewTarget: func(t *testing.T) string { return filepath.Join(t.TempDir(), "events.db") },
	Copy: func(t *testing.T, target string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "events.db")
		for _, suffix := range []string{"", "-wal", "-claims"} {
			content, err := os.ReadFile(target + suffix)
			Must(t, err)
			Must(t, os.WriteFile(path+suffix, content, 0o600))
		}
		return path
	},
	Unwritten: 5 * time.Millisecond,
	Express:   true,
	Steps:     true,
	Earlier: func(t *testing.T, target string, by time.Duration) (written time.Time) {
		t.Helper()
		c, err := sqlite3.Open(target)
		Must(t, err)
		defer c.Close()
		Must(t, c.Exec(fmt.Sprintf(`
			UPDATE busgen_deliveries SET due_at = max(1, due_at - %d) WHERE state = 'waiting' AND due_at > 0;
			UPDATE busgen_log SET due_at = max(1, due_at - %[1]d) WHERE due_at IS NOT NULL`, by.Microseconds())))
		s, _, err := c.Prepare("SELECT coalesce(max(due_at - wait), 0) FROM busgen_deliveries WHERE state = 'waiting'")
		Must(t, err)
		defer s.Close()
		if !s.Step() {
			t.Fatal(s.Err())
		}
		return time.UnixMicro(s.ColumnInt64(0))
	},
	Sizes: func(memory, page int) (restore func()) {
		before := sqlite.Sizes
		sqlite.Sizes.Tail, sqlite.Sizes.Ahead = int64(memory), page
		return func() { sqlite.Sizes = before }
	},
}}

// Open opens a bus on a new log with the catalogue of the tests. Like all buses that an
// Env opens, it is shut down when the test ends.
func (env *Env) Open(t *testing.T, opts ...runtime.Option) *Fixture {
	t.Helper()
	return env.Reopen(t, env.Target(t), opts...)
}

// Reopen opens a bus on a log that may exist.
func (env *Env) Reopen(t *testing.T, target string, opts ...runtime.Option) *Fixture {
	t.Helper()
	return env.ReopenWith(t, target, Catalogue, opts...)
}

// ReopenWith opens a bus with a catalogue of its own.
func (env *Env) ReopenWith(t *testing.T, target string, catalogue *runtime.Catalogue, opts ...runtime.Option) *Fixture {
	t.Helper()
	lines := &LogLines{}
	logger := slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	bus, err := env.OpenBus(t.Context(), target, catalogue, append([]runtime.Option{runtime.WithLogger(logger)}, opts...)...)
	Must(t, err)
	t.Cleanup(func() {
		bus.Shutdown(context.Background())
		for _, s := range bus.Stats().Subscriptions {
			if s.Stalls > 0 {
				t.Errorf("subscription %q has stalled: events waited until the bus looked again by itself, and nothing had told it to", s.Name)
			}
		}
	})
	return &Fixture{Bus: bus, Env: env, T: t, Path: target, Log: lines}
}

// since returns how much of the virtual time has passed, to the millisecond: a connection that waits for a lock of
// another one sleeps for parts of one.
func since(began time.Time) time.Duration { return time.Since(began).Round(time.Millisecond) }
