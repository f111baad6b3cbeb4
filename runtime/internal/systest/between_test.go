package systest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// A subscription that is made while the bus looks at a restored file is started once.
func TestASubscriptionMadeWhileAFileIsRestoredIsStartedOnce(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	f := SQLite.Open(t)
	entered, release := make(chan struct{}, 9), make(chan struct{})
	defer close(release)
	f.Handle("stuck", func(context.Context, runtime.Event[OrderPlaced]) error {
		entered <- struct{}{}
		<-release
		return nil
	})
	f.Publish(1)
	backup := backUp(t, f)
	f.MustStart()
	<-entered
	restoreInto(t, f.Path, backup)
	f.Publish(2) // which notices it; the handler that is stuck is waited for
	goesOn := make(chan struct{})
	var ran Journal[int]
	f.Handle("late", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		ran.Add(e.Payload.Number)
		<-goesOn
		return nil
	}, runtime.FromBeginning())
	eventually(t, "the bus goes on", func() bool {
		return slices.ContainsFunc(f.Log.Level(t, "INFO"), func(line map[string]any) bool {
			return strings.HasPrefix(line["msg"].(string), "event bus goes on")
		})
	})
	eventually(t, "the new subscription runs", func() bool { return len(ran.All()) > 0 })
	close(goesOn)
	f.Publish(3)
	eventually(t, "all are handled", func() bool { return slices.Contains(ran.All(), 3) })
	if got := ran.All(); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("it has handled %v, want each once", got)
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	f.Shutdown(now)
}

// Start notices that the file was restored since it was opened.
func TestABusStartsOnAFileThatWasRestoredSinceItWasOpened(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	f := SQLite.Open(t)
	var ran Journal[int]
	f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		ran.Add(e.Payload.Number)
		return nil
	})
	f.Publish(1)
	backup := backUp(t, f)
	f.Publish(2)
	restoreInto(t, f.Path, backup)
	f.MustStart()
	f.Publish(3)
	eventually(t, "the events of the restored log are handled", func() bool { return len(ran.All()) >= 2 })
	f.Idle()
	if got := ran.All(); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("it has handled %v, want 1 and 3", got)
	}
	f.Stop()
}
