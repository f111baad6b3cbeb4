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
	"github.com/busgen/busgen/runtime/declare"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// groupChild says which member runs for which event and attempt. B kills the
// process in its first attempt at event 1, and in its second at event 2, which
// has failed before.
func groupChild(path string, placed *runtime.EventType[OrderPlaced], catalogue *runtime.Catalogue, members ...string) {
	bus, err := runtime.Open(context.Background(), path, catalogue)
	check(err)
	join := func(name string, do func(e runtime.Event[OrderPlaced]) error) {
		_, err := runtime.Subscribe(bus, placed, name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			say("%s %d %d", name, e.Payload.Number, e.Attempt)
			return do(e)
		}, runtime.InGroup("checkout"), runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(9)))
		check(err)
	}
	does := map[string]func(e runtime.Event[OrderPlaced]) error{
		"A": func(runtime.Event[OrderPlaced]) error { return nil },
		"B": func(e runtime.Event[OrderPlaced]) error {
			if e.Attempt == e.Payload.Number {
				process, _ := os.FindProcess(os.Getpid())
				process.Kill()
				select {}
			}
			if e.Attempt < e.Payload.Number {
				return ErrBoom
			}
			return nil
		},
		"C": func(runtime.Event[OrderPlaced]) error { return nil },
	}
	for _, name := range members {
		join(name, does[name])
	}
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
	killedGroup(t, "group", path)
}

// chainPlaced declares the group.
var chainPlaced = runtime.Define(runtime.Spec[OrderPlaced]{
	Name: "order.placed", Settings: Within(30*time.Second, Exact(retry.MaxAttempts(3))),
	Subscriptions: []declare.Subscription{
		{Name: "A", Settings: Within(30*time.Second, Exact()), Group: "checkout"},
		{Name: "B", Settings: Within(30*time.Second, Exact()), Group: "checkout"},
		{Name: "C", Settings: Within(30*time.Second, Exact()), Group: "checkout"},
	},
})

// Its members are subscribed the other way round.
func TestADeclaredGroupThatIsKilledRunsAgainWhatWasNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.ReopenWith(t, path, runtime.NewCatalogue(chainPlaced))
	for n := 1; n <= 2; n++ {
		_, err := runtime.Publish(t.Context(), f.Bus, chainPlaced, OrderPlaced{OrderID: "A", Number: n})
		Must(t, err)
	}
	f.Stop()
	killedGroup(t, "declared group", path)
}

// killedGroup starts the child until it is through, and checks which members have run.
func killedGroup(t *testing.T, kind, path string) {
	t.Helper()
	var lines []string
	for lives := 0; !slices.Contains(lines, "finished") && lives < 10; lives++ {
		lines = append(lines, child(t, kind, path, 0)...)
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
