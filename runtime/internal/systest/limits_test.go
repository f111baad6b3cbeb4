package systest

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

// The file cannot store what a rate uses, as on a full disk. What needs no rate goes on.
func TestNothingThatNeedsARateBeginsWhileTheFileCannotStoreIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", Rate: 3, Per: 3 * time.Second}))
		var limited, free atomic.Int32
		f.Handle("limited", func(context.Context, runtime.Event[OrderPlaced]) error { limited.Add(1); return nil },
			runtime.WithLimits(declare.LimitUse{Limit: "mail"}))
		f.Handle("free", func(context.Context, runtime.Event[OrderPlaced]) error { free.Add(1); return nil })
		mail, err := f.Limiter("mail")
		Must(t, err)
		f.MustStart()
		Must(t, execFile(f.Path, "CREATE TRIGGER broken BEFORE INSERT ON busgen_limits BEGIN SELECT RAISE(ABORT, 'broken'); END"))
		f.Publish(1, 2)
		time.Sleep(10 * time.Second)
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := mail.Do(brief, func(context.Context) error { limited.Add(1); return nil }); err != context.DeadlineExceeded {
			t.Errorf("Do has returned %v", err)
		}
		if limited.Load() != 0 || free.Load() != 2 {
			t.Errorf("%d have begun that need the rate, and %d others; want none and 2", limited.Load(), free.Load())
		}
		if lines := f.Log.Level(t, "ERROR"); len(lines) != 1 || lines[0]["msg"] != "what limits have used cannot be stored, so nothing begins that needs a rate; trying again every second" {
			t.Errorf("logged: %v", lines)
		}
		Must(t, execFile(f.Path, "DROP TRIGGER broken"))
		time.Sleep(1100 * time.Millisecond)
		if limited.Load() != 2 {
			t.Errorf("%d have begun when the file can be written again, want 2", limited.Load())
		}
		Must(t, mail.Do(t.Context(), func(context.Context) error { return nil }))
		if lines := f.Log.Level(t, "ERROR"); len(lines) != 1 {
			t.Errorf("logged: %v", lines)
		}
	})
}
