package jetstream_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
)

// Processes start and end at the same moments, some with a concurrency of one, as in a deploy that
// changes it. All of them end orderly, so that nothing comes again.
func TestProcessesThatComeAndGoAtOnceHandleEverythingOnceAndInOrder(t *testing.T) {
	short.Skip(t, "many processes come and go")
	for round := range *tortureRounds {
		seed := *tortureSeed + uint64(round)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSharing(t)
				random := rand.New(rand.NewPCG(seed, 7))
				x.takes = func(n int) time.Duration { return time.Duration(1+n%20) * 8 * time.Millisecond }
				publish, end := x.publisher()
				stop, published := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(published)
					for n := 0; ; n++ {
						select {
						case <-stop:
							return
						case <-time.After(time.Duration(n%20) * time.Millisecond):
							publish(fmt.Sprint("key ", n%23))
						}
					}
				}()
				var mu sync.Mutex
				var all []*sharer
				for range 12 {
					going := all
					all = nil
					var both sync.WaitGroup
					for _, p := range going {
						if random.IntN(4) == 0 {
							all = append(all, p)
							continue
						}
						after := time.Duration(random.IntN(3)) * 5 * time.Millisecond
						both.Go(func() { time.Sleep(after); p.shutdown() })
					}
					for range 1 + random.IntN(3) {
						concurrency, after := []int{1, 4, 4}[random.IntN(3)], time.Duration(random.IntN(3))*5*time.Millisecond
						both.Go(func() {
							time.Sleep(after)
							p := x.start(concurrency)
							mu.Lock()
							all = append(all, p)
							mu.Unlock()
						})
					}
					time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
					both.Wait()
				}
				close(stop)
				<-published
				x.wait(time.Minute)
				for _, p := range all {
					p.shutdown()
				}
				end()
				x.report()
				if x.repeats > 0 {
					t.Error(x.repeats, "events were handled twice")
				}
			})
		})
	}
}
