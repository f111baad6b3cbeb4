package systest

import (
	"bufio"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	. "github.com/busgen/busgen/runtime/internal/conformance"
)

func init() {
	children["slow reader"] = slowReaderChild
	children["talker"] = talkerChild
}

// beginChild starts a child and passes on what it says, until it ends.
func beginChild(t *testing.T, mode, path string, heard func(word, rest string)) (wait func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode, childFile+"="+path)
	stdout, err := cmd.StdoutPipe()
	Must(t, err)
	Must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			word, rest, _ := strings.Cut(scanner.Text(), " ")
			if word == "trouble" {
				t.Errorf("the child says: %s", rest)
			}
			heard(word, rest)
		}
	}()
	return func() { <-ended }
}

const cancelRounds, cancelSize = 8, 40

// slowReaderChild publishes events and handles them, each in a few milliseconds. It says
// which there are, and which begin.
func slowReaderChild(path string) {
	ctx := context.Background()
	bus, err := runtime.Open(ctx, path, Catalogue, runtime.WithDurability(runtime.Normal))
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		say("began %s", e.ID)
		time.Sleep(time.Duration(rand.IntN(50)) * time.Millisecond)
		return nil
	}, runtime.WithConcurrency(2))
	check(err)
	check(bus.Start(ctx))
	for range cancelRounds {
		receipts, err := runtime.PublishBatch(ctx, bus, PlacedType, make([]OrderPlaced, cancelSize))
		check(err)
		for _, r := range receipts {
			say("event %s", r.ID)
		}
		check(bus.WaitIdle(ctx))
	}
	check(bus.Shutdown(ctx))
}

// One process dispatches, and another one cancels its events at any moment.
func TestAnEventIsEitherCancelledByAnotherProcessOrBegun(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.Reopen(t, path)
	var mu sync.Mutex
	outcomes, began := map[string]error{}, map[string]int{}
	var cancelling sync.WaitGroup
	wait := beginChild(t, "slow reader", path, func(word, id string) {
		switch word {
		case "began":
			began[id]++
		case "event":
			delay := time.Duration(rand.IntN(400)) * time.Millisecond
			cancelling.Go(func() {
				time.Sleep(delay)
				err := f.Cancel(t.Context(), uuid.MustParse(id))
				mu.Lock()
				outcomes[id] = err
				mu.Unlock()
			})
		}
	})
	wait()
	cancelling.Wait()
	count := map[string]int{}
	for id, err := range outcomes {
		var begun *event.BegunError
		var settled *event.NotOpenError
		var unanswered *event.UnansweredError
		switch {
		case err == nil:
			count["cancelled"]++
			if began[id] > 0 {
				t.Errorf("event %s is cancelled, and its handler was called", id)
			}
		case errors.As(err, &begun):
			count["begun"]++
			if began[id] != 1 {
				t.Errorf("the handler of event %s runs, and was called %d times", id, began[id])
			}
		case errors.As(err, &settled):
			count["handled before"]++
			if began[id] != 1 {
				t.Errorf("event %s is settled (%v), and its handler was called %d times", id, err, began[id])
			}
		case errors.As(err, &unanswered): // a machine may be this slow
			count["unanswered"]++
		default:
			t.Errorf("event %s: %v", id, err)
		}
	}
	t.Log(count)
	if len(outcomes) != cancelRounds*cancelSize || count["cancelled"] == 0 || count["begun"]+count["handled before"] == 0 {
		t.Errorf("%d events, %v: there was no race", len(outcomes), count)
	}
}

const talk = 1500

// talkerChild publishes numbers, some at once and some after a while.
func talkerChild(path string) {
	ctx := context.Background()
	bus, err := runtime.Open(ctx, path, Catalogue, runtime.WithDurability(runtime.Normal))
	check(err)
	say("ready")
	for n := 1; n <= talk; {
		for range min(1+rand.IntN(20), talk-n+1) {
			_, err := runtime.Publish(ctx, bus, PlacedType, OrderPlaced{OrderID: "A", Number: n})
			check(err)
			n++
		}
		time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	}
	check(bus.Shutdown(ctx))
}

// One process publishes without a pause, and another one awaits each event after the one
// before it.
func TestAwaitMissesNothingThatAnotherProcessPublishes(t *testing.T) {
	short.Skip(t, "processes publish in real time")
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.Reopen(t, path)
	since := time.Now()
	wait := beginChild(t, "talker", path, func(string, string) {})
	for last := 0; last < talk; {
		event, err := runtime.Await(t.Context(), f.Bus, PlacedType, runtime.Query{Since: since}, func(e runtime.Event[OrderPlaced]) bool { return e.Payload.Number > last })
		Must(t, err)
		if event.Payload.Number != last+1 {
			t.Fatalf("after order %d Await returned order %d", last, event.Payload.Number)
		}
		last, since = event.Payload.Number, event.PublishedAt
	}
	wait()
}
