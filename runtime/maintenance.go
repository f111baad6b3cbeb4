package runtime

import (
	"context"
	"time"
)

// every does something again and again until ctx ends. When it begins to fail
// complain is told, once.
func every(ctx context.Context, interval time.Duration, do func(ctx context.Context) error, complain func(err error)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		err := do(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			complain(err)
		}
		failing = err != nil
	}
}
