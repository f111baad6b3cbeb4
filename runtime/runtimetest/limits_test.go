package runtimetest_test

import (
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// limited makes a subscription with the limit of a catalogue, as generated code has it.
func limited(t *testing.T, limit declare.Limit, f func(t *testing.T, k *runtimetest.Kit, called func() int), opts ...runtime.Option) {
	t.Helper()
	s := settings()
	s.Limits, s.Concurrency = []declare.LimitUse{{Limit: limit.Name}}, 100
	placed := runtime.Define(runtime.Spec[orderPlaced]{Name: "order.placed", Settings: s})
	runtimetest.Run(t, runtime.NewCatalogue(placed).WithLimits(limit), func(t *testing.T, k *runtimetest.Kit) {
		var h handled
		k.Setup(func(bus *runtime.Bus) error {
			_, err := runtime.Subscribe(bus, placed, "a", h.handle)
			return err
		})
		f(t, k, func() int { return len(h.numbers()) })
	}, opts...)
}

var twoPerMinute = declare.Limit{Name: "mail", Rate: 2, Per: time.Minute}

func publish(k *runtimetest.Kit, n int) {
	for i := range n {
		k.Publish(orderPlaced{Number: i})
	}
}

func TestDeliverLeavesAloneWhatWaitsForALimitAndDrainDoesNot(t *testing.T) {
	limited(t, twoPerMinute, func(t *testing.T, k *runtimetest.Kit, called func() int) {
		publish(k, 5)
		k.Deliver()
		if n, waiting := called(), k.Bus.Stats().Subscriptions[0].Limited; n != 2 || waiting != 3 {
			t.Errorf("%d calls, %d wait, want 2 and 3", n, waiting)
		}
		k.Advance(30 * time.Second)
		if n := called(); n != 3 {
			t.Errorf("%d calls after half a minute, want 3", n)
		}
		start := time.Now()
		k.Drain()
		if n, took := called(), time.Since(start); n != 5 || took != time.Minute {
			t.Errorf("%d calls, and draining takes %v of virtual time, want 5 and a minute", n, took)
		}
	})
}

func TestATestThatIsNotAboutALimitReplacesIt(t *testing.T) {
	limited(t, twoPerMinute, func(t *testing.T, k *runtimetest.Kit, called func() int) {
		publish(k, 5)
		k.Deliver()
		if n := called(); n != 5 {
			t.Errorf("%d calls, want 5", n)
		}
	}, runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1000}))
}

func TestAHandlerThatHangsKeepsItsPlaceUntilItsTimeoutOrACrash(t *testing.T) {
	limited(t, declare.Limit{Name: "bank", AtOnce: 1}, func(t *testing.T, k *runtimetest.Kit, called func() int) {
		k.Break("a", 2, runtimetest.Hangs())
		publish(k, 2)
		k.Deliver()
		k.Advance(29 * time.Second)
		if waiting := k.Bus.Stats().Subscriptions[0].Limited; waiting != 1 {
			t.Errorf("%d wait, want 1", waiting)
		}
		k.Advance(2 * time.Second) // the timeout is 30s; now the second one hangs
		if n := len(k.Attempts("a")); n != 1 {
			t.Errorf("%d attempts are over, want 1", n)
		}
		k.Crash()
		k.Drain()
		if n := called(); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}

func TestARateIsNotFullAgainAfterACrash(t *testing.T) {
	limited(t, twoPerMinute, func(t *testing.T, k *runtimetest.Kit, called func() int) {
		publish(k, 3)
		k.Deliver()
		k.Crash()
		k.Deliver()
		if n := called(); n != 2 {
			t.Errorf("%d calls, want 2", n)
		}
	})
}
