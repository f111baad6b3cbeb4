package inspect_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// A program can keep a file open for an operator for weeks, and its name can lead to
// another one meanwhile.
func TestAFileThatIsReplacedIsTheOneThatIsLookedAtAndChanged(t *testing.T) {
	for name, running := range map[string]bool{"beside a bus": true, "after the bus": false} {
		for first, before := range map[string]func(*fixture) error{
			"after a look":   func(f *fixture) error { return second(f.file.Status(context.Background())) },
			"after a change": func(f *fixture) error { return f.file.PauseSubscription(context.Background(), "reader", "") },
		} {
			t.Run(name+" "+first, func(t *testing.T) {
				other := open(t)
				other.subscribe("reader", fine)
				other.start()
				for range 3 {
					must(t, second(runtime.Publish(t.Context(), other.Bus, placedType, order{})))
				}
				must(t, other.file.Close()) // else its write-ahead log stays
				other.stop()

				f := open(t)
				f.subscribe("reader", fine)
				f.start()
				must(t, second(runtime.Publish(t.Context(), f.Bus, placedType, order{})))
				if !running {
					f.stop()
				}
				must(t, before(f))
				must(t, os.Rename(other.path, f.path))
				must(t, os.RemoveAll(f.path+"-wal"))
				must(t, os.RemoveAll(f.path+"-shm"))

				status, err := f.file.Status(t.Context())
				must(t, err)
				if status.Events != 3 {
					t.Errorf("a look sees %d events of the file that is gone, want 3", status.Events)
				}
				must(t, f.file.PauseSubscription(t.Context(), "reader", ""))
				if got := query(t, f.path, "SELECT count(*) FROM pauses"); len(got) != 1 || got[0] != "1" {
					t.Errorf("the file has %v pauses, want 1", got)
				}
			})
		}
	}
}

// An operator who is asked, and the audit, read which events are meant.
func TestAReplaySaysWhichEvents(t *testing.T) {
	one, two := uuid.MustParse("018f4f2e-1c3a-7b21-8000-000000000001"), uuid.MustParse("018f4f2e-1c3a-7b21-8000-000000000002")
	for want, filter := range map[string]inspect.Filter{
		"all":          {},
		"type order.*": {Types: []string{"order.*"}},
		"event 018f4f2e-1c3a-7b21-8000-000000000001": {Events: []uuid.UUID{one}},
		"one of 2 given events, type order.*":        {Events: []uuid.UUID{one, two}, Types: []string{"order.*"}},
	} {
		if got := filter.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
