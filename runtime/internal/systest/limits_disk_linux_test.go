package systest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// Each event has a key of its own, so each attempt needs a row. A reader keeps the write-ahead log from
// beginning anew.
func TestAFullDiskHoldsARateBackAndLosesNoEvent(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	folder := mounted(t, "tmpfs", "tmpfs", 0, "size=12m")
	f := SQLite.Reopen(t, filepath.Join(folder, "events.db"), runtime.WithLimit(declare.Limit{Name: "mail", Rate: 1, Per: time.Hour}))
	var seen Journal[int]
	full := make(chan struct{})
	f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		<-full
		seen.Add(e.Payload.Number)
		return nil
	}, runtime.WithConcurrency(8), runtime.WithLimits(declare.LimitUse{Limit: "mail", By: "order_id"}))
	f.MustStart()
	const events = 300
	for n := range events {
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: fmt.Sprint(n), Number: n})
		Must(t, err)
	}
	defer hold(t, f.Path)()
	free := fill(t, folder)
	close(full)
	said := func(level, message string) (text string) {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			for _, line := range f.Log.Level(t, level) {
				if line["msg"] == message {
					return fmt.Sprint(line["error"])
				}
			}
		}
		t.Fatalf("nobody has said %q, and %d were handled", message, len(seen.All()))
		return ""
	}
	why := said("ERROR", "what limits have used cannot be stored, so nothing begins that needs a rate; trying again every second")
	if !strings.Contains(why, "full") || !strings.Contains(why, f.Path) {
		t.Errorf("the reason is %q", why)
	}
	begun := len(seen.All())
	free()
	said("INFO", "what limits have used can be stored again")
	f.Idle()
	f.Stop()
	got := seen.All()
	slices.Sort(got)
	if len(slices.Compact(slices.Clone(got))) != events {
		t.Errorf("of %d events %d were handled, %d before there was space", events, len(got), begun)
	}
	if got := queryFile(t, f.Path, "SELECT count(*) FROM events WHERE status = 'done'"); got != fmt.Sprint(events) {
		t.Errorf("%s of %d events are done", got, events)
	}
}
