package inspection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
)

// rewinder is a bus whose subscription worker has handled the orders 2, 3, 5, 6 and 8,
// has order 4 as a dead letter and is to try order 7 again in an hour. Order 1 is older
// than the subscription. The orders are a minute apart.
type rewinder struct {
	*Fixture
	events []uuid.UUID // the ids of the orders from 1 on
	times  []time.Time
	seen   Handled                     // by worker
	marks  conformance.Journal[string] // of the events that worker sees: number, attempt, and whether it is a replay
	other  Handled
}

func newRewinder(t *testing.T, env *Env) *rewinder {
	r := &rewinder{Fixture: env.Open(t)}
	publish := func(n int) {
		r.times = append(r.times, time.Now())
		r.events = append(r.events, r.Publish(n)[0].ID)
		time.Sleep(time.Minute)
	}
	publish(1)
	_, err := runtime.Subscribe(r.Bus, PlacedType, "worker", func(_ context.Context, e runtime.Event[Order]) error {
		r.marks.Add(fmt.Sprintf("%d:%d:%t", e.Payload.Number, e.Attempt, e.Replayed))
		switch e.Payload.Number {
		case 4:
			return runtime.Permanent(ErrBroken)
		case 7:
			return runtime.Snooze(24 * time.Hour)
		}
		return r.seen.Handle(e.Payload.Number, e.Attempt)
	})
	Must(t, err)
	r.Subscribe("other", r.other.Handle)
	Must(t, r.Start(t.Context()))
	for n := 2; n <= 8; n++ {
		publish(n)
	}
	return r
}

// rewind returns what the rewind has delivered, in order.
func (r *rewinder) rewind(to event.To, s inspect.Selection) (counts inspect.Counts, delivered []int) {
	r.t.Helper()
	before := len(r.seen.All())
	counts, err := r.File.Rewind(r.t.Context(), "worker", to, s)
	Must(r.t, err)
	time.Sleep(time.Second)
	return counts, r.seen.All()[before:]
}

func (env *Env) TestARewindDeliversExactlyTheRangeToOneSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRewinder(t, env)
		for _, one := range []struct {
			to   event.To
			want []int
		}{
			{event.ToBeginning(), []int{2, 3, 5, 6, 8}},
			{event.ToEvent(r.events[0]), []int{2, 3, 5, 6, 8}}, // older than the subscription
			{event.ToEvent(r.events[2]), []int{3, 5, 6, 8}},    // handled
			{event.ToEvent(r.events[3]), []int{5, 6, 8}},       // dead
			{event.ToEvent(r.events[7]), []int{8}},
			{event.ToTime(r.times[4]), []int{5, 6, 8}}, // when 5 was published
			{event.ToTime(r.times[4].Add(time.Microsecond)), []int{6, 8}},
			{event.ToTime(time.Now()), nil},
		} {
			counts, got := r.rewind(one.to, inspect.Selection{})
			if n := len(one.want); !slices.Equal(got, one.want) || counts != (inspect.Counts{Matched: n, Moved: n}) {
				t.Errorf("to %s: delivered %v, %+v, want %v", one.to, got, counts, one.want)
			}
		}
		if counts, got := r.rewind(event.ToBeginning(), inspect.Selection{DryRun: true}); counts != (inspect.Counts{Matched: 5}) || len(got) > 0 {
			t.Errorf("a dry run: %+v, delivered %v", counts, got)
		}
		if counts, got := r.rewind(event.ToBeginning(), inspect.Selection{Limit: 2}); counts != (inspect.Counts{Matched: 5, Moved: 2}) || !slices.Equal(got, []int{2, 3}) {
			t.Errorf("with a limit: %+v, delivered %v", counts, got)
		}
		if got := r.other.All(); len(got) != 7 {
			t.Errorf("the other subscription has handled %v, which is more than once", got)
		}
	})
}

func (env *Env) TestARewindLeavesOpenDeliveriesAndDeadLettersAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRewinder(t, env)
		dead, snoozed := r.delivery(t, 4), r.delivery(t, 7)
		before := len(r.marks.All())
		r.rewind(event.ToBeginning(), inspect.Selection{})
		if got := []event.DeliveryState{r.delivery(t, 4), r.delivery(t, 7)}; got[0].State != event.StateDead || !got[0].Settled.Equal(dead.Settled) ||
			got[1].State != event.StateWaiting || !got[1].Due.Equal(snoozed.Due) {
			t.Errorf("the dead and the open delivery are %+v, and were %+v, %+v", got, dead, snoozed)
		}
		if want := []string{"2:2:true", "3:2:true", "5:2:true", "6:2:true", "8:2:true"}; !slices.Equal(r.marks.All()[before:], want) {
			t.Errorf("the handler saw %q, want %q", r.marks.All()[before:], want)
		}
		time.Sleep(24 * time.Hour)
		if last := r.marks.All()[len(r.marks.All())-1]; last != "7:2:false" {
			t.Errorf("the open delivery came as %q, which is no replay", last)
		}
	})
}

// An event that is handled between the count and its turn does not take the place of one
// that matched.
func (env *Env) TestARewindDeliversAllThatMatchedWhenAnotherIsHandledMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var marks conformance.Journal[string]
		_, err := runtime.Subscribe(f.Bus, PlacedType, "worker", func(_ context.Context, e runtime.Event[Order]) error {
			if e.Payload.Number == 3 && e.Attempt == 1 {
				return runtime.Snooze(time.Hour)
			}
			marks.Add(fmt.Sprintf("%d:%t", e.Payload.Number, e.Replayed))
			return nil
		})
		Must(t, err)
		Must(t, f.Start(t.Context()))
		f.Publish(1, 2, 3, 4)
		time.Sleep(time.Hour - 2*time.Minute - 500*time.Millisecond) // order 3 is due between the first step and the second
		counts, err := f.File.Rewind(t.Context(), "worker", event.ToBeginning(), inspect.Selection{Rate: 1})
		Must(t, err)
		time.Sleep(time.Minute)
		got := marks.All()
		extra := 0
		if slices.Contains(got, "3:true") {
			extra = 1
		}
		for _, want := range []string{"3:false", "1:true", "2:true", "4:true"} {
			if !slices.Contains(got, want) {
				t.Errorf("the handler saw %q, want %s as well", got, want)
			}
		}
		if want := (inspect.Counts{Matched: 3, Moved: 3 + extra}); counts != want {
			t.Errorf("the counts are %+v, want %+v", counts, want)
		}
	})
}

// delivery returns where an order stands for worker.
func (r *rewinder) delivery(t *testing.T, n int) event.DeliveryState {
	t.Helper()
	one, err := r.File.Event(t.Context(), r.events[n-1])
	Must(t, err)
	at := slices.IndexFunc(one.Deliveries, func(d event.DeliveryState) bool { return d.Subscription == "worker" })
	return one.Deliveries[at]
}

func (env *Env) TestARewindIsOneEntryOfTheAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRewinder(t, env)
		r.rewind(event.ToEvent(r.events[2]), inspect.Selection{Rate: 1})
		time.Sleep(time.Minute)
		entries, _, err := r.File.Audit(t.Context(), event.AuditFilter{Actions: []string{"rewind"}}, event.Page{})
		Must(t, err)
		if len(entries) != 1 || entries[0].Subscription != "worker" || entries[0].Count != 4 || entries[0].Actor != "ada" || entries[0].Detail != "to "+r.events[2].String() {
			t.Errorf("the audit has %+v", entries)
		}
	})
}

func (env *Env) TestARewindToNowhereIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRewinder(t, env)
		for text, to := range map[string]event.To{"no place": {}, "no time": event.ToTime(time.Time{}), "no event": event.ToEvent(uuid.Nil)} {
			if counts, err := r.File.Rewind(t.Context(), "worker", to, inspect.Selection{}); err == nil {
				t.Errorf("%s: %+v", text, counts)
			}
		}
		if _, err := r.File.Rewind(t.Context(), "worker", event.ToBeginning(), inspect.Selection{Filter: event.Filter{Text: "x"}}); err == nil {
			t.Error("a rewind with a filter is not refused")
		}
		for thing, f := range map[string]func() (inspect.Counts, error){
			"event": func() (inspect.Counts, error) {
				return r.File.Rewind(t.Context(), "worker", event.ToEvent(uuid.New()), inspect.Selection{})
			},
			"subscription": func() (inspect.Counts, error) {
				return r.File.Rewind(t.Context(), "wroker", event.ToBeginning(), inspect.Selection{})
			},
		} {
			_, err := f()
			missing, ok := errors.AsType[*event.NotFoundError](err)
			if !ok || missing.Thing != thing || errors.Is(err, event.ErrUnknownSubscription) != (thing == "subscription") {
				t.Errorf("an unknown %s: %v", thing, err)
			}
		}
		if got := r.seen.All(); len(got) != 5 {
			t.Errorf("handled %v", got)
		}
	})
}

// A replayed event that fails is a replay still when it is tried again, and when it was
// dead and is retried.
func (env *Env) TestAReplayIsMarkedUntilItIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var failing atomic.Bool
		var marks conformance.Journal[string]
		_, err := runtime.Subscribe(f.Bus, PlacedType, "worker", func(_ context.Context, e runtime.Event[Order]) error {
			marks.Add(fmt.Sprintf("%d:%t", e.Attempt, e.Replayed))
			if failing.Load() {
				return ErrBroken
			}
			return nil
		})
		Must(t, err)
		Must(t, f.Start(t.Context()))
		f.Publish(1)
		time.Sleep(time.Minute)
		failing.Store(true)
		_, err = f.File.Replay(t.Context(), "worker", inspect.Selection{})
		Must(t, err)
		time.Sleep(time.Minute)
		failing.Store(false)
		_, err = f.File.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		time.Sleep(time.Minute)
		if want := []string{"1:false", "2:true", "3:true", "4:true"}; !slices.Equal(marks.All(), want) {
			t.Errorf("the handler saw %q, want %q", marks.All(), want)
		}
		if letters, _, err := f.File.DeadLetters(t.Context(), event.Filter{}, event.Page{}); err != nil || len(letters) > 0 {
			t.Errorf("dead letters: %v, %v", letters, err)
		}
	})
}

// A retry of a dead letter is no replay: the subscription has not handled the event.
func (env *Env) TestARetriedDeadLetterIsNoReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRewinder(t, env)
		before := len(r.marks.All())
		_, err := r.File.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		time.Sleep(time.Minute)
		if want := []string{"4:2:false"}; !slices.Equal(r.marks.All()[before:], want) {
			t.Errorf("the handler saw %q, want %q", r.marks.All()[before:], want)
		}
	})
}
