package jetstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	js "github.com/nats-io/nats.go/jetstream"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
	"github.com/busgen/busgen/runtime/retry"
)

// The owner of a subscription, or of parts of it, hears nothing any more, so that it does not
// say that it is alive. Its handlers return when the next owner, which reads a replica that
// lags, has learned of some messages more: before the takeover, after it, and between what the
// next owner reads and what it stores.
func TestNothingComesAgainWhoseSuccessWasStoredDuringTheTakeover(t *testing.T) {
	for name, one := range map[string]overtaking{
		"whole":         {concurrency: 1, orders: 1},
		"whole-retries": {concurrency: 1, orders: 1, retries: true},
		"parts":         {concurrency: 64, orders: 32},
		"parts-retries": {concurrency: 64, orders: 32, retries: true},
	} {
		t.Run(name, func(t *testing.T) {
			stored, refused := 0, 0
			for learned := range 4 {
				synctest.Test(t, func(t *testing.T) {
					x := one
					x.t, x.server, x.returns = t, servertest.Start(t, t.TempDir()), make(chan struct{})
					before := x.run(learned)
					if stored += before; before < one.orders { // parts are stored one by one
						refused++
					}
				})
			}
			if t.Logf("%d successes of the old owner were stored; not all of them in %d of 4 runs", stored, refused); stored == 0 || refused == 0 {
				t.Error("want some, and some runs without all")
			}
		})
	}
}

// overtaking is a bus on which an owner is overtaken whose handlers are about to succeed.
type overtaking struct {
	t                   *testing.T
	server              *servertest.Server
	concurrency, orders int
	retries             bool          // first attempts fail
	returns             chan struct{} // closed when the handlers of the old owner return
}

func (x *overtaking) run(learned int) (byTheOldOwner int) {
	t := x.t
	old, line := process(t, x.server, nil)
	x.subscribe(old, func(int) { <-x.returns }, "old")
	var behind lag
	next, _ := process(t, x.server, nil, jetstream.Lagging(behind.wait))
	x.subscribe(next, x.wantNoChild, "next")
	publisher, _ := process(t, x.server, nil)
	time.Sleep(6 * time.Second) // they share the parts
	for n := range x.orders {
		_, err := runtime.Publish(t.Context(), publisher, conformance.PlacedType, conformance.OrderPlaced{OrderID: fmt.Sprint(n), Number: n})
		conformance.Must(t, err)
	}
	time.Sleep(6 * time.Second) // the handlers run, of retries if that is what is wanted
	line.Deafen()
	time.Sleep(3 * time.Second) // it is asked whether it is alive
	behind.begin()
	_, err := runtime.Publish(t.Context(), publisher, conformance.UserType, conformance.UserCreated{Name: "nobody subscribes to this"})
	conformance.Must(t, err)
	time.Sleep(10 * time.Second) // the old owner is thought dead, and the next one waits for the first message
	behind.pass(learned)
	close(x.returns)
	time.Sleep(time.Second)
	behind.pass(20)
	behind.end()
	line.Cut()
	time.Sleep(20 * time.Second)
	all, of := x.children()
	for n, children := range all {
		if children != 1 {
			t.Errorf("%d messages: order %d has %d children, want 1", learned, n, children)
		}
	}
	if len(all) != x.orders {
		t.Errorf("%d messages: %d orders have children, want %d", learned, len(all), x.orders)
	}
	return of["old"]
}

// subscribe makes a process fail at first, then work, and then publish a child.
func (x *overtaking) subscribe(bus *runtime.Bus, work func(n int), name string) {
	_, err := runtime.Subscribe(bus, conformance.PlacedType, "orders", func(ctx context.Context, e runtime.Event[conformance.OrderPlaced]) error {
		if e.Attempt == 1 && x.retries {
			return errors.New("not yet")
		}
		work(e.Payload.Number)
		_, err := runtime.Publish(ctx, bus, conformance.PaidType, conformance.OrderPaid{OrderID: fmt.Sprint(e.Payload.Number, " ", name)})
		return err
	}, runtime.WithConcurrency(x.concurrency), runtime.WithRetry(retry.WithBackoff(retry.Constant), retry.BaseDelay(5*time.Second), retry.Jitter(0)))
	conformance.Must(x.t, err)
	conformance.Must(x.t, bus.Start(x.t.Context()))
}

// wantNoChild fails if an order that is about to be handled was a success.
func (x *overtaking) wantNoChild(n int) {
	if all, _ := x.children(); all[n] > 0 {
		x.t.Errorf("order %d comes again, although its success is stored", n)
	}
}

// children reads how many children each order has, and how many each process has published.
// It shares no code with the engine.
func (x *overtaking) children() (all map[int]int, of map[string]int) {
	nc, err := x.server.Connect()
	conformance.Must(x.t, err)
	defer nc.Close()
	client, _ := js.New(nc)
	s, err := client.Stream(context.Background(), "bus")
	conformance.Must(x.t, err)
	all, of = map[int]int{}, map[string]int{}
	for seq := uint64(1); seq <= s.CachedInfo().State.LastSeq; seq++ {
		m, err := s.GetMsg(context.Background(), seq)
		if err != nil || m.Header.Get("Busgen-Type") != "order.paid" {
			continue
		}
		var child struct {
			Of string `json:"order_id"`
		}
		conformance.Must(x.t, json.Unmarshal(m.Data, &child))
		var n int
		var name string
		fmt.Sscan(child.Of, &n, &name)
		all[n]++
		of[name]++
	}
	return all, of
}
