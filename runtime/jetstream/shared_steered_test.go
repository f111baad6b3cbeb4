package jetstream_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

func TestAStrictOrderIsKeptWhileProcessesComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		x.fails = func(n, attempt int) bool { return n%5 == 1 && attempt < 4 }
		strict := []runtime.SubscribeOption{runtime.WithStrictOrder(), runtime.WithRetry(retry.BaseDelay(300*time.Millisecond), retry.MaxAttempts(20))}
		publish, end := x.publisher()
		for n := range 600 {
			publish(fmt.Sprint("key ", n%30))
		}
		all := []*sharer{x.start(4, strict...)}
		for range 3 {
			time.Sleep(1500 * time.Millisecond)
			all = append(all, x.start(4, strict...))
		}
		for _, p := range all[:2] {
			time.Sleep(1500 * time.Millisecond)
			p.shutdown()
		}
		all[2].kill()
		x.wait(time.Minute)
		all[3].shutdown()
		end()
		x.report()
	})
}

// Two processes share a subscription, and a third one only publishes and steers.
func TestWhatIsSaidInOneProcessHoldsForThePartsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSharing(t)
		x.takes = func(int) time.Duration { return time.Millisecond }
		one, other := x.start(4), x.start(4)
		time.Sleep(5 * time.Second)
		x.wantOwners(8, 8)
		p := x.open()
		ctx := context.Background()
		publish := func(key string) *runtime.Receipt {
			x.mu.Lock()
			k := x.key(key)
			n := k.published
			k.published++
			x.mu.Unlock()
			receipt, err := runtime.Publish(ctx, p.bus, conformance.PlacedType, conformance.OrderPlaced{OrderID: key, Number: n})
			if err != nil {
				t.Fatal(err)
			}
			return receipt
		}
		for n := range 40 {
			if outcome, err := publish(fmt.Sprint("key ", n)).Wait(ctx); err != nil || len(outcome.Deliveries) != 1 {
				t.Fatal(outcome, err)
			}
		}
		if one.handled < 10 || other.handled < 10 {
			t.Errorf("they have handled %d and %d of 40", one.handled, other.handled)
		}
		if err := p.bus.PauseSubscription(ctx, "orders", ""); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		var receipts []*runtime.Receipt
		for n := range 40 {
			receipts = append(receipts, publish(fmt.Sprint("key ", n)))
		}
		time.Sleep(time.Second)
		if n := x.count(); n != 40 {
			t.Errorf("%d events are handled while it is paused, want 40", n)
		}
		for _, r := range receipts[:20] {
			if err := p.bus.Cancel(ctx, r.ID); err != nil {
				t.Error("cancel:", err)
			}
		}
		if err := p.bus.ResumeSubscription(ctx, "orders"); err != nil {
			t.Fatal(err)
		}
		for i, r := range receipts {
			outcome, err := r.Wait(ctx)
			if err != nil || len(outcome.Deliveries) != 1 || outcome.Deliveries[0].Discarded != (i < 20) {
				t.Errorf("event %d: %v, %v", i, outcome, err)
			}
		}
		if n := x.count(); n != 60 {
			t.Errorf("%d events are handled, want 60", n)
		}
		one.shutdown()
		other.shutdown()
		p.shutdown()
	})
}
