package conformance

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestASlowEphemeralHandlerLagsBehindAndMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		var seen Journal[int]
		gate := make(chan struct{})
		f.Handle("", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-gate
			if e.Payload.Number%3 == 0 && e.Attempt == 1 {
				return ErrBoom
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral(), runtime.WithTimeout(time.Hour), runtime.WithRetry(retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)))
		const events = 12_000 // more than the tail in memory has, a third of which is more than may wait
		var payloads []OrderPlaced
		for n := range events {
			payloads = append(payloads, OrderPlaced{OrderID: "A", Number: n})
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, payloads)
		Must(t, err)
		synctest.Wait()
		close(gate)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		got := seen.All()
		slices.Sort(got)
		if !slices.Equal(got, Numbers(0, events-1)) {
			t.Errorf("handled %d of %d events, or some twice", len(got), events)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionSaysHowManyPrunedEventsItHasPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal), runtime.WithRetention(time.Hour))
		f.MustStart()
		var seen Journal[int]
		var gate atomic.Bool // is closed
		f.Publish(Numbers(1, 300)...)
		time.Sleep(2 * time.Hour) // these are pruned before it is there
		f.Handle("live", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			for gate.Load() {
				time.Sleep(time.Minute)
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral(), runtime.WithTimeout(10*time.Hour))
		passes := func() (events []float64) {
			for _, level := range []string{"WARN", "INFO"} {
				for _, line := range f.Log.Level(t, level) {
					if msg := line["msg"].(string); strings.Contains(msg, "ephemeral") && strings.Contains(msg, "pruned") && line["subscription_id"] == "live" {
						events = append(events, line["events"].(float64))
					}
				}
			}
			return events
		}
		const events = 12_000 // more than are kept in memory
		publish := func() {
			payloads := make([]OrderPlaced, events)
			_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, payloads)
			Must(t, err)
			synctest.Wait()
		}
		publish()
		if got := passes(); got != nil || len(seen.All()) != events {
			t.Fatalf("a subscription that is quick has handled %d events, and passed over %v", len(seen.All()), got)
		}
		for episode := 1; episode <= 2; episode++ {
			before := len(seen.All())
			gate.Store(true)
			publish()
			time.Sleep(3 * time.Hour)
			gate.Store(false)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			missed := float64(events - (len(seen.All()) - before))
			if got := passes(); missed == 0 || len(got) != 2*episode || got[2*episode-1] != missed || got[episode-1] > missed {
				t.Errorf("in episode %d it missed %v events, and said %v: first what it knew then, at last all", episode, missed, got)
			}
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionGetsDelayedEventsWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		began := time.Now()
		publish := func(n int, opts ...runtime.PublishOption) {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n}, opts...)
			Must(t, err)
		}
		publish(1, runtime.WithDelay(time.Minute)) // before the subscription
		type order struct {
			number int
			after  time.Duration
		}
		var seen Journal[order]
		f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(order{e.Payload.Number, time.Since(began)})
			return nil
		}, runtime.Ephemeral())
		publish(2, runtime.WithDelay(time.Hour))
		publish(3, runtime.WithDelay(time.Second))
		publish(4)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got, want := seen.All(), []order{{4, 0}, {3, time.Second}, {2, time.Hour}}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

func (env *Env) TestOfManyDelayedEventsAnEphemeralSubscriptionDropsThoseThatAreDueLastAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		var seen Journal[int]
		f.Handle("live", numbersInto(&seen), runtime.Ephemeral())
		at := time.Now().Add(time.Hour)
		for n := range 1100 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n}, runtime.WithPublishAt(at.Add(time.Duration(n)*time.Second)))
			Must(t, err)
		}
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, Numbers(0, 1023)) {
			t.Errorf("handled %d events, want the first 1024", len(got))
		}
		if lines := f.Log.Level(t, "WARN"); len(lines) != 1 || lines[0]["subscription_id"] != "live" {
			t.Errorf("logged %v, want one warning", lines)
		}
	})
}

func (env *Env) TestAThousandEphemeralSubscriptionsAllGetEachEventAndAreGoneAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var handled atomic.Int32
		var all []*runtime.Subscription
		for range 1000 {
			all = append(all, f.Handle("", func(context.Context, runtime.Event[OrderPlaced]) error {
				handled.Add(1)
				return nil
			}, runtime.Ephemeral()))
		}
		f.Publish(1, 2, 3)
		synctest.Wait()
		if n := handled.Load(); n != 3000 {
			t.Errorf("%d deliveries, want 3000", n)
		}
		for _, s := range all {
			Must(t, s.Unsubscribe(t.Context()))
		}
		f.Publish(4)
		within()
		if n := handled.Load(); n != 3000 {
			t.Errorf("%d deliveries after Unsubscribe, want 3000", n)
		}
		if n := len(f.Stats().Subscriptions); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

// What waits for its next attempt is in memory, and bounded: it reads on when some of that has been tried again.
func (env *Env) TestAnEphemeralSubscriptionReadsNoFurtherWhileManyEventsWaitToBeTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		var first, second atomic.Int32
		f.Handle("live", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if first.Load() < 2000 && time.Since(e.PublishedAt) < time.Hour {
				first.Add(1)
				return runtime.Snooze(time.Hour)
			}
			second.Add(1)
			return nil
		}, runtime.Ephemeral())
		var batch []OrderPlaced
		for n := range 2000 {
			batch = append(batch, OrderPlaced{OrderID: "A", Number: n})
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, batch)
		Must(t, err)
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		if n := first.Load(); n < 1024 || n > 1024+256 {
			t.Errorf("%d wait for their next attempt, want 1024 and what was in memory", n)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if second.Load() != 2000 {
			t.Errorf("%d were handled, want 2000", second.Load())
		}
	})
}
