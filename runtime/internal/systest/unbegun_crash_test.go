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
	"github.com/busgen/busgen/runtime/internal/sqlite/claims"
	"github.com/busgen/busgen/runtime/retry"
)

func init() {
	children["slow sync"] = slowSyncChild
	for _, neighbours := range []int{0, 8} {
		children[fmt.Sprintf("poison at once beside %d", neighbours)] = func(path string) { poisonedAtOnceChild(path, neighbours) }
	}
}

// slowClaims makes each sync of the claims take as long as on a disk that is busy.
func slowClaims() {
	claims.SyncFile = func(file *os.File) error {
		time.Sleep(time.Second)
		return file.Sync()
	}
}

// slowSyncChild has two handlers that do not return until it is killed.
func slowSyncChild(path string) {
	slowClaims()
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		say("called %d", e.Payload.Number)
		select {}
	}, runtime.FromBeginning(), runtime.WithConcurrency(2), runtime.WithRetry(retry.MaxAttempts(crowdAttempts)))
	check(err)
	check(bus.Start(context.Background()))
	say("ready")
	select {}
}

// The claim of a suspect is synced. A process that is killed while the disk takes its time has
// either called the handler, or the crash counts for nobody.
func TestAKillCountsForNoHandlerThatWasNotCalled(t *testing.T) {
	short.Visit(t, "it runs processes, or fills files")
	path := filepath.Join(t.TempDir(), "events.db")
	f := SQLite.Reopen(t, path)
	f.Publish(0, 1)
	f.Stop()
	called := map[int]int{}
	for life := range 6 {
		wait := 100 * time.Millisecond
		if life == 0 {
			wait = 500 * time.Millisecond // both run
		}
		for _, line := range child(t, "slow sync", path, wait) {
			var number int
			if n, _ := fmt.Sscanf(line, "called %d", &number); n == 1 {
				called[number]++
			}
		}
	}
	SQLite.Reopen(t, path).MustStart() // which finds out what ran
	for _, number := range []int{0, 1} {
		counted := queryFile(t, path, fmt.Sprintf("SELECT count(*) FROM busgen_attempts WHERE kind = 'crash' AND seq = %d", number+1))
		var crashes int
		if fmt.Sscan(counted, &crashes); crashes > called[number] {
			t.Errorf("event %d has %d crashes on record, and its handler was called %d times", number, crashes, called[number])
		}
	}
}

// poisonedAtOnceChild has a handler that ends the process with its first instruction, while
// others are busy in as many subscriptions.
func poisonedAtOnceChild(path string, neighbours int) {
	slowClaims()
	bus, err := runtime.Open(context.Background(), path, Catalogue)
	check(err)
	_, err = runtime.Subscribe(bus, PlacedType, "poisoned", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		if e.Payload.OrderID == "poison" {
			os.Exit(1)
		}
		return nil
	}, runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(crowdAttempts)))
	check(err)
	for n := range neighbours {
		_, err = runtime.Subscribe(bus, PlacedType, fmt.Sprint("busy ", n), func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Duration(n+1) * time.Millisecond)
			return nil
		}, runtime.FromBeginning(), runtime.WithRetry(retry.MaxAttempts(crowdAttempts)))
		check(err)
	}
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
}

func TestAnEventThatEndsItsProcessAtOnceIsFoundHoweverSlowTheDiskIs(t *testing.T) {
	short.Skip(t, "processes are killed, and a suspect waits for ten seconds of real time")
	for _, neighbours := range []int{0, 8} {
		t.Run(fmt.Sprintf("beside %d", neighbours), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "events.db")
			f := SQLite.Reopen(t, path)
			for n := range 20 {
				order := OrderPlaced{OrderID: "healthy", Number: n}
				if n == 7 {
					order.OrderID = "poison"
				}
				_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, order)
				Must(t, err)
			}
			f.Stop()
			lives := 0
			for finished := false; !finished && lives < 10; lives++ {
				said := child(t, fmt.Sprintf("poison at once beside %d", neighbours), path, 0)
				finished = strings.Join(said, "") == "finished"
			}
			if lives > crowdAttempts+2 {
				t.Errorf("the poison took %d lives, want %d at most", lives, crowdAttempts+2)
			}
			inspector, err := inspect.Open(t.Context(), path)
			Must(t, err)
			defer inspector.Close()
			letters, _, err := inspector.DeadLetters(t.Context(), event.Filter{}, event.Page{})
			Must(t, err)
			if len(letters) != 1 || letters[0].Reason != "crash" || letters[0].Subscription != "poisoned" {
				t.Errorf("the dead letters are %+v, want the poison", letters)
			}
		})
	}
}
