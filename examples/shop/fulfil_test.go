package main

import (
	"strings"
	"testing"
	"time"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/runtimetest"
)

// fulfilling runs f once without a crash, and once for each step with a crash before and one after it is stored. The bank and the
// post office survive the crashes.
func fulfilling(t *testing.T, f func(t *testing.T, kit *runtimetest.Kit, outside *fulfilment)) {
	t.Helper()
	runtimetest.EveryStep(t, events.Catalogue, func(t *testing.T, kit *runtimetest.Kit) {
		outside := &fulfilment{}
		kit.Setup(makeTables)
		kit.Setup(func(bus *runtime.Bus) error {
			_, err := events.SubscribeOrderBackordered(bus, events.OnOrderBackorderedFulfil, outside.fulfil)
			return err
		})
		f(t, kit, outside)
		outside.wantOncePerStep(t)
	})
}

// wantOncePerStep checks that no step has called the world outside again after it was stored. The only call that may come twice is
// that of the step before whose storing the process has died.
func (f *fulfilment) wantOncePerStep(t *testing.T) {
	t.Helper()
	_, crashed, _ := strings.Cut(t.Name(), "/crash_before_")
	times := map[string]int{}
	for _, key := range append(f.bank.calls, f.post.calls...) {
		times[key[strings.LastIndex(key, "/")+1:]]++
	}
	for step, got := range times {
		want := 1
		if crashed == step+"_is_stored" {
			want = 2
		}
		if got != want {
			t.Errorf("step %s has called the world outside %d times, want %d", step, got, want)
		}
	}
}

// night lets handlers do what they can, and then time pass without a process.
func night(kit *runtimetest.Kit, long time.Duration) {
	kit.Advance(time.Minute)
	kit.Restart()
	time.Sleep(long)
}

func TestABackorderIsShippedOnceWhereverItCrashes(t *testing.T) {
	fulfilling(t, func(t *testing.T, kit *runtimetest.Kit, outside *fulfilment) {
		order := eventstest.SampleOrderBackordered()
		kit.Publish(order)
		night(kit, 48*time.Hour)
		kit.Publish(events.ParcelScanned{OrderID: order.OrderID, Code: "S-42"})
		kit.Drain()

		shipped := eventstest.Published[events.OrderShipped](kit)
		if len(shipped) != 1 || shipped[0].Payload.TrackingCode != "S-42" {
			t.Errorf("shipped: %+v", shipped)
		}
		if n := numberIn(t, kit, "SELECT count(*) FROM reservations"); n != 1 {
			t.Errorf("there are %d reservations", n)
		}
		if len(outside.bank.charges) != 1 || len(outside.bank.refunds) != 0 || len(outside.post.letters) != 1 {
			t.Errorf("charged %v, refunded %v, mailed %v", outside.bank.charges, outside.bank.refunds, outside.post.letters)
		}
		if dead := kit.AllDeadLetters(); len(dead) != 0 {
			t.Errorf("dead: %+v", dead)
		}
	})
}

func TestABackorderWithoutAParcelIsUndoneWhereverItCrashes(t *testing.T) {
	fulfilling(t, func(t *testing.T, kit *runtimetest.Kit, outside *fulfilment) {
		kit.Publish(eventstest.SampleOrderBackordered())
		night(kit, 72*time.Hour)
		kit.Drain()
		outside.wantUndone(t, kit, 1, errNoParcel.Error())
	})
}

func TestABackorderThatTheBankDeclinesIsUndoneWhereverItCrashes(t *testing.T) {
	fulfilling(t, func(t *testing.T, kit *runtimetest.Kit, outside *fulfilment) {
		order := eventstest.SampleOrderBackordered()
		order.Total = euros(limitOfCard + 1)
		kit.Publish(order)
		kit.Drain()
		outside.wantUndone(t, kit, 0, "the bank declines: insufficient_funds")
	})
}

// wantUndone checks that nothing is left of the order but the dead letter that says why.
func (f *fulfilment) wantUndone(t *testing.T, kit *runtimetest.Kit, charges int, why string) {
	t.Helper()
	if n := numberIn(t, kit, "SELECT count(*) FROM reservations"); n != 0 {
		t.Errorf("there are %d reservations", n)
	}
	if len(f.bank.charges) != charges || len(f.bank.refunds) != charges || len(f.post.letters) != 0 {
		t.Errorf("charged %v, refunded %v, mailed %v", f.bank.charges, f.bank.refunds, f.post.letters)
	}
	if shipped := eventstest.Published[events.OrderShipped](kit); len(shipped) != 0 {
		t.Errorf("shipped: %+v", shipped)
	}
	dead := eventstest.DeadLetters[events.OrderBackordered](kit)
	if len(dead) != 1 || dead[0].Reason != "undone" || !strings.Contains(dead[0].LastError, why) {
		t.Errorf("dead: %+v", dead)
	}
}
