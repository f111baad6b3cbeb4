package systest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	. "github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// How often an event kills its process while others are handled beside it:
//
//	go test ./runtime/internal/systest -run TestAPoisonEventHarmsNoneOfThoseThatRunBesideIt -poison.runs 20
var poisonRuns = short.Flag("poison.runs", 2, 1, "how many rounds the test of a poison event among healthy ones runs")

func init() {
	for _, concurrency := range []int{1, 8} {
		children[fmt.Sprintf("poison beside %d", concurrency)] = func(path string) { crowdedChild(path, concurrency) }
	}
}

const crowdAttempts = 3 // the max_attempts of both subscriptions

// crowdedChild handles everything in two subscriptions, until an event kills it.
func crowdedChild(path string, concurrency int) {
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	for _, name := range []string{"killed", "beside"} {
		_, err = runtime.Subscribe(bus, PlacedType, name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			say("running %s %d %d", name, e.Payload.Number, e.Attempt)
			time.Sleep(time.Duration(2+e.Payload.Number%10) * time.Millisecond)
			if strings.HasPrefix(e.Payload.OrderID, "poison") && name == "killed" {
				process, _ := os.FindProcess(os.Getpid())
				process.Kill()
				select {}
			}
			return nil
		}, runtime.FromBeginning(), runtime.WithConcurrency(concurrency), runtime.WithRetry(retry.MaxAttempts(crowdAttempts)))
		check(err)
	}
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

func TestAPoisonEventHarmsNoneOfThoseThatRunBesideIt(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	for _, concurrency := range []int{1, 8} {
		for round := range poisonRuns.N() {
			t.Run(fmt.Sprintf("concurrency %d, round %d", concurrency, round+1), func(t *testing.T) {
				poisonRound(t, concurrency, (round*7)%51)
			})
		}
	}
}

// poisonRound lets one event among 50 kill its process until it is dead.
func poisonRound(t *testing.T, concurrency, poison int) {
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.Reopen(t, path)
	for n := range 51 {
		order := OrderPlaced{OrderID: fmt.Sprint("healthy ", n), Number: n}
		if n == poison {
			order.OrderID = "poison"
		}
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, order)
		Must(t, err)
	}
	f.Stop()

	lives, executions := 0, 0
	for finished := false; !finished && lives < 10; lives++ {
		for _, line := range child(t, fmt.Sprintf("poison beside %d", concurrency), path, 0) {
			if strings.HasPrefix(line, fmt.Sprintf("running killed %d ", poison)) {
				if executions++; line != fmt.Sprintf("running killed %d %d", poison, executions) {
					t.Errorf("execution %d of the poison is announced as %q", executions, line)
				}
			}
			finished = finished || line == "finished"
		}
	}
	if lives > crowdAttempts+1 || executions != crowdAttempts {
		t.Errorf("there were %d processes and %d executions of the poison, want %d that it ends and one that finishes", lives, executions, crowdAttempts)
	}
	inspector, err := inspect.Open(t.Context(), path)
	Must(t, err)
	defer inspector.Close()
	letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if len(letters) != 1 || letters[0].Reason != "crash" || letters[0].Subscription != "killed" || len(letters[0].Attempts) != crowdAttempts {
		t.Errorf("the dead letters are %+v, want the poison", letters)
	}
	if got := queryFile(t, path, "SELECT count(*) FROM events WHERE status = 'done'"); got != "50" {
		t.Errorf("%s healthy events are done, want 50", got)
	}
	if got := queryFile(t, path, "SELECT count(*) FROM busgen_attempts"); got != fmt.Sprint(crowdAttempts) {
		t.Errorf("%s failed attempts are on record, want the poison's %d", got, crowdAttempts)
	}
}
