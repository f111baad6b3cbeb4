package main

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/busgen/busgen/bench/events"
	busruntime "github.com/busgen/busgen/runtime"
)

// comings makes fifty thousand ephemeral subscriptions on one bus, one after the other. Each
// gets one event, which one publisher publishes, and is ended, in turns with publishing as
// many events to a bus without subscriptions. It also measures what making and ending one
// takes. At the end nothing but the events is in the file.
func comings(ctx context.Context, s *setting) (r result, err error) {
	goroutines := runtime.NumGoroutine()
	path := s.file()
	if _, err := fill(ctx, path, 1, true, 0); err != nil {
		return result{}, err
	}
	before, err := rowsOf(path)
	if err != nil {
		return result{}, err
	}
	alone, err := openBus(ctx, s.file())
	if err != nil {
		return result{}, err
	}
	b, err := openBus(ctx, path)
	if err != nil {
		return result{}, errors.Join(err, alone.Shutdown(context.WithoutCancel(ctx)))
	}
	var took time.Duration
	publish := func() error {
		_, err := events.PublishOrderPlaced(ctx, b.Bus, sample)
		return err
	}
	_, err = b.comeFor(ctx, func() error {
		_, err := b.publishMany(ctx, warm, 0)
		return err
	})
	if err == nil {
		r, err = mass{
			portion: 100,
			ours: func(n int) error {
				for range n {
					one, err := b.comeFor(ctx, publish)
					if err != nil {
						return err
					}
					took += one
				}
				return nil
			},
			bare: func(n int) error { return alone.publishAtOnce(ctx, n, 1) },
		}.run(ctx, s)
	}
	for _, open := range []*bus{b, alone} {
		err = errors.Join(err, open.Shutdown(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return result{}, err
	}
	if err := requireNoRows(path, before, warm+r.Events); err != nil {
		return result{}, err
	}
	r.Subscribe = float64(took) / float64(time.Microsecond) / float64(r.Events)
	return r, requireGoroutines(goroutines)
}

// comeFor makes an ephemeral subscription while something is published, and ends it when it
// has got an event. It returns how long making and ending it has taken.
func (b *bus) comeFor(ctx context.Context, publish func() error) (took time.Duration, err error) {
	got := make(chan struct{}, 1)
	began := time.Now()
	live, err := events.SubscribeOrderPlaced(b.Bus, "live",
		func(context.Context, busruntime.Event[events.OrderPlaced]) error {
			select {
			case got <- struct{}{}:
			default:
			}
			return nil
		}, busruntime.Ephemeral())
	took = time.Since(began)
	if err != nil {
		return 0, err
	}
	if err = publish(); err == nil {
		select {
		case <-got:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	began = time.Now()
	err = errors.Join(err, live.Unsubscribe(context.WithoutCancel(ctx)))
	return took + time.Since(began), err
}
