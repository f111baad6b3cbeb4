package tuning_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
)

// The tests tune the bus of the examples by an edited copy of its catalogue.

type fixture struct {
	*testing.T
	bus  *runtime.Bus
	path string // of the catalogue
	log  logLines
}

func newFixture(t *testing.T, opts ...runtime.Option) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{T: t, path: filepath.Join(dir, "events.yaml")}
	opts = append(opts, runtime.WithLogger(slog.New(slog.DiscardHandler)))
	bus, err := events.Open(t.Context(), filepath.Join(dir, "shop.db"), opts...)
	f.must(err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	f.bus = bus
	f.edit()
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// edit writes the catalogue of the examples with replacements: old, new, old, new, …
func (f *fixture) edit(replacements ...string) {
	f.Helper()
	f.must(os.WriteFile(f.path, edited(f.T, replacements...), 0o666))
}

func edited(t *testing.T, replacements ...string) []byte {
	t.Helper()
	source, err := os.ReadFile("../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for i := 0; i < len(replacements); i += 2 {
		if strings.Count(text, replacements[i]) != 1 {
			t.Fatalf("%q is %d times in the catalogue", replacements[i], strings.Count(text, replacements[i]))
		}
		text = strings.Replace(text, replacements[i], replacements[i+1], 1)
	}
	return []byte(text)
}

// at returns the position of a text that is once in the file; that of nothing is
// the file.
func (f *fixture) at(text string) string {
	f.Helper()
	source, err := os.ReadFile(f.path)
	f.must(err)
	before, _, found := strings.Cut(string(source), text)
	if !found {
		f.Fatalf("%q is not in the catalogue", text)
	}
	if text == "" {
		return f.path
	}
	lines := strings.Split(before, "\n")
	return fmt.Sprintf("%s:%d:%d", f.path, len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1)
}

var errBoom = errors.New("boom")

// failing subscribes a handler of user.registered that always fails, starts the
// bus and publishes one event. It returns when the handler ran, since then.
func (f *fixture) failing() (times func() []time.Duration) {
	f.Helper()
	var mu sync.Mutex
	var seen []time.Duration
	began := time.Now()
	_, err := events.SubscribeUserRegistered(f.bus, "failing", func(context.Context, runtime.Event[events.UserRegistered]) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, time.Since(began).Round(time.Millisecond))
		return errBoom
	})
	f.must(err)
	f.must(f.bus.Start(f.Context()))
	_, err = events.PublishUserRegistered(f.Context(), f.bus, eventstest.SampleUserRegistered())
	f.must(err)
	return func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return append([]time.Duration(nil), seen...)
	}
}

// logLines collects what is logged.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) logger() *slog.Logger { return slog.New(slog.NewJSONHandler(l, nil)) }

// take returns the messages since the last call, each with the attribute that
// says the most.
func (l *logLines) take() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.buf.String()) {
		var record map[string]string
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			return []string{line}
		}
		text := record["level"]
		for _, key := range []string{"changed", "difference", "position", "problem", "rule", "error"} {
			if record[key] != "" {
				text += " " + record[key]
			}
		}
		lines = append(lines, text)
	}
	l.buf.Reset()
	return lines
}
