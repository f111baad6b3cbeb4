package inspect_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
)

// states are those of an event's deliveries: name state.
func (f *fixture) states(r *runtime.Receipt) (all []string) {
	f.t.Helper()
	event, err := f.file.Event(f.t.Context(), r.ID)
	must(f.t, err)
	for _, d := range event.Deliveries {
		all = append(all, d.Subscription+" "+d.State)
	}
	return all
}

func TestAnOpenEventIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var waiting, strict, paused, running handled
		hold := make(chan error, 1)
		f.subscribe("waiting", func(n, a int) error { waiting.handle(n, a); return runtime.RetryAfter(time.Hour, errBroken) })
		f.subscribe("strict", func(n, a int) error {
			strict.handle(n, a)
			if n == 1 {
				return runtime.RetryAfter(time.Hour, errBroken)
			}
			return nil
		}, runtime.WithStrictOrder())
		f.subscribe("paused", paused.handle)
		f.subscribe("running", func(n, a int) error {
			running.handle(n, a)
			if n == 1 {
				return <-hold
			}
			return nil
		}, runtime.WithTimeout(5*time.Hour))
		must(t, f.PauseSubscription(t.Context(), "paused"))
		f.start()
		receipts := f.publish(1, 2)
		if want := []int{1}; !slices.Equal(strict.all(), want) {
			t.Fatalf("the strict one has handled %v, want %v", strict.all(), want)
		}
		discarded, err := f.file.DiscardEvent(t.Context(), receipts[0].ID, "", "a test order")
		must(t, err)
		if want := []string{"paused", "running", "strict", "waiting"}; !slices.Equal(discarded, want) {
			t.Errorf("discarded for %v, want %v", discarded, want)
		}
		time.Sleep(time.Second)
		if want := []string{"paused discarded", "running running", "strict discarded", "waiting discarded"}; !slices.Equal(f.states(receipts[0]), want) {
			t.Errorf("the states are %v, want %v", f.states(receipts[0]), want)
		}
		if want := []int{1, 2}; !slices.Equal(strict.all(), want) {
			t.Errorf("the strict one has handled %v, want %v: what it held back goes on", strict.all(), want)
		}
		hold <- errBroken // it would be tried again
		must(t, f.ResumeSubscription(t.Context(), "paused"))
		time.Sleep(3 * time.Hour)
		outcome, err := receipts[0].Wait(t.Context())
		must(t, err)
		for _, d := range outcome.Deliveries {
			if !d.Discarded || d.Reason != "a test order" {
				t.Errorf("%s: %+v", d.Subscription, d)
			}
		}
		if got := [][]int{paused.all(), running.all()}; !slices.Equal(got[0], []int{2}) || !slices.Equal(got[1], []int{1, 2}) {
			t.Errorf("paused and running have handled %v", got)
		}
		if left := query(t, f.path, "SELECT count(*) FROM cancelled"); left[0] != "0" {
			t.Errorf("%s requests are left", left[0])
		}
		if got := query(t, f.path, "SELECT actor, action, subscription, detail FROM audit ORDER BY id"); len(got) != 4 || got[0] != "ada|discard|paused|a test order" {
			t.Errorf("the audit says %q", got)
		}
		report, err := f.file.Check(t.Context(), nil)
		must(t, err)
		if !report.OK() {
			t.Errorf("the file: %+v", report.Problems)
		}
	})
}

func TestAnEventIsDiscardedWhileTheProgramIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var h handled
		f.subscribe("worker", h.handle)
		receipts := f.publish(1, 2)
		f.stop()
		must(t, second(f.file.DiscardEvent(t.Context(), receipts[0].ID, "worker", "a test order")))
		if want := []string{"worker discarded"}; !slices.Equal(f.states(receipts[0]), want) {
			t.Errorf("the states are %v, want %v", f.states(receipts[0]), want)
		}
		f = reopen(t, f.path)
		f.subscribe("worker", h.handle)
		f.start()
		time.Sleep(time.Second)
		if !slices.Equal(h.all(), []int{2}) {
			t.Errorf("handled %v", h.all())
		}
	})
}

func TestAHandlerThatSucceedsAfterADiscardHasHandledTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		hold := make(chan error)
		f.subscribe("worker", func(int, int) error { return <-hold })
		f.start()
		receipt, err := runtime.Publish(t.Context(), f.Bus, placedType, order{Number: 1})
		must(t, err)
		time.Sleep(time.Second)
		must(t, second(f.file.DiscardEvent(t.Context(), receipt.ID, "", "too late")))
		hold <- nil
		time.Sleep(time.Second)
		if want := []string{"worker done"}; !slices.Equal(f.states(receipt), want) {
			t.Errorf("the states are %v, want %v", f.states(receipt), want)
		}
		_, err = f.file.DiscardEvent(t.Context(), receipt.ID, "", "again")
		var settled *inspect.NotOpenError
		if !errors.As(err, &settled) || !strings.Contains(err.Error(), "has no open delivery: worker done") {
			t.Errorf("discarding what is done: %v", err)
		}
		_, err = f.file.DiscardEvent(t.Context(), receipt.ID, "wroker", "again")
		var missing *inspect.NotFoundError
		if !errors.As(err, &missing) || missing.Thing != "subscription" {
			t.Errorf("discarding for nobody: %v", err)
		}
	})
}

func TestADiscardIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		broken := true
		var h handled
		f.subscribe("dead", func(n, a int) error {
			if broken {
				return errBroken
			}
			return h.handle(n, a)
		})
		skip := true
		f.subscribe("handler", func(n, a int) error {
			if skip {
				return runtime.Discard("not today")
			}
			return h.handle(n, a)
		})
		f.start()
		receipts := f.publish(1, 2, 3)
		letters, err := inspect.Open(t.Context(), f.path, inspect.WithActor("bob"))
		must(t, err)
		defer letters.Close()
		before, _, err := letters.DeadLetters(t.Context(), inspect.Filter{}, inspect.Page{})
		must(t, err)
		must(t, second(letters.DiscardDeadLetters(t.Context(), inspect.Selection{}, "a mistake")))
		event, err := f.file.Event(t.Context(), receipts[0].ID)
		must(t, err)
		bulk := event.Audit[0]
		if bulk.Action != "discard" || bulk.Count != 3 || bulk.Subscription != "dead" || bulk.Actor != "bob" {
			t.Fatalf("the event does not show the action on many: %+v", event.Audit)
		}

		undone, err := f.file.Undiscard(t.Context(), inspect.Undo{Action: bulk.ID})
		must(t, err)
		if undone != (inspect.Undone{Dead: 3}) {
			t.Errorf("undone: %+v", undone)
		}
		after, _, err := letters.DeadLetters(t.Context(), inspect.Filter{}, inspect.Page{})
		must(t, err)
		for i := range before {
			a, b := before[i], after[i]
			if a.Key != b.Key || a.DeadAt != b.DeadAt || a.Reason != b.Reason || a.Fingerprint != b.Fingerprint || a.Failures != b.Failures || len(a.Attempts) != len(b.Attempts) {
				t.Errorf("the letter was\n%+v and is\n%+v", a, b)
			}
		}
		skip = false
		undone, err = f.file.Undiscard(t.Context(), inspect.Undo{Event: receipts[1].ID, Subscription: "handler"})
		must(t, err)
		time.Sleep(time.Second)
		if undone != (inspect.Undone{Due: 1}) || !slices.Equal(h.all(), []int{2}) {
			t.Errorf("undone: %+v, handled %v", undone, h.all())
		}
		if undone, err = f.file.Undiscard(t.Context(), inspect.Undo{Action: bulk.ID}); err != nil || undone != (inspect.Undone{}) {
			t.Errorf("undone again: %+v, %v", undone, err)
		}
		event, err = f.file.Event(t.Context(), receipts[0].ID)
		must(t, err)
		if got := event.Audit[len(event.Audit)-1]; got.Action != "undiscard" || got.Actor != "ada" || got.Count != 3 {
			t.Errorf("the event does not show that it was undone: %+v", event.Audit)
		}
	})
}

func TestACancelledDiscardIsUndoneBeforeItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var h handled
		f.subscribe("worker", h.handle)
		receipts := f.publish(1)
		must(t, second(f.file.DiscardEvent(t.Context(), receipts[0].ID, "", "a mistake")))
		undone, err := f.file.Undiscard(t.Context(), inspect.Undo{Event: receipts[0].ID})
		must(t, err)
		f.start()
		time.Sleep(time.Second)
		if undone != (inspect.Undone{Due: 1}) || !slices.Equal(h.all(), []int{1}) {
			t.Errorf("undone: %+v, handled %v", undone, h.all())
		}
	})
}

func TestWhatWasEditedIsNotUndiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.subscribe("worker", fail)
		f.start()
		receipt := f.publish(1)[0]
		letters, err := inspect.Open(t.Context(), f.path, inspect.WithEditing(catalogue.Check))
		must(t, err)
		defer letters.Close()
		must(t, second(letters.Edit(t.Context(), inspect.Key{EventID: receipt.ID, Subscription: "worker"}, []byte(`{"number":7}`))))
		undone, err := f.file.Undiscard(t.Context(), inspect.Undo{Event: receipt.ID})
		must(t, err)
		if undone != (inspect.Undone{Left: 1}) {
			t.Errorf("undone: %+v", undone)
		}
	})
}

func TestHandledEventsAreReplayedToOneSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var h, other handled
		f.subscribe("worker", func(n, a int) error {
			if n == 4 {
				return runtime.Permanent(errBroken)
			}
			if slices.Contains(h.all(), n) == (a == 1) {
				t.Errorf("event %d: attempt %d", n, a)
			}
			return h.handle(n, a)
		})
		f.subscribe("other", other.handle)
		f.start()
		began := time.Now()
		receipts := f.publish(1, 2, 3, 4, 5)
		replay := func(s inspect.Selection) inspect.Counts {
			t.Helper()
			counts, err := f.file.Replay(t.Context(), "worker", s)
			must(t, err)
			time.Sleep(time.Second)
			return counts
		}
		if got := replay(inspect.Selection{DryRun: true}); got != (inspect.Counts{Matched: 4}) || len(h.all()) != 4 {
			t.Errorf("a dry run: %+v, handled %v", got, h.all())
		}
		if got := replay(inspect.Selection{Filter: inspect.Filter{Types: []string{"order.*"}, Since: began.Add(30 * time.Second)}, Limit: 2}); got != (inspect.Counts{Matched: 3, Moved: 2}) {
			t.Errorf("by type and time: %+v", got)
		}
		if got := replay(inspect.Selection{Filter: inspect.Filter{Events: []uuidOf{receipts[0].ID, receipts[3].ID}}}); got != (inspect.Counts{Matched: 1, Moved: 1}) {
			t.Errorf("by id: %+v", got)
		}
		if want := []int{1, 2, 3, 5, 2, 3, 1}; !slices.Equal(h.all(), want) || len(other.all()) != 5 {
			t.Errorf("handled %v, want %v; the other %v", h.all(), want, other.all())
		}
		if got := replay(inspect.Selection{Filter: inspect.Filter{Types: []string{"user.*"}}}); got != (inspect.Counts{}) {
			t.Errorf("of another type: %+v", got)
		}
		if got := query(t, f.path, "SELECT actor, action, subscription, count, detail FROM audit ORDER BY id"); len(got) != 2 || !strings.HasPrefix(got[0], "ada|replay|worker|2|type order.*, since ") {
			t.Errorf("the audit says %q", got)
		}
		event, err := f.file.Event(t.Context(), receipts[1].ID)
		must(t, err)
		if len(event.Audit) != 1 || event.Audit[0].Action != "replay" || event.Audit[0].Subscription != "worker" {
			t.Errorf("the event shows %+v", event.Audit)
		}
		_, err = f.file.Replay(t.Context(), "wroker", inspect.Selection{})
		var missing *inspect.NotFoundError
		if !errors.As(err, &missing) {
			t.Errorf("for nobody: %v", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.file.Replay(ended, "worker", inspect.Selection{}); !errors.Is(err, context.Canceled) {
			t.Errorf("interrupted: %v", err)
		}
	})
}
