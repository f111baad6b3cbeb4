package inspect_test

import (
	"context"
	"os"
	"testing"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance/inspection"
)

// A program can keep a file open for an operator for weeks, and its name can lead to
// another one meanwhile.
func TestAFileThatIsReplacedIsTheOneThatIsLookedAtAndChanged(t *testing.T) {
	for name, running := range map[string]bool{"beside a bus": true, "after the bus": false} {
		for first, before := range map[string]func(*Fixture) error{
			"after a look":   func(f *Fixture) error { return Second(f.File.Status(context.Background())) },
			"after a change": func(f *Fixture) error { return f.File.PauseSubscription(context.Background(), "reader", "") },
		} {
			t.Run(name+" "+first, func(t *testing.T) {
				other := SQLite.Open(t)
				other.Subscribe("reader", Fine)
				other.MustStart()
				for range 3 {
					Must(t, Second(runtime.Publish(t.Context(), other.Bus, PlacedType, Order{})))
				}
				Must(t, other.File.Close()) // else its write-ahead log stays
				other.Stop()

				f := SQLite.Open(t)
				f.Subscribe("reader", Fine)
				f.MustStart()
				Must(t, Second(runtime.Publish(t.Context(), f.Bus, PlacedType, Order{})))
				if !running {
					f.Stop()
				}
				Must(t, before(f))
				Must(t, os.Rename(other.Path, f.Path))
				Must(t, os.RemoveAll(f.Path+"-wal"))
				Must(t, os.RemoveAll(f.Path+"-shm"))

				status, err := f.File.Status(t.Context())
				Must(t, err)
				if status.Events != 3 {
					t.Errorf("a look sees %d events of the file that is gone, want 3", status.Events)
				}
				Must(t, f.File.PauseSubscription(t.Context(), "reader", ""))
				if got := query(t, f.Path, "SELECT count(*) FROM busgen_pauses"); len(got) != 1 || got[0] != "1" {
					t.Errorf("the file has %v pauses, want 1", got)
				}
			})
		}
	}
}
