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

// replayer is a bus whose subscription worker has handled the orders 2, 3, 5, 6 and 8,
// has order 4 as a dead letter and is to try order 7 again in an hour. Order 1 is older
// than the subscription. The orders are a minute apart.
type replayer struct {
	*Fixture
	events []uuid.UUID // the ids of the orders from 1 on
	times  []time.Time
	seen   Handled                     // by worker
	marks  conformance.Journal[string] // of the events that worker sees: number, attempt, and whether it is a replay
	other  Handled
}

func newReplayer(t *testing.T, env *Env) *replayer {
	r := &replayer{Fixture: env.Open(t)}
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

// replay returns what a replay has delivered, in order.
func (r *replayer) replay(s inspect.Selection) (counts inspect.Counts, delivered []int) {
	r.t.Helper()
	before := len(r.seen.All())
	counts, err := r.File.Replay(r.t.Context(), "worker", s)
	Must(r.t, err)
	time.Sleep(time.Second)
	return counts, r.seen.All()[before:]
}

// since selects what was published at a time or later.
func since(at time.Time) inspect.Selection {
	return inspect.Selection{Filter: event.Filter{Since: at}}
}

func (env *Env) TestAReplayFromAPlaceDeliversExactlyTheRangeToOneSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplayer(t, env)
		for _, one := range []struct {
			from inspect.Selection
			want []int
		}{
			{inspect.Selection{}, []int{2, 3, 5, 6, 8}},
			{inspect.Selection{From: r.events[0]}, []int{2, 3, 5, 6, 8}}, // older than the subscription
			{inspect.Selection{From: r.events[2]}, []int{3, 5, 6, 8}},    // handled
			{inspect.Selection{From: r.events[3]}, []int{5, 6, 8}},       // dead
			{inspect.Selection{From: r.events[7]}, []int{8}},
			{since(r.times[4]), []int{5, 6, 8}}, // when 5 was published
			{since(r.times[4].Add(time.Microsecond)), []int{6, 8}},
			{since(time.Now()), nil},
		} {
			counts, got := r.replay(one.from)
			if n := len(one.want); !slices.Equal(got, one.want) || counts != (inspect.Counts{Matched: n, Moved: n}) {
				t.Errorf("from %s, since %s: delivered %v, %+v, want %v", one.from.From, one.from.Filter.Since, got, counts, one.want)
			}
		}
		if counts, got := r.replay(inspect.Selection{DryRun: true}); counts != (inspect.Counts{Matched: 5}) || len(got) > 0 {
			t.Errorf("a dry run: %+v, delivered %v", counts, got)
		}
		if counts, got := r.replay(inspect.Selection{Limit: 2}); counts != (inspect.Counts{Matched: 5, Moved: 2}) || !slices.Equal(got, []int{2, 3}) {
			t.Errorf("with a limit: %+v, delivered %v", counts, got)
		}
		if got := r.other.All(); len(got) != 7 {
			t.Errorf("the other subscription has handled %v, which is more than once", got)
		}
	})
}

func (env *Env) TestAReplayLeavesOpenDeliveriesAndDeadLettersAsTheyAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplayer(t, env)
		dead, snoozed := r.delivery(t, 4), r.delivery(t, 7)
		before := len(r.marks.All())
		r.replay(inspect.Selection{})
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
func (env *Env) TestAReplayDeliversAllThatMatchedWhenAnotherIsHandledMeanwhile(t *testing.T) {
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
		counts, err := f.File.Replay(t.Context(), "worker", inspect.Selection{Rate: 1})
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
func (r *replayer) delivery(t *testing.T, n int) event.DeliveryState {
	t.Helper()
	stored, err := r.File.Event(t.Context(), r.events[n-1])
	Must(t, err)
	at := slices.IndexFunc(stored.Deliveries, func(d event.DeliveryState) bool { return d.Subscription == "worker" })
	return stored.Deliveries[at]
}

func (env *Env) TestAReplayFromAnEventIsOneEntryOfTheAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplayer(t, env)
		r.replay(inspect.Selection{From: r.events[2], Rate: 1})
		time.Sleep(time.Minute)
		entries, _, err := r.File.Audit(t.Context(), event.AuditFilter{Actions: []string{"replay"}}, event.Page{})
		Must(t, err)
		if len(entries) != 1 || entries[0].Subscription != "worker" || entries[0].Count != 4 || entries[0].Actor != "ada" || entries[0].Detail != "all from event "+r.events[2].String() {
			t.Errorf("the audit has %+v", entries)
		}
	})
}

func (env *Env) TestAReplayFromNowhereIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReplayer(t, env)
		if _, err := r.File.Retry(t.Context(), inspect.Selection{From: r.events[2]}); err == nil {
			t.Error("a place in the log for a retry is not refused")
		}
		for thing, f := range map[string]func() (inspect.Counts, error){
			"event": func() (inspect.Counts, error) {
				return r.File.Replay(t.Context(), "worker", inspect.Selection{From: uuid.New()})
			},
			"subscription": func() (inspect.Counts, error) {
				return r.File.Replay(t.Context(), "wroker", inspect.Selection{})
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
		r := newReplayer(t, env)
		before := len(r.marks.All())
		_, err := r.File.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		time.Sleep(time.Minute)
		if want := []string{"4:2:false"}; !slices.Equal(r.marks.All()[before:], want) {
			t.Errorf("the handler saw %q, want %q", r.marks.All()[before:], want)
		}
	})
}
