//go:build unix

package jetstream_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

var moveFull = flag.Bool("move.full", false, "move 100,000 events, and be killed 20 times")

// moveFile is the role of the process that moves. It says how much has moved.
func moveFile(args []string) {
	moved, err := jetstream.Move(context.Background(), args[0], args[1], func(m jetstream.Moved) { servertest.Say("%d", m.Events) })
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	servertest.Say("done %+v", moved)
}

// Whoever moves a file is killed again and again. What has arrived in the end is what the file
// has, once.
func TestAMoveThatIsKilledGoesOnAndMovesEverythingOnce(t *testing.T) {
	size, kills := fileSize{events: 3000, retries: 60, dead: 40, subscriptions: 6}, 5
	if *moveFull {
		size, kills = fileSize{events: 100_000, retries: 1000, dead: 500, subscriptions: 20}, 20
	}
	began := time.Now()
	path := fillFile(t, size)
	want := readFile(t, path)
	t.Logf("the file has %d open events, %d deliveries; made in %v", len(want.events), len(want.open), time.Since(began).Round(time.Millisecond))
	address := servertest.Listen(t)
	target := "nats://" + address + "/shop"

	began = time.Now()
	killed := 0
	for i := range kills {
		// The first ones are killed before anything has moved, the last one when nearly all has.
		limit := len(want.events) * i / kills
		reached := make(chan struct{}, 1)
		p := servertest.StartProcess(t, func(line string) {
			var events int
			if fmt.Sscan(line, &events); events >= limit {
				select {
				case reached <- struct{}{}:
				default:
				}
			}
		}, "mover", path, target)
		if i > 0 {
			select {
			case <-reached:
			case <-p.Ended():
			}
		}
		time.Sleep(rand.N(30 * time.Millisecond))
		select {
		case <-p.Ended():
		default:
			killed++
		}
		p.Kill()
	}
	last := ""
	p := servertest.StartProcess(t, func(line string) { last = line }, "mover", path, target)
	<-p.Ended()
	t.Logf("killed %d times, moved in %v: %s", killed, time.Since(began).Round(time.Millisecond), last)
	if killed < kills*3/4 {
		t.Errorf("only %d of %d were killed before they were done", killed, kills)
	}
	for _, problem := range checkMoved(t, address, want, size) {
		t.Error(problem)
	}
	if *moveFull {
		return
	}
	handleMoved(t, target, want, size)
}

// handleMoved handles everything that is open on the bus, and checks that each handler gets each
// event once.
func handleMoved(t *testing.T, target string, want fileContent, size fileSize) {
	t.Helper()
	bus, err := runtime.Open(t.Context(), target, conformance.Catalogue, runtime.WithLogger(slog.New(slog.DiscardHandler)), jetstream.Engine())
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	handled := make([]atomic.Int64, size.subscriptions)
	for i := range size.subscriptions {
		_, err := runtime.Subscribe(bus, conformance.PlacedType, subscriptionName(i), func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
			handled[i].Add(1)
			return nil
		})
		conformance.Must(t, err)
		conformance.Must(t, bus.ResumeSubscription(t.Context(), subscriptionName(i)))
	}
	again, err := runtime.Publish(t.Context(), bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: "A", Number: firstKeyed(size)}, runtime.WithDedupeKey("key 0"))
	if err != nil || !again.Duplicate {
		t.Errorf("the idempotency key of the file: %+v, %v", again, err)
	}
	conformance.Must(t, bus.Start(t.Context()))
	for i := range size.subscriptions {
		open := int64(0)
		for d, s := range want.open {
			if d.subscription == subscriptionName(i) && s.state == "open" {
				open++
			}
		}
		for deadline := time.Now().Add(time.Minute); handled[i].Load() < open && time.Now().Before(deadline); {
			time.Sleep(5 * time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond)
		if got := handled[i].Load(); got != open {
			t.Errorf("%s has handled %d events, want %d", subscriptionName(i), got, open)
		}
	}
}

// firstKeyed is the number of the first order with an idempotency key.
func firstKeyed(size fileSize) int { return (max(size.retries, size.dead) + 3) / 4 * 4 }

// A file that was moved refuses buses and publishers until it is taken back.
func TestAFileThatWasMovedSaysWhereItsEventsAre(t *testing.T) {
	size := fileSize{events: 300, retries: 10, dead: 5, subscriptions: 5}
	path := fillFile(t, size)
	target := "nats://" + servertest.Listen(t) + "/shop"
	publisher := openFile(t, path, size, make([]atomic.Int64, size.subscriptions))
	defer publisher.Shutdown(context.Background())

	running := openFile(t, path, size, make([]atomic.Int64, size.subscriptions))
	conformance.Must(t, running.Start(t.Context()))
	if _, err := jetstream.Move(t.Context(), path, target, nil); !errors.Is(err, event.ErrAlreadyRunning) {
		t.Errorf("a file of a bus that runs: %v", err)
	}
	conformance.Must(t, running.Shutdown(t.Context()))
	other := openFile(t, path, size, make([]atomic.Int64, size.subscriptions))
	conformance.Must(t, other.Shutdown(t.Context()))

	// A target that is in use leaves the file as it is.
	used, err := runtime.Open(t.Context(), target+"2", conformance.Catalogue, jetstream.Engine())
	conformance.Must(t, err)
	_, err = runtime.Publish(t.Context(), used, conformance.PlacedType, conformance.OrderPlaced{})
	conformance.Must(t, err)
	if _, err := jetstream.Move(t.Context(), path, target+"2", nil); faultOf(err) != event.Foreign {
		t.Errorf("a target in use: %v", err)
	}
	conformance.Must(t, used.Shutdown(t.Context()))
	_, err = runtime.Publish(t.Context(), publisher, conformance.PlacedType, conformance.OrderPlaced{})
	conformance.Must(t, err)

	moved, err := jetstream.Move(t.Context(), path, target, nil)
	conformance.Must(t, err)
	if again, err := jetstream.Move(t.Context(), path, target, nil); err != nil || again != moved {
		t.Errorf("a second move: %+v after %+v, %v", again, moved, err)
	}
	if _, err := runtime.Publish(t.Context(), publisher, conformance.PlacedType, conformance.OrderPlaced{}); faultOf(err) != event.MovedAway {
		t.Errorf("publishing to a file that was moved: %v", err)
	}
	if err := publisher.Start(t.Context()); faultOf(err) != event.MovedAway {
		t.Errorf("starting a bus on a file that was moved: %v", err)
	}
	if bus, err := runtime.Open(t.Context(), path, conformance.Catalogue); faultOf(err) != event.MovedAway {
		t.Errorf("opening a file that was moved: %v, %v", bus, err)
	}
	to, err := jetstream.TakeBack(t.Context(), path)
	if err != nil || to != target {
		t.Errorf("taking it back: %q, %v", to, err)
	}
	bus := openFile(t, path, size, make([]atomic.Int64, size.subscriptions))
	conformance.Must(t, bus.Start(t.Context()))
	conformance.Must(t, bus.Shutdown(t.Context()))
}

func faultOf(err error) event.Fault {
	var storage *event.StorageError
	if !errors.As(err, &storage) {
		return ""
	}
	return storage.Fault
}
