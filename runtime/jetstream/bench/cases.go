package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// benchCase is something that is measured.
type benchCase struct {
	name string
	bus  func(context.Context, *setting) (side, error)
	bare func(context.Context, *setting) (side, error) // nil for none
}

var cases = []benchCase{
	{"publish-1", publishing(1), waiting},
	{"publish-128", publishing(128), asynchronous},
	{"batch-1000", batches, atomicBatches},
	{"keys-1", keyed(1), pairs(1)},
	{"keys-128", keyed(128), pairs(128)},
	{"e2e-1", handled(1), read},
	{"e2e-10", handled(10), read},
	{"deliveries-100", delivered, nil},
	{"catch-up", caughtUp(1), readAll},
	{"catch-up-4", caughtUp(4), readAll},
}

// waitingEvents is how many events wait for a subscription that catches up.
const waitingEvents = 100_000

// caughtUp is a new subscription for each turn, which handles what the log has. Its handlers are in so many buses, four
// in each.
func caughtUp(buses int) func(context.Context, *setting) (side, error) {
	return func(ctx context.Context, s *setting) (side, error) {
		address := s.address() + "/" + s.newName()
		all := make([]*bus, buses)
		var err error
		for i := range all {
			if all[i], err = s.openBusAt(ctx, address, 0); err != nil {
				return nil, err
			}
		}
		payloads := make([]events.OrderPlaced, 1000)
		for i := range payloads {
			payloads[i] = sample
		}
		for n := 0; n < waitingEvents; n += len(payloads) {
			if _, err := runtime.PublishBatch(ctx, all[0].Bus, events.OrderPlacedType, payloads); err != nil {
				return nil, err
			}
		}
		for _, b := range all {
			if err := b.Start(ctx); err != nil {
				return nil, err
			}
		}
		turn := 0
		return func(time.Duration) (int, error) {
			var handled count
			turn++
			var subs []*runtime.Subscription
			for _, b := range all {
				sub, err := events.SubscribeOrderPlaced(b.Bus, fmt.Sprint("late-", turn), func(context.Context, runtime.Event[events.OrderPlaced]) error {
					handled.Add(1)
					return nil
				}, runtime.FromBeginning(), runtime.WithConcurrency(4))
				if err != nil {
					return 0, err
				}
				subs = append(subs, sub)
			}
			err := waitFor(nil, func() bool { return handled.Load() >= waitingEvents })
			for _, sub := range subs {
				err = cmp.Or(err, sub.Unsubscribe(ctx))
			}
			return waitingEvents, cmp.Or(err, all[0].Remove(ctx, fmt.Sprint("late-", turn)))
		}, nil
	}
}

// readAll reads as many messages with one ordered consumer.
func readAll(ctx context.Context, s *setting) (side, error) {
	b, err := s.openBare(ctx)
	for n := 0; err == nil && n < waitingEvents; n += 1000 {
		err = b.publishBatch(1000)
	}
	return func(time.Duration) (int, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var got atomic.Int64
		stop, err := b.follow(ctx, func() { got.Add(1) })
		if err != nil {
			return 0, err
		}
		defer stop()
		return waitingEvents, waitFor(nil, func() bool { return got.Load() >= waitingEvents })
	}, err
}

// publishing is a bus with so many publishers that wait for each event.
func publishing(publishers int) func(context.Context, *setting) (side, error) {
	return func(ctx context.Context, s *setting) (side, error) {
		b, err := s.openBus(ctx, 0)
		return func(d time.Duration) (int, error) { return b.publish(ctx, publishers, d) }, err
	}
}

// keyed is publishing with an idempotency key for each event.
func keyed(publishers int) func(context.Context, *setting) (side, error) {
	return func(ctx context.Context, s *setting) (side, error) {
		b, err := s.openBus(ctx, 0)
		return func(d time.Duration) (int, error) {
			return together(publishers, d, func() error {
				_, err := events.PublishOrderPlaced(ctx, b.Bus, sample, runtime.WithDedupeKey(nuid.Next()))
				return err
			})
		}, err
	}
}

// pairs publishes atomic batches of a key and an event, from as many goroutines.
func pairs(publishers int) func(context.Context, *setting) (side, error) {
	return func(ctx context.Context, s *setting) (side, error) {
		b, err := s.openBare(ctx)
		return func(d time.Duration) (int, error) {
			return together(publishers, d, func() error { return b.publishBatch(2) })
		}, err
	}
}

// batches is a bus with a publisher of 1,000 events at a time.
func batches(ctx context.Context, s *setting) (side, error) {
	b, err := s.openBus(ctx, 0)
	return func(d time.Duration) (n int, err error) {
		payloads := make([]events.OrderPlaced, 1000)
		for i := range payloads {
			payloads[i] = sample
		}
		for until := time.Now().Add(d); err == nil && time.Now().Before(until); n += len(payloads) {
			_, err = runtime.PublishBatch(ctx, b.Bus, events.OrderPlacedType, payloads)
		}
		return n, err
	}, err
}

// handled is a bus with 128 publishers, whose events are handled by so many subscriptions.
func handled(subscriptions int) func(context.Context, *setting) (side, error) {
	return func(ctx context.Context, s *setting) (side, error) {
		b, err := s.openBus(ctx, subscriptions)
		return func(d time.Duration) (int, error) {
			n, err := b.publish(ctx, 128, d)
			if err != nil {
				return 0, err
			}
			b.published += n
			return n, b.waitHandled(int64(b.published * subscriptions))
		}, err
	}
}

// delivered is the deliveries of a bus with 100 subscriptions.
func delivered(ctx context.Context, s *setting) (side, error) {
	do, err := handled(100)(ctx, s)
	return func(d time.Duration) (int, error) {
		n, err := do(d)
		return 100 * n, err
	}, err
}

// waiting publishes one message after the other, each acknowledged.
func waiting(ctx context.Context, s *setting) (side, error) {
	b, err := s.openBare(ctx)
	return func(d time.Duration) (n int, err error) {
		for until := time.Now().Add(d); err == nil && time.Now().Before(until); n++ {
			_, err = b.js.PublishMsg(ctx, b.message())
		}
		return n, err
	}, err
}

// asynchronous publishes with 128 messages on their way.
func asynchronous(ctx context.Context, s *setting) (side, error) {
	b, err := s.openBare(ctx)
	return func(d time.Duration) (int, error) { return b.publishAsync(ctx, d) }, err
}

// atomicBatches publishes atomic batches of 1,000 messages.
func atomicBatches(ctx context.Context, s *setting) (side, error) {
	b, err := s.openBare(ctx)
	return func(d time.Duration) (n int, err error) {
		for until := time.Now().Add(d); err == nil && time.Now().Before(until); n += 1000 {
			err = b.publishBatch(1000)
		}
		return n, err
	}, err
}

// read publishes as asynchronous does, and reads everything with one ordered consumer.
func read(ctx context.Context, s *setting) (side, error) {
	b, err := s.openBare(ctx)
	if err != nil {
		return nil, err
	}
	var got atomic.Int64
	if _, err := b.follow(ctx, func() { got.Add(1) }); err != nil {
		return nil, err
	}
	published := int64(0)
	return func(d time.Duration) (int, error) {
		n, err := b.publishAsync(ctx, d)
		published += int64(n)
		return n, waitFor(err, func() bool { return got.Load() >= published })
	}, nil
}

// waitFor waits until something is done.
func waitFor(err error, done func() bool) error {
	for began := time.Now(); err == nil && !done(); time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > 2*time.Minute {
			return fmt.Errorf("not everything was handled within two minutes")
		}
	}
	return err
}

// together calls f from n goroutines until the time is over, and returns how many calls it was.
func together(n int, d time.Duration, f func() error) (int, error) {
	var calls atomic.Int64
	var wrong atomic.Pointer[error]
	var running sync.WaitGroup
	until := time.Now().Add(d)
	for range n {
		running.Go(func() {
			for wrong.Load() == nil && time.Now().Before(until) {
				if err := f(); err != nil {
					wrong.Store(&err)
				}
				calls.Add(1)
			}
		})
	}
	running.Wait()
	if err := wrong.Load(); err != nil {
		return 0, *err
	}
	return int(calls.Load()), nil
}
