package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream"
)

var (
	progressSeed   = flag.Uint64("progress.seed", 1, "the first seed of processes that end, hang or read nothing")
	progressRounds = short.Flag("progress.rounds", 10, 2, "how many seeds")
)

// Any of several processes ends, hangs, reads from a replica that is behind for good, does not hand out anything, or
// stores nothing, at any moment. Every part makes progress within 15 seconds.
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

// harms are what is done to a process that goes on.
type harms struct {
	stale harmful // the replica from which it reads is behind for good
	poll  harmful // the dispatchers of its subscriptions do not poll any more
	store harmful // nothing of what it stores reaches the servers, so that nothing is acknowledged
}

// harmful is something that happens to a process for as long as it lives.
type harmful struct{ atomic.Bool }

// wait waits until it is over.
func (h *harmful) wait() {
	for h.Load() {
		time.Sleep(50 * time.Millisecond)
	}
}

// lasts makes it happen for so long that only others can help. Then the process ends.
func (h *harmful) lasts(p *sharer) {
	h.Store(true)
	time.AfterFunc(40*time.Second, func() {
		h.Store(false)
		p.kill()
	})
}

// cutOff says that what a process has handled may not be stored.
func (x *sharing) cutOff(p *sharer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	p.unclean, p.cutOff = true, true
}

func makesProgress(t *testing.T, seed uint64, concurrency int) {
	random := rand.New(rand.NewPCG(seed, uint64(concurrency)))
	x := newSharing(t)
	publish, end := x.publisher()
	var processes []*sharer
	harmed := map[*sharer]*harms{}
	start := func() {
		h := new(harms)
		x.opts = []jetstream.Option{jetstream.InMemory(), jetstream.Replicated(), jetstream.Lagging(h.stale.wait), jetstream.Polling(h.poll.wait), jetstream.Losing(h.store.Load)}
		p := x.start(concurrency)
		harmed[p] = h
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
		harm := random.IntN(6)
		switch harm {
		case 0:
			p.kill()
		case 1:
			p.freeze(20 * time.Second)
		case 2:
			p.shutdown()
		case 3:
			x.cutOff(p)
			harmed[p].stale.lasts(p)
		case 4: // what it has handled is stored
			harmed[p].poll.lasts(p)
		case 5:
			x.cutOff(p)
			harmed[p].store.lasts(p)
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

// A process handles an event, and can store nothing any more. Another one takes over. The first one has not ended, so the
// event is no suspect of a crash.
func TestWhatAnIdleProcessHandlesIsNoSuspect(t *testing.T) {
	for _, concurrency := range []int{1, 4} {
		t.Run(fmt.Sprint("concurrency ", concurrency), func(t *testing.T) {
			deafBubble(t, func(t *testing.T) {
				x, lines := newSharing(t), &conformance.LogLines{}
				x.log, x.takes = slog.NewJSONHandler(lines, nil), func(int) time.Duration { return 3 * time.Second }
				publish, end := x.publisher()
				var store harmful
				x.opts = []jetstream.Option{jetstream.InMemory(), jetstream.Losing(store.Load)}
				first := x.start(concurrency)
				x.opts = []jetstream.Option{jetstream.InMemory()}
				publish("key")
				time.Sleep(time.Second)
				second := x.start(concurrency)
				x.cutOff(first)
				store.Store(true)
				time.Sleep(20 * time.Second)
				if second.handled != 1 {
					t.Errorf("the second process has handled %d events, want the one that the first could not store", second.handled)
				}
				said := false
				for _, line := range lines.Level(t, "WARN") {
					text := fmt.Sprint(line["msg"])
					said = said || strings.Contains(text, "nothing that this process stores is acknowledged")
					if strings.Contains(text, "crash") || strings.Contains(text, "died") || strings.Contains(text, "the process ended") {
						t.Error("the log says: ", text)
					}
				}
				if !said {
					t.Error("the first process does not say that it stores nothing")
				}
				store.Store(false)
				for _, p := range []*sharer{first, second} {
					p.shutdown()
				}
				end()
				x.report()
			})
		})
	}
}
