// Command example is the shop on three servers, on this machine:
//
//	go run ./example
//
// It starts three NATS servers and two shops, each a process of its own, and publishes orders.
// On the way it kills a shop and a server with SIGKILL, and starts them again. In the end it
// checks that every order was handled by every subscription, and ends with status 0 if so.
// It takes about half a minute and leaves nothing behind.
//
// main.go tells the story, shop.go is what a program of yours has, and servers.go is what an
// operator sets up for it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/jetstream"
)

// orders is how many are published, and pause how long the publisher waits between two.
const (
	orders = 400
	pause  = 30 * time.Millisecond
)

func main() {
	if playPart() { // this process is a server or a shop
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := tell(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

// tell is the story.
func tell(ctx context.Context) (err error) {
	s := &stage{began: time.Now(), handled: map[string]map[int64]int{}, by: map[string]string{}}
	defer s.clear()
	if err := s.startServers(); err != nil {
		return err
	}
	target := "nats://" + s.hosts() + "/shop"
	s.say("three servers listen at %s", s.hosts())
	quiet := runtime.WithLogger(slog.New(slog.DiscardHandler))
	bus, err := events.Open(ctx, target, jetstream.Engine(), quiet)
	if err != nil {
		return err
	}
	defer bus.Shutdown(context.Background())
	s.say("the stream has three replicas; server %s leads it", s.leader(ctx))
	for i := range s.shops {
		if err := s.startShop(i, target); err != nil {
			return err
		}
	}
	s.say("shop 1 and shop 2 are started; orders are published")

	var acts sync.WaitGroup
	defer acts.Wait()
	var longest time.Duration
	var receipts []*runtime.Receipt
	for n := range int64(orders) {
		switch n {
		case orders / 4:
			acts.Go(func() { s.killShop(target) })
		case orders / 2:
			acts.Go(func() { s.killServer(ctx) })
		}
		order := eventstest.SampleOrderPlaced()
		order.Number = n
		began := time.Now()
		receipt, err := events.PublishOrderPlaced(ctx, bus, order)
		if err != nil {
			return fmt.Errorf("order %d: %w", n, err)
		}
		longest = max(longest, time.Since(began))
		receipts = append(receipts, receipt)
		time.Sleep(pause)
	}
	acts.Wait()
	s.say("%d orders are published; the longest took %v", orders, longest.Round(time.Millisecond))
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for n, receipt := range receipts {
		outcome, err := receipt.Wait(waiting)
		if err != nil {
			return fmt.Errorf("order %d is not settled: %w", n, err)
		}
		for _, o := range outcome.Deliveries {
			if o.Dead || o.Discarded {
				return fmt.Errorf("order %d, %s: %s", n, o.Subscription, o.LastError)
			}
		}
	}
	s.say("every order is settled by every subscription")
	return s.check()
}
