package main

import (
	"context"
	"fmt"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// purgeSlice is how many dead letters are purged in one slice.
const purgeSlice = 250

// purge measures one publisher beside an operator who purges half of n dead
// letters, in turns with publishing alone for as long.
func purge(n int) runner {
	return func(ctx context.Context, s *setting) (result, error) {
		path := s.file()
		if err := makeDead(ctx, path, n); err != nil {
			return result{}, err
		}
		inspector, err := inspect.Open(ctx, path)
		if err != nil {
			return result{}, err
		}
		s.closing = append(s.closing, inspector.Close)
		b, err := s.open(ctx, path)
		if err != nil {
			return result{}, err
		}
		publish := func(d time.Duration) (int, error) { return publishers(1).run(ctx, b, d) }

		var rounds []round
		for range n / 2 / purgeSlice {
			beside, err := work(func(time.Duration) (int, error) { return publishBesidePurge(ctx, publish, inspector) }, 0)
			if err != nil {
				return result{}, err
			}
			alone, err := work(publish, beside.took)
			if err != nil {
				return result{}, err
			}
			rounds = append(rounds, round{beside, alone})
		}
		return compare(rounds, 0, 1).result(), nil
	}
}

// publishBesidePurge publishes until a slice is purged.
func publishBesidePurge(ctx context.Context, publish side, inspector *inspect.File) (published int, err error) {
	done := make(chan error, 1)
	go func() {
		counts, err := inspector.Purge(ctx, inspect.Selection{Filter: event.Filter{Until: time.Now()}, Limit: purgeSlice})
		if err == nil && counts.Moved != purgeSlice {
			err = fmt.Errorf("%d dead letters were purged, want %d", counts.Moved, purgeSlice)
		}
		done <- err
	}()
	for {
		n, err := publish(time.Millisecond)
		published += n
		if err != nil {
			return published, err
		}
		select {
		case err := <-done:
			return published, err
		default:
		}
	}
}
