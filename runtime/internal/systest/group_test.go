package systest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// groupChild says which member runs for which event and attempt. B kills the
// process in its first attempt at event 1, and in its second at event 2, which
// has failed before.
func groupChild(path string) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	join := func(name string, do func(e runtime.Event[OrderPlaced]) error) {
		_, err := runtime.Subscribe(bus, PlacedType, name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			say("%s %d %d", name, e.Payload.Number, e.Attempt)
			return do(e)
		}, runtime.InGroup("checkout"), runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(9)))
		check(err)
	}
	succeed := func(runtime.Event[OrderPlaced]) error { return nil }
	join("A", succeed)
	join("B", func(e runtime.Event[OrderPlaced]) error {
		if e.Attempt == e.Payload.Number {
			process, _ := os.FindProcess(os.Getpid())
			process.Kill()
			select {}
		}
		if e.Attempt < e.Payload.Number {
			return ErrBoom
		}
		return nil
	})
	join("C", succeed)
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
	os.Exit(0)
}

func TestAGroupThatIsKilledRunsAgainWhatWasNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.Reopen(t, path)
	f.Handle("A", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.InGroup("checkout"))
	f.Publish(1, 2)
	f.Stop()
	var lines []string
	for lives := 0; !slices.Contains(lines, "finished") && lives < 10; lives++ {
		lines = append(lines, child(t, "group", path, 0)...)
	}
	for event, want := range map[string]string{
		"1": "A 1, B 1, A 2, B 2, C 2", // the success of A was not yet written
		"2": "A 1, B 1, B 2, B 3, C 3", // it was written with the failure of B
	} {
		var got []string
		for _, line := range lines {
			if of := strings.Fields(line); len(of) == 3 && of[1] == event {
				got = append(got, of[0]+" "+of[2])
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("event %s went through %s, want %s", event, strings.Join(got, ", "), want)
		}
	}
}
