package main

import (
	"context"
	"errors"
	"time"

	"github.com/busgen/busgen/bench/events"
	"github.com/busgen/busgen/runtime"
)

// fill makes a file with that many events, published in large batches. They
// were handled by a subscription, or wait for it. If it takes longer than limit,
// which 0 does not, there are fewer; it returns how many.
func fill(ctx context.Context, path string, events int, handled bool, limit time.Duration) (filled int, err error) {
	b, err := openBus(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))) }()
	if handled {
		err = b.subscribe(ctx, 1, false, nil)
	} else {
		err = b.handle(subscriptionName(0), func() error { return errors.New("the bus was not started") })
	}
	if err != nil {
		return 0, err
	}
	filled, err = b.publishMany(ctx, events, limit)
	if err == nil && handled {
		err = b.requireHandled(ctx, filled)
	}
	return filled, err
}

// publishMany publishes that many events in large batches, or what it can
// publish within limit, unless that is 0.
func (b *bus) publishMany(ctx context.Context, total int, limit time.Duration) (published int, err error) {
	payloads := samples(1000)
	for began := time.Now(); published < total && (limit == 0 || time.Since(began) < limit); {
		n := min(total-published, len(payloads))
		if _, err := runtime.PublishBatch(ctx, b.Bus, events.OrderPlacedType, payloads[:n]); err != nil {
			return published, err
		}
		published += n
	}
	return published, nil
}
