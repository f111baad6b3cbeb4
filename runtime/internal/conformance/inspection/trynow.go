package inspection

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// waits is a bus whose worker waits a day before the second attempt: 1 to 3 have failed, 4 was snoozed, 5 is delayed.
type waits struct {
	*Fixture
	receipts []*runtime.Receipt
	tried    conformance.Journal[string] // number:attempt, from the second attempt on
}

func (env *Env) waits(t *testing.T, opts ...runtime.SubscribeOption) *waits {
	w := &waits{Fixture: env.Open(t)}
	opts = append(opts, runtime.WithRetry(retry.BaseDelay(24*time.Hour), retry.MaxDelay(24*time.Hour), retry.MaxAttempts(9)))
	w.Subscribe("worker", func(number, attempt int) error {
		switch {
		case attempt > 1 || number > 4:
			w.tried.Add(fmt.Sprint(number, ":", attempt))
			return nil
		case number == 4:
			return runtime.Snooze(24 * time.Hour)
		}
		return fmt.Errorf("mail server %d is down", number)
	}, opts...)
	w.MustStart()
	w.receipts = w.Publish(1, 2, 3, 4)
	later, err := runtime.Publish(t.Context(), w.Bus, PlacedType, Order{Number: 5}, runtime.WithDelay(24*time.Hour))
	Must(t, err)
	w.receipts = append(w.receipts, later)
	return w
}

// now tries what a filter chooses, and returns what was tried within a second.
func (w *waits) now(f event.Filter) (inspect.Counts, []string) {
	w.t.Helper()
	before := len(w.tried.All())
	counts, err := w.File.TryNow(w.t.Context(), inspect.Selection{Filter: f})
	Must(w.t, err)
	time.Sleep(time.Second)
	got := slices.Clone(w.tried.All()[before:])
	slices.Sort(got)
	return counts, got
}

func (env *Env) TestARetryThatWaitsIsTriedNowWithItsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := env.waits(t)
		for _, one := range []struct {
			filter event.Filter
			want   []string
		}{
			{event.Filter{Text: "mail server 2"}, []string{"2:2"}},
			{event.Filter{Types: []string{"user.*"}}, nil},
			{event.Filter{Subscriptions: []string{"worker"}, Events: []uuid.UUID{w.receipts[0].ID}}, []string{"1:2"}},
			{event.Filter{Events: []uuid.UUID{w.receipts[0].ID}}, nil}, // it was handled
			{event.Filter{Types: []string{"order.*"}}, []string{"3:2", "4:2"}},
		} {
			counts, got := w.now(one.filter)
			if want := (inspect.Counts{Matched: len(one.want), Moved: len(one.want)}); !slices.Equal(got, one.want) || counts != want {
				t.Errorf("%s: %+v, tried %q, want %q", one.filter, counts, got, one.want)
			}
		}
		if got := w.States(w.receipts[4]); !slices.Equal(got, []string{"worker waiting"}) {
			t.Errorf("the delayed event is %q", got)
		}
		time.Sleep(25 * time.Hour)
		if got := w.tried.All(); len(got) != 5 || got[4] != "5:1" {
			t.Errorf("tried %q, the last ones once more than asked", got)
		}
	})
}

func (env *Env) TestWhatIsTriedNowIsInTheAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := env.waits(t)
		w.now(event.Filter{Subscriptions: []string{"worker"}, Events: []uuid.UUID{w.receipts[0].ID}})
		w.now(event.Filter{Text: "mail server"})
		w.now(event.Filter{Text: "mail server"}) // nothing
		entries, _, err := w.File.Audit(t.Context(), event.AuditFilter{Actions: []string{"try now"}}, event.Page{})
		Must(t, err)
		if len(entries) != 2 || entries[0].Count != 2 || entries[0].Actor != "ada" || !strings.Contains(entries[0].Detail, `text "mail server"`) ||
			entries[1].EventID != w.receipts[0].ID || entries[1].Count != 1 {
			t.Errorf("the audit has %+v", entries)
		}
		if one, err := w.File.Event(t.Context(), w.receipts[1].ID); err != nil || len(one.Audit) != 1 || one.Audit[0].Action != "try now" {
			t.Errorf("the event has %+v, %v", one.Audit, err)
		}
	})
}

func (env *Env) TestWhatIsDueNowStillWaitsForThePauseAndTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := env.waits(t)
		Must(t, w.File.PauseSubscription(t.Context(), "worker", ""))
		time.Sleep(time.Second)
		if counts, got := w.now(event.Filter{Text: "server 1"}); counts.Moved != 1 || len(got) != 0 {
			t.Errorf("paused: %+v, tried %q", counts, got)
		}
		Must(t, w.File.ResumeSubscription(t.Context(), "worker"))
		time.Sleep(time.Second)
		if got := w.tried.All(); !slices.Equal(got, []string{"1:2"}) {
			t.Errorf("resumed: tried %q", got)
		}
		w.Stop()
		counts, err := w.File.TryNow(t.Context(), inspect.Selection{Filter: event.Filter{Text: "server 2"}})
		if counts.Moved != 1 || err != nil {
			t.Errorf("down: %+v, %v", counts, err)
		}
		f := env.Reopen(t, w.Path)
		var h Handled
		f.Subscribe("worker", h.Handle)
		f.MustStart()
		time.Sleep(time.Second)
		if got := h.All(); !slices.Equal(got, []int{2}) {
			t.Errorf("handled %v at the next start, want 2", got)
		}
	})
}

func (env *Env) TestWhatIsCancelledIsNotTriedNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := env.waits(t)
		Must(t, Second(w.File.DiscardEvent(t.Context(), w.receipts[0].ID, "", "a test")))
		counts, err := w.File.TryNow(t.Context(), inspect.Selection{Filter: event.Filter{Events: []uuid.UUID{w.receipts[0].ID}}})
		if counts != (inspect.Counts{}) || err != nil {
			t.Errorf("a cancelled one: %+v, %v", counts, err)
		}
		for name, f := range map[string]event.Filter{
			"Status": {Status: event.StatusPending}, "State": {State: event.StateWaiting}, "Since": {Since: time.Now()}, "Group": {Group: "0123"},
		} {
			if _, err := w.File.TryNow(t.Context(), inspect.Selection{Filter: f}); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func (env *Env) TestThePageTriesRetriesNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := env.waits(t)
		v := visit(t, w.File)
		const page = "/retries?subscription=worker"
		v.shows("/subscription?name=worker", "mail server 3 is down")
		v.shows(page, "4 can be tried now")
		v.shows(page+"&text=server+2", "1 can be tried now")
		v.shows(page+"&text=server+7", "Nothing waits that matches")
		v.press(page+"&text=server+2", "try-now", "1 delivery is due now, of worker.")
		time.Sleep(time.Second)
		v.press("/event?id="+w.receipts[0].ID.String(), "try-now", "1 delivery is due now, of worker.")
		time.Sleep(time.Second)
		v.press(page, "try-now", "2 deliveries are due now, of worker.")
		time.Sleep(time.Second)
		if got := w.tried.All(); len(got) != 4 || got[0] != "2:2" || got[1] != "1:2" {
			t.Errorf("tried %q", got)
		}
	})
}

// What waits behind an earlier delivery of a strict order waits for no time.
func (env *Env) TestWhatIsBehindAnotherOfAStrictOrderHasNoDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := env.waits(t, runtime.WithStrictOrder())
		time.Sleep(time.Minute)
		w.Stop() // which writes what was polled
		for at, receipt := range w.receipts[:4] {
			e, err := w.File.Event(t.Context(), receipt.ID)
			Must(t, err)
			if due := e.Deliveries[0].Due; due.IsZero() != (at > 0) || !due.IsZero() && due.Before(e.PublishedAt) {
				t.Errorf("the delivery of event %d is due at %v", at+1, due)
			}
		}
	})
}
