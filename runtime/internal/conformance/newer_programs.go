package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
)

// ParcelProgram is a program that knows parcels up to a version and handles them in two subscriptions until asked ends: many
// at once, and in a strict order. It says which number each has handled.
func ParcelProgram(version int, open func(*runtime.Catalogue) (*runtime.Bus, error), say func(format string, args ...any), asked <-chan struct{}) error {
	bus, err := open(parcelCatalogue(version))
	if err != nil {
		return err
	}
	defer bus.Shutdown(context.Background())
	for name, opts := range map[string][]runtime.SubscribeOption{
		"many":   {runtime.WithConcurrency(4)},
		"strict": {runtime.WithStrictOrder()},
	} {
		opts = append(opts, runtime.FromBeginning())
		if version == 1 {
			_, err = runtime.Subscribe(bus, allParcels.v1, name, func(_ context.Context, e runtime.Event[parcelV1]) error {
				say("%s %d", name, e.Payload.Number)
				return nil
			}, opts...)
		} else {
			_, err = runtime.Subscribe(bus, allParcels.v2, name, func(_ context.Context, e runtime.Event[parcelV2]) error {
				say("%s %d", name, e.Payload.N)
				return nil
			}, opts...)
		}
		if err != nil {
			return err
		}
	}
	if err := bus.Start(context.Background()); err != nil {
		return err
	}
	<-asked
	return nil
}

var allParcels = parcelsWith(holding(24 * time.Hour))

func parcelCatalogue(version int) *runtime.Catalogue {
	if version == 1 {
		return allParcels.old
	}
	return allParcels.new
}

// TwoPrograms are real processes, of two versions of a program, on one log.
type TwoPrograms struct {
	T      *testing.T
	Open   func(*runtime.Catalogue) (*runtime.Bus, error)         // in this process, for a bus that publishes
	Start  func(version int, line func(text string)) (end func()) // a process that runs ParcelProgram
	Beside bool                                                   // both may handle events at the same time

	mu   sync.Mutex
	seen map[string][]int // by subscription
}

// publish publishes parcels with numbers, as a program of a version does.
func (p *TwoPrograms) publish(version, from, to int) {
	bus, err := p.Open(parcelCatalogue(version))
	Must(p.T, err)
	defer bus.Shutdown(context.Background())
	for n := from; n <= to; n++ {
		order := fmt.Sprint("order ", n%5)
		if version == 1 {
			_, err = runtime.Publish(p.T.Context(), bus, allParcels.v1, parcelV1{order, n})
		} else {
			_, err = runtime.Publish(p.T.Context(), bus, allParcels.v2, parcelV2{order, n})
		}
		Must(p.T, err)
	}
}

func (p *TwoPrograms) start(version int) (end func()) {
	return p.Start(version, func(line string) {
		var name string
		var n int
		if _, err := fmt.Sscanf(line, "%s %d", &name, &n); err == nil {
			p.mu.Lock()
			p.seen[name] = append(p.seen[name], n)
			p.mu.Unlock()
		}
	})
}

// await waits until a subscription has handled some numbers.
func (p *TwoPrograms) await(name string, from, to int) {
	p.T.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		p.mu.Lock()
		seen := slices.Clone(p.seen[name])
		p.mu.Unlock()
		missing := 0
		for n := from; n <= to; n++ {
			if !slices.Contains(seen, n) {
				missing++
			}
		}
		if missing == 0 {
			return
		}
		if time.Since(began) > 2*time.Minute {
			p.T.Fatalf("%s has not handled %d of %d to %d: %v", name, missing, from, to, seen)
		}
	}
}

// Run goes forward, back and forward again.
func (p *TwoPrograms) Run() {
	p.seen = map[string][]int{}
	end := p.start(1)
	p.publish(1, 1, 20)
	p.await("many", 1, 20)
	p.await("strict", 1, 20)
	p.publish(2, 21, 40)
	p.publish(1, 41, 60)
	p.await("many", 41, 60)
	if p.Beside { // forward, while the old program runs on
		endNew := p.start(2)
		p.await("many", 21, 60)
		p.await("strict", 21, 60)
		p.publish(2, 61, 80)
		p.await("many", 61, 80)
		p.await("strict", 61, 80)
		end()
		endNew()
	} else {
		end()
		p.publish(2, 61, 80)
		end = p.start(2)
		p.await("many", 21, 80)
		p.await("strict", 21, 80)
		end()
	}
	end = p.start(1) // back
	p.publish(2, 81, 100)
	p.publish(1, 101, 120)
	p.await("many", 101, 120)
	end()
	end = p.start(2) // and forward again
	p.await("many", 81, 120)
	p.await("strict", 81, 120)
	end()
	for name, seen := range p.seen {
		last := map[int]int{} // by key
		for _, n := range seen {
			if name == "strict" && n < last[n%5] {
				p.T.Errorf("the strict order: %d came after %d", n, last[n%5])
			}
			last[n%5] = n
		}
		if slices.Sort(seen); len(seen) != 120 || len(slices.Compact(seen)) != 120 {
			p.T.Errorf("%s has handled %d events, want 120, each once: %v", name, len(seen), seen)
		}
	}
	bus, err := p.Open(allParcels.new)
	Must(p.T, err)
	defer bus.Shutdown(context.Background())
	lags, err := bus.Lag(p.T.Context())
	Must(p.T, err)
	for _, l := range lags {
		if l.Dead > 0 || l.Backlog > 0 {
			p.T.Errorf("in the end: %+v", l)
		}
	}
}
