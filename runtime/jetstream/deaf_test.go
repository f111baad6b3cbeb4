package jetstream_test

import (
	"context"
	"fmt"
	gc "runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/internal/short"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// A process does not hear what the servers say for a while, from one of its requests on, as when
// the server dies that has got the request. It is tried with each request of a takeover.
func TestWhicheverAnswersOfATakeoverAreLostEverythingIsHandledInTheEnd(t *testing.T) {
	short.Skip(t, "each answer is lost once")
	for name, concurrency := range map[string]int{"whole": 1, "parts": 4} {
		t.Run(name, func(t *testing.T) {
			for requests := 1; requests <= 24; requests++ {
				deafBubble(t, func(t *testing.T) {
					x := newSharing(t)
					publish, end := x.publisher()
					first, second := x.start(concurrency), x.start(concurrency)
					time.Sleep(6 * time.Second)
					first.kill()
					second.line.DeafenAfter(requests)
					time.Sleep(45 * time.Second)
					second.line.Drop()
					time.Sleep(10 * time.Second)
					for n := range 64 {
						publish(fmt.Sprint("key ", n))
					}
					x.wait(30 * time.Second)
					if second.shutdown(); t.Failed() {
						t.Log("the answers from request ", requests, " on were lost")
					}
					end()
					x.report()
				})
			}
		})
	}
}

func TestWhicheverAnswersAreLostWhenAProcessStartsEverythingIsHandledInTheEnd(t *testing.T) {
	for name, concurrency := range map[string]int{"whole": 1, "parts": 4} {
		t.Run(name, func(t *testing.T) {
			for requests := 1; requests <= 24; requests++ {
				deafBubble(t, func(t *testing.T) {
					x := newSharing(t)
					publish, end := x.publisher()
					p := x.open()
					_, err := runtime.Subscribe(p.bus, conformance.PlacedType, "orders", p.handle, runtime.FromBeginning(), runtime.WithConcurrency(concurrency))
					conformance.Must(t, err)
					p.line.DeafenAfter(requests)
					time.AfterFunc(45*time.Second, p.line.Drop)
					for p.bus.Start(context.Background()) != nil {
						time.Sleep(time.Second)
					}
					time.Sleep(time.Minute)
					for n := range 64 {
						publish(fmt.Sprint("key ", n))
					}
					x.wait(30 * time.Second)
					if p.shutdown(); t.Failed() {
						t.Log("the answers from request ", requests, " on were lost")
					}
					end()
					x.report()
				})
			}
		})
	}
}

// The servers elect a new leader while a process starts: that is no reason not to start.
func TestAProcessStartsAlthoughNobodyAnswersForSomeSeconds(t *testing.T) {
	for requests := 1; requests <= 24; requests++ {
		deafBubble(t, func(t *testing.T) {
			x := newSharing(t)
			p := x.open()
			_, err := runtime.Subscribe(p.bus, conformance.PlacedType, "orders", p.handle)
			conformance.Must(t, err)
			p.line.DeafenAfter(requests)
			time.AfterFunc(4*time.Second, p.line.Drop)
			if err := p.bus.Start(context.Background()); err != nil {
				t.Errorf("answers from request %d on were lost: %v", requests, err)
			}
			time.Sleep(20 * time.Second)
			p.shutdown()
		})
	}
}

// deafBubble runs a test in virtual time in which clients connect again.
func deafBubble(t *testing.T, test func(t *testing.T)) {
	// The client of NATS keeps timers in a pool, for when it connects again. Those of another
	// bubble must not be in there.
	gc.GC()
	gc.GC()
	synctest.Test(t, test)
}
