package page_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// disturbed is an engine whose file is busy when it is looked into, so often.
type disturbed struct {
	engine.Inspectable
	left *atomic.Int32
}

func (d disturbed) Inspect(ctx context.Context, target, actor string) (engine.Inspection, error) {
	i, err := d.Inspectable.Inspect(ctx, target, actor)
	return disturbedLooks{i, d.left}, err
}

type disturbedLooks struct {
	engine.Inspection
	left *atomic.Int32
}

func (d disturbedLooks) Status(ctx context.Context, limit int, since event.Status) (event.Status, error) {
	if d.left.Add(-1) >= 0 {
		return event.Status{}, &event.StorageError{Fault: event.Busy, Op: "read", Path: "shop.db", Hint: "a program began to use the file"}
	}
	return d.Inspection.Status(ctx, limit, since)
}

func TestAPageIsMadeAgainIfAProgramBeginsToUseTheFileMeanwhile(t *testing.T) {
	f := SQLite.OpenJobs(t)
	f.Stop()
	left := &atomic.Int32{}
	file, err := inspect.Open(t.Context(), f.Path, inspect.WithEngine(disturbed{sqlite.Engine{}, left}))
	Must(t, err)
	defer file.Close()
	p := on(t, file)
	for times, want := range map[int32]int{1: http.StatusOK, 3: http.StatusOK, 100: http.StatusServiceUnavailable} {
		left.Store(times)
		status, _, got := get(p, "/subscriptions")
		if status != want {
			t.Errorf("busy %d times: status %d\n%s", times, status, got)
		}
		if tries := times - left.Load(); tries > 5 {
			t.Errorf("a page was tried %d times", tries)
		}
	}
}
