package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/jetstream"
)

var (
	progressSeed   = flag.Uint64("progress.seed", 1, "the first seed of processes that end, hang or read nothing")
	progressRounds = short.Flag("progress.rounds", 10, 2, "how many seeds")
)

// Any of several processes ends, hangs, or reads from a replica that is behind for good, at any moment. Every part
// makes progress within 15 seconds.
func TestWhateverHappensToAProcessEveryPartMakesProgress(t *testing.T) {
	for round := range progressRounds.N() {
		for _, concurrency := range []int{1, 4} {
			seed := *progressSeed + uint64(round)
			t.Run(fmt.Sprint("seed ", seed, " concurrency ", concurrency), func(t *testing.T) {
				deafBubble(t, func(t *testing.T) { makesProgress(t, seed, concurrency) })
			})
		}
	}
}

func makesProgress(t *testing.T, seed uint64, concurrency int) {
	random := rand.New(rand.NewPCG(seed, uint64(concurrency)))
	x := newSharing(t)
	publish, end := x.publisher()
	var processes []*sharer
	stale := map[*sharer]*atomic.Bool{}
	start := func() {
		behind := new(atomic.Bool)
		x.opts = []jetstream.Option{jetstream.InMemory(), jetstream.Replicated(), jetstream.Lagging(func() {
			for behind.Load() {
				time.Sleep(50 * time.Millisecond)
			}
		})}
		p := x.start(concurrency)
		stale[p] = behind
		processes = append(processes, p)
	}
	for range 4 {
		start()
	}
	key := 0
	publishAll := func() {
		for range 64 {
			publish(fmt.Sprint("key ", key%640))
			key++
		}
	}
	for range 5 {
		time.Sleep(time.Duration(random.IntN(8000)) * time.Millisecond)
		at := random.IntN(len(processes))
		p := processes[at]
		processes = slices.Delete(processes, at, at+1)
		publishAll()
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		harm := random.IntN(4)
		switch harm {
		case 0:
			p.kill()
		case 1:
			p.freeze(20 * time.Second)
		case 2:
			p.shutdown()
		case 3: // it stays so
			x.mu.Lock()
			p.unclean, p.cutOff = true, true
			x.mu.Unlock()
			stale[p].Store(true)
			time.AfterFunc(40*time.Second, func() {
				stale[p].Store(false)
				p.kill()
			})
		}
		publishAll()
		x.wait(15 * time.Second)
		if t.Failed() {
			t.Log("after harm ", harm)
			break
		}
		start()
	}
	time.Sleep(time.Minute)
	for _, p := range processes {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		p.bus.Shutdown(ctx)
		cancel()
	}
	end()
	x.report()
}
