//go:build unix

package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

var killPoison = flag.Bool("kill.poison", false, "end processes by events, beside three servers that are processes")

// isPoison reports whether the handler of an order ends its process.
func isPoison(n int) bool { return n == 400 || n == 900 || n == 1500 }

// ended is the role of a worker that some orders end.
func ended(args []string) {
	asked := servertest.Asked()
	bus := openUntil(args[0], asked)
	for _, sub := range []struct {
		name        string
		concurrency int
	}{{"work", 8}, {"bulk", 8}, {"strict", 1}} {
		_, err := runtime.Subscribe(bus, conformance.PlacedType, sub.name, func(_ context.Context, e runtime.Event[conformance.OrderPlaced]) error {
			if n := e.Payload.Number; sub.name == "work" && isPoison(n) {
				servertest.Say("dies %d", n)
				os.Exit(9)
			}
			time.Sleep(time.Millisecond)
			return nil
		}, runtime.FromBeginning(), runtime.WithConcurrency(sub.concurrency), runtime.WithRetry(retry.MaxAttempts(poisonedAttempts), retry.BaseDelay(200*time.Millisecond)))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	for bus.Start(context.Background()) != nil {
		pauseOrEnd("start", nil, asked)
	}
	<-asked
	bus.Shutdown(context.Background())
}

// The same as TestAPoisonEventTakesTwoLivesMoreThanItsAttemptsAtMost, with real processes.
func TestAPoisonEventEndsFewRealProcesses(t *testing.T) {
	if !*killPoison {
		t.Skip("with -kill.poison")
	}
	nodes := servertest.StartNodes(t, 3)
	target := "nats://" + nodes.Hosts() + "/bus"
	bus, err := runtime.Open(t.Context(), target, conformance.Catalogue, jetstream.Engine(jetstream.Replicas(3)))
	conformance.Must(t, err)
	defer bus.Shutdown(context.Background())
	said := newJournal()
	var living [4]*servertest.Process
	processes, published := 0, 0
	x := &poisoned{t: t, poisons: map[int]bool{}}
	for n := range 2000 {
		if isPoison(n) {
			x.poisons[n] = true
		}
	}
	nc, err := nodes.Connect()
	conformance.Must(t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	dead := 0
	for began := time.Now(); dead < len(x.poisons) && time.Since(began) < 6*time.Minute; time.Sleep(20 * time.Millisecond) {
		for i, p := range living {
			if p != nil {
				select {
				case <-p.Ended():
				default:
					continue
				}
			}
			living[i] = servertest.StartProcess(t, said.hear, "ended", target)
			processes++
		}
		var orders []conformance.OrderPlaced
		for range 6 {
			orders = append(orders, conformance.OrderPlaced{OrderID: fmt.Sprint(published % 100), Number: published})
			published++
		}
		_, err := runtime.PublishBatch(t.Context(), bus, conformance.PlacedType, orders)
		conformance.Must(t, err)
		if published%300 == 0 {
			dead = x.count(client)
		}
	}
	for _, p := range living {
		p.End(20 * time.Second)
	}
	said.mu.Lock()
	defer said.mu.Unlock()
	for n := range x.poisons {
		if lives := said.said["dies"][n]; lives < poisonedAttempts || lives > poisonedAttempts+2 {
			t.Errorf("event %d has ended %d processes, want %d to %d", n, lives, poisonedAttempts, poisonedAttempts+2)
		}
	}
	t.Log(processes, "processes,", published, "events, ended by each poison event:", said.said["dies"])
	x.check(client)
}
