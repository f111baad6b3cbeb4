package systest

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

func TestASuspectThatIsDueLaterBlocksNoOthersUntilThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := SQLite.Crowded(t, "one", "two")
		c.MustStart() // which finds out what ran
		c.Stop()
		Must(t, execFile(c.Path, "UPDATE busgen_deliveries SET due_at = due_at + 3600000000, wait = 3600000000"))

		d := &Crowd{Fixture: SQLite.Reopen(t, c.Path)}
		d.Handle("one", d.Work("one"))
		d.Handle("two", d.Work("two"))
		d.MustStart()
		d.Publish(2)
		time.Sleep(time.Minute)
		if got := d.Ran.All(); len(got) != 2 || d.Most.Load() != 2 {
			t.Errorf("before they are due %v ran, %d at once; want event 2 in both", got, d.Most.Load())
		}
	})
}

// Without claims, as after a power cut, a crash counts for no delivery.
func TestWithoutClaimsACrashUsesNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("one", Hang, runtime.WithRetry(retry.MaxAttempts(1)))
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second) // the row says that it runs
		path := f.Killed()
		Must(t, os.Remove(path+"-claims"))
		c := &Crowd{Fixture: SQLite.Reopen(t, path)}
		c.Handle("one", c.Work("one"), runtime.WithRetry(retry.MaxAttempts(1)))
		c.MustStart()
		c.Idle()
		c.Saw("one 1.2")
	})
}

// Deliveries that no handler has begun leave a shutdown without a row.
func TestAShutdownWritesRowsOnlyForDeliveriesThatHaveBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := SQLite.Open(t)
		f.Handle("one", Hang)
		f.MustStart()
		f.Publish(Numbers(1, 100)...)
		synctest.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		f.Shutdown(ctx)
		if got := queryFile(t, f.Path, "SELECT count(*) || ' ' || max(uncounted) || ' ' || max(failures) FROM busgen_deliveries"); got != "1 1 0" {
			t.Errorf("rows, executions and failures are %s, want one row that was begun once", got)
		}
		again := SQLite.Reopen(t, f.Path)
		var attempts Journal[int]
		again.Handle("one", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			attempts.Add(e.Attempt*1000 + e.Payload.Number)
			return nil
		})
		again.MustStart()
		again.Idle()
		if got := attempts.All(); len(got) != 100 || got[0] != 2001 || got[1] != 1002 || got[99] != 1100 {
			t.Errorf("afterwards the attempts are %v", got)
		}
	})
}
