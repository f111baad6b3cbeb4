package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// When one of several awaited deliveries cannot be read, all are polled again, and those
// that were polled before it are handled.
func TestAwaitedDeliveriesAreHandledAlthoughOneCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		polls, polled := 0, map[int64]bool{}
		s := &source{events: []int64{1}, pollEvent: func(seq int64) (bool, error) {
			// The first error makes the others wait for the same poll.
			if polls++; polls == 1 || polls == 3 {
				return false, errors.New("the disk cannot be read")
			}
			again := polled[seq]
			polled[seq] = true
			return !again, nil
		}}
		var mu sync.Mutex
		var handled []int64
		dispatchingAttempts(t, s, false, func(a *dispatch.Attempt) error {
			if a.Seq == 1 {
				ctx, cancel := context.WithCancel(a)
				defer cancel()
				var waits sync.WaitGroup
				for _, seq := range []int64{2, 3, 4} {
					waits.Go(func() {
						a.Await(ctx, seq, func(ctx context.Context) error {
							<-ctx.Done()
							return ctx.Err()
						})
					})
				}
				waits.Wait() // until the deadline
			}
			mu.Lock()
			defer mu.Unlock()
			handled = append(handled, a.Seq)
			return nil
		})
		time.Sleep(10 * time.Second) // several pauses after an error, and no deadline
		mu.Lock()
		defer mu.Unlock()
		if slices.Sort(handled); !slices.Equal(handled, []int64{2, 3, 4}) {
			t.Errorf("within ten seconds %v were handled, want 2, 3 and 4", handled)
		}
	})
}
