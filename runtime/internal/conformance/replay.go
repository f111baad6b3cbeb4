package conformance

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

func (env *Env) TestABusReplaysToOneSubscriptionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen, replays, other Journal[int]
		f.Handle("worker", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Replayed != (e.Attempt > 1) {
				t.Errorf("order %d: attempt %d, replayed %t", e.Payload.Number, e.Attempt, e.Replayed)
			}
			if e.Replayed {
				replays.Add(e.Payload.Number)
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.WithConcurrency(4))
		f.Handle("other", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			other.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		receipts := f.Publish(Numbers(1, 250)...)
		synctest.Wait() // all are handled, and that may not be written yet
		again := func(what string, n int, err error, want int) {
			t.Helper()
			Must(t, err)
			f.Idle()
			if got := len(replays.All()); n != want || got != want {
				t.Errorf("%s: returned %d and delivered %d, want %d", what, n, got, want)
			}
			replays = Journal[int]{}
		}
		n, err := f.Replay(t.Context(), "worker", event.ReplayFilter{})
		again("all", n, err, 250)
		n, err = f.Replay(t.Context(), "worker", event.ReplayFilter{From: receipts[247].ID})
		again("from event 248", n, err, 3)
		n, err = f.Replay(t.Context(), "worker", event.ReplayFilter{Since: time.Now().Add(time.Hour)})
		again("of the future", n, err, 0)
		n, err = f.Replay(t.Context(), "worker", event.ReplayFilter{Types: []string{"order.*"}, Events: []uuid.UUID{receipts[0].ID, receipts[9].ID}})
		again("two events", n, err, 2)
		n, err = f.Replay(t.Context(), "worker", event.ReplayFilter{Types: []string{"user.*"}})
		again("of another type", n, err, 0)
		if got := other.All(); len(got) != 250 {
			t.Errorf("the other subscription has handled %d events, want 250", len(got))
		}
		file, err := f.Env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		entries, _, err := file.Audit(t.Context(), event.AuditFilter{}, event.Page{})
		Must(t, err)
		if len(entries) != 3 || entries[2].Action != "replay" || entries[2].Count != 250 || entries[0].Action != "replay" || entries[0].Count != 2 {
			t.Errorf("the audit has %+v", entries)
		}
	})
}

// An event that is handled between the count and its turn does not take the place of one
// that matched.
func (env *Env) TestABusReplaysAllThatMatchedWhenAnotherIsHandledMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		const snoozed, last = 150, 201 // two steps without the snoozed one
		var seen Journal[int]
		f.Handle("worker", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == snoozed && e.Attempt == 1 {
				return runtime.Snooze(time.Hour)
			}
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		f.Publish(Numbers(1, last)...)
		time.Sleep(time.Hour - time.Millisecond)
		if got := len(seen.All()); got != last-1 {
			t.Fatalf("handled %d, want %d: one waits", got, last-1)
		}
		n, err := f.Replay(t.Context(), "worker", event.ReplayFilter{})
		Must(t, err)
		f.Idle()
		times := map[int]int{}
		for _, one := range seen.All() {
			times[one]++
		}
		missing := 0
		for one := 1; one <= last; one++ {
			if one != snoozed && times[one] != 2 {
				t.Errorf("order %d was handled %d times, want 2", one, times[one])
				missing++
			}
		}
		if want := last - 2 + times[snoozed]; n != want && missing == 0 {
			t.Errorf("replayed %d, want %d", n, want)
		}
	})
}

// While a replay is under way, the events that are open are left to it.
func (env *Env) TestAReplayDuringAReplayReplaysNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("worker", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Replayed {
				time.Sleep(10 * time.Second)
			}
			seen.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		f.Publish(1, 2, 3)
		f.Idle()
		for _, want := range []int{3, 0} {
			n, err := f.Replay(t.Context(), "worker", event.ReplayFilter{})
			if err != nil || n != want {
				t.Errorf("replayed %d, %v, want %d", n, err, want)
			}
		}
		f.Idle()
		if got := seen.All(); !slices.Equal(got, []int{1, 2, 3, 1, 2, 3}) {
			t.Errorf("handled %v", got)
		}
	})
}

func (env *Env) TestAReplayThatIsRefusedOrInterruptedSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("worker", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if n, err := f.Replay(t.Context(), "wroker", event.ReplayFilter{}); n != 0 || !errors.Is(err, event.ErrUnknownSubscription) {
			t.Errorf("of an unknown subscription: %d, %v", n, err)
		}
		if n, err := f.Replay(t.Context(), "worker", event.ReplayFilter{From: uuid.New()}); n != 0 || err == nil {
			t.Errorf("from an unknown event: %d, %v", n, err)
		}
		if n, err := f.Replay(t.Context(), "worker", event.ReplayFilter{Types: []string{"order..*"}}); n != 0 || err == nil {
			t.Errorf("of a type that is no glob: %d, %v", n, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if n, err := f.Replay(ended, "worker", event.ReplayFilter{}); n != 0 || !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %d, %v", n, err)
		}
		f.Stop()
		if n, err := f.Replay(t.Context(), "worker", event.ReplayFilter{}); n != 0 || !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("after the shutdown: %d, %v", n, err)
		}
	})
}
