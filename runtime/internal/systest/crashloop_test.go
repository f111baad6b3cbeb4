package systest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

func init() {
	for _, concurrency := range []int{1, 4} {
		children[fmt.Sprintf("loop %d", concurrency)] = func(path string) { loopChild(path, concurrency) }
	}
}

// loopChild is a program whose port is in use: it ends 3 milliseconds after its start.
func loopChild(path string, concurrency int) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(context.Context, runtime.Event[OrderPlaced]) error {
		time.Sleep(20 * time.Millisecond)
		return nil
	}, runtime.FromBeginning(), runtime.WithConcurrency(concurrency), runtime.WithRetry(retry.MaxAttempts(2)))
	check(err)
	check(bus.Start(context.Background()))
	time.Sleep(3 * time.Millisecond)
	os.Exit(1)
}

func TestAProgramThatEndsByItselfHarmsNoEvent(t *testing.T) {
	short.Skip(t, "processes end again and again")
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprintf("concurrency %d", concurrency), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			f := SQLite.Reopen(t, path)
			f.Publish(Numbers(1, 20)...)
			f.Stop()
			for range 30 {
				child(t, fmt.Sprintf("loop %d", concurrency), path, 0)
			}
			f = SQLite.Reopen(t, path)
			f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(2)))
			f.MustStart()
			f.Idle()
			if got := queryFile(t, path, "SELECT count(*) FROM events WHERE status <> 'done'"); got != "0" {
				t.Errorf("%s of 20 events are not done", got)
				for _, letter := range SQLite.Dead(t, path) {
					t.Logf("%s: %s, %+v", letter, letter.Reason, letter.Attempts)
				}
			}
		})
	}
}
