package runtimetest

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"
)

// testLog writes the log of a bus to the output of its test. Each line has the time
// since the bus was opened.
type testLog struct {
	t     testing.TB
	life  int
	since time.Time

	mu    sync.Mutex
	ended bool
}

func newTestLog(t testing.TB, life int) *testLog {
	return &testLog{t: t, life: life, since: time.Now()}
}

func (l *testLog) logger() *slog.Logger {
	handler := slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.String("after", a.Value.Time().Sub(l.since).String())
		}
		return a
	}})
	if l.life == 1 {
		return slog.New(handler)
	}
	return slog.New(handler).With("life", l.life)
}

// Write drops what comes after the end: goroutines may outlive their test.
func (l *testLog) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return len(line), nil
	}
	return fmt.Fprintf(l.t.Output(), "%s", line)
}

func (l *testLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}
