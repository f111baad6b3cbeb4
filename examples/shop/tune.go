package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/tuning"
)

// tuningPace is how long an order takes with -tune, so that there is time to edit
// the file: 500 orders take half a minute.
const tuningPace = 60 * time.Millisecond

// tune applies the settings of a catalogue file to the bus whenever the file changes, and
// prints what changed. It also prints the findings of an edit, which then changes nothing.
func tune(ctx context.Context, bus *runtime.Bus, path string, logger *slog.Logger, out io.Writer) (*tuning.Watcher, error) {
	return tuning.Watch(ctx, bus, path, tuning.Every(200*time.Millisecond), tuning.Logger(logger),
		tuning.Notify(func(report tuning.Report, err error) {
			if err != nil {
				fmt.Fprintln(out, "\n"+err.Error())
				return
			}
			line := fmt.Sprintf("\nThe settings are those of %s now", path)
			if len(report.Tuned) > 0 {
				line += fmt.Sprintf("; different from what was built: %v", report.Tuned)
			}
			fmt.Fprintln(out, line)
			for _, difference := range report.NeedsBuild {
				fmt.Fprintln(out, "needs a build:", difference)
			}
		}))
}

// lockedWriter lets several goroutines write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	io.Writer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Writer.Write(p)
}

// A schedule shows when a handler that fails is called again. It is safe for
// concurrent use; a nil one shows nothing.
type schedule struct {
	out  io.Writer
	mu   sync.Mutex
	last map[uuid.UUID]time.Time // attempts at events that may come again
}

// failed is called by the handler of a receipt that could not be sent.
func (s *schedule) failed(e runtime.Event[events.OrderPlaced]) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	line := fmt.Sprintf("  receipt of order %d: attempt %d of %d failed", e.Payload.Number, e.Attempt, e.MaxAttempts)
	if before, ok := s.last[e.ID]; ok {
		line += fmt.Sprintf(", %v after the one before", now.Sub(before).Round(10*time.Millisecond))
	}
	fmt.Fprintln(s.out, line)
	if s.last[e.ID] = now; e.Attempt >= e.MaxAttempts {
		delete(s.last, e.ID)
	}
}
