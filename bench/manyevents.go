package main

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/busgen/busgen/bench/events"
)

// eventsThroughOne sends fifty thousand events of 128 publishers through one bus, to one
// subscription, in turns with as many rows of the bare loop. At the end nothing but the
// events is in the file.
func eventsThroughOne(ctx context.Context, s *setting) (r result, err error) {
	goroutines := runtime.NumGoroutine()
	path := s.file()
	if _, err := fill(ctx, path, 1, true, 0); err != nil { // with the row of the subscription
		return result{}, err
	}
	before, err := rowsOf(path)
	if err != nil {
		return result{}, err
	}
	bare, err := s.openLimit(ctx)
	if err != nil {
		return result{}, err
	}
	b, err := openBus(ctx, path)
	if err != nil {
		return result{}, err
	}
	err = b.subscribe(ctx, 1, false, nil)
	if err == nil {
		_, err = b.publishMany(ctx, warm, 0)
	}
	if err == nil {
		err = b.requireHandled(ctx, warm)
	}
	if err == nil {
		r, err = mass{
			portion: 2500,
			ours: func(n int) error {
				if err := b.publishAtOnce(ctx, n, 128); err != nil {
					return err
				}
				return b.requireHandled(ctx, n)
			},
			bare: func(n int) error { return bare.insertRows(n, 128) },
		}.run(ctx, s)
	}
	if err = errors.Join(err, b.Shutdown(context.WithoutCancel(ctx))); err != nil {
		return result{}, err
	}
	if err := requireNoRows(path, before, warm+r.Events); err != nil {
		return result{}, err
	}
	return r, requireGoroutines(goroutines)
}

// publishAtOnce publishes n events by so many publishers.
func (b *bus) publishAtOnce(ctx context.Context, n, publishers int) error {
	errs := make([]error, publishers)
	var left atomic.Int64
	left.Store(int64(n))
	var running sync.WaitGroup
	for i := range errs {
		running.Go(func() {
			for errs[i] == nil && left.Add(-1) >= 0 {
				_, errs[i] = events.PublishOrderPlaced(ctx, b.Bus, sample)
			}
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
