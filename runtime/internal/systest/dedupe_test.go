package systest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// The first transaction that is to store the success finds the key taken, and fails. When it is
// tried again the key is free: its time is over.
func TestAKeyOfAHandlerIsLookedUpAgainIfItsSuccessCouldNotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t, runtime.WithDedupeWindow(time.Minute))
		pay := func(ctx context.Context, order, key string) {
			r, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: order}, runtime.WithDedupeKey(key))
			Must(t, err)
			if r.Duplicate {
				t.Errorf("order %s is a duplicate", order)
			}
		}
		f.Handle("parent", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			pay(ctx, "1", "k")
			pay(ctx, "beside it", "other")
			pay(t.Context(), "1", "k")
			return execFile(f.Path, "CREATE TRIGGER broken BEFORE INSERT ON busgen_log BEGIN SELECT RAISE(ABORT, 'broken'); END")
		})
		f.MustStart()
		f.Publish(1)
		time.Sleep(5 * time.Minute)
		if lines := f.Log.Level(t, "ERROR"); len(lines) != 1 || lines[0]["msg"] != "dispositions cannot be written; they are kept in memory and tried again" {
			t.Errorf("logged: %v", lines)
		}
		Must(t, execFile(f.Path, "DROP TRIGGER broken"))
		f.Idle()
		var paid []string
		for event, err := range runtime.Find(t.Context(), f.Bus, PaidType, runtime.Query{}) {
			Must(t, err)
			paid = append(paid, event.Payload.OrderID)
		}
		if want := []string{"beside it", "1", "1"}; !slices.Equal(paid, want) {
			t.Errorf("stored, the newest first: %q, want %q", paid, want)
		}
		if lines := f.Log.Level(t, "ERROR"); len(lines) != 1 {
			t.Errorf("logged: %v", lines)
		}
	})
}
