package inspection

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// States returns the states of an event's deliveries, each as name and state.
func (f *Fixture) States(r *runtime.Receipt) (all []string) {
	f.t.Helper()
	event, err := f.File.Event(f.t.Context(), r.ID)
	Must(f.t, err)
	for _, d := range event.Deliveries {
		all = append(all, d.Subscription+" "+d.State)
	}
	return all
}

func (env *Env) TestAnEventIsDiscardedWhileTheProgramIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var h Handled
		f.Subscribe("worker", h.Handle)
		receipts := f.Publish(1, 2)
		f.Stop()
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipts[0].ID, "worker", "a test order")))
		if want := []string{"worker discarded"}; !slices.Equal(f.States(receipts[0]), want) {
			t.Errorf("the states are %v, want %v", f.States(receipts[0]), want)
		}
		f = env.Reopen(t, f.Path)
		f.Subscribe("worker", h.Handle)
		f.MustStart()
		time.Sleep(time.Second)
		if !slices.Equal(h.All(), []int{2}) {
			t.Errorf("handled %v", h.All())
		}
	})
}

func (env *Env) TestAHandlerThatSucceedsAfterADiscardHasHandledTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		hold := make(chan error)
		f.Subscribe("worker", func(int, int) error { return <-hold })
		f.MustStart()
		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 1})
		Must(t, err)
		time.Sleep(time.Second)
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipt.ID, "", "too late")))
		hold <- nil
		time.Sleep(time.Second)
		if want := []string{"worker done"}; !slices.Equal(f.States(receipt), want) {
			t.Errorf("the states are %v, want %v", f.States(receipt), want)
		}
		_, err = f.File.DiscardEvent(t.Context(), receipt.ID, "", "again")
		var settled *event.NotOpenError
		if !errors.As(err, &settled) || !strings.Contains(err.Error(), "has no open delivery: worker done") {
			t.Errorf("discarding what is done: %v", err)
		}
		_, err = f.File.DiscardEvent(t.Context(), receipt.ID, "wroker", "again")
		var missing *event.NotFoundError
		if !errors.As(err, &missing) || missing.Thing != "subscription" {
			t.Errorf("discarding for nobody: %v", err)
		}
	})
}

func (env *Env) TestADiscardIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		broken := true
		var h Handled
		f.Subscribe("dead", func(n, a int) error {
			if broken {
				return ErrBroken
			}
			return h.Handle(n, a)
		})
		skip := true
		f.Subscribe("handler", func(n, a int) error {
			if skip {
				return runtime.Discard("not today")
			}
			return h.Handle(n, a)
		})
		f.MustStart()
		receipts := f.Publish(1, 2, 3)
		letters, err := env.OpenFile(t.Context(), f.Path, inspect.WithActor("bob"))
		Must(t, err)
		defer letters.Close()
		before, _, err := letters.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		Must(t, Second(letters.DiscardDeadLetters(t.Context(), inspect.Selection{}, "a mistake")))
		one, err := f.File.Event(t.Context(), receipts[0].ID)
		Must(t, err)
		bulk := one.Audit[0]
		if bulk.Action != "discard" || bulk.Count != 3 || bulk.Subscription != "dead" || bulk.Actor != "bob" {
			t.Fatalf("the event does not show the action on many: %+v", one.Audit)
		}

		undone, err := f.File.Undiscard(t.Context(), event.Undo{Action: bulk.ID})
		Must(t, err)
		if undone != (event.Undone{Dead: 3}) {
			t.Errorf("undone: %+v", undone)
		}
		after, _, err := letters.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		for i := range before {
			a, b := before[i], after[i]
			if a.Key != b.Key || a.DeadAt != b.DeadAt || a.Reason != b.Reason || a.Fingerprint != b.Fingerprint || a.Failures != b.Failures || len(a.Attempts) != len(b.Attempts) {
				t.Errorf("the letter was\n%+v and is\n%+v", a, b)
			}
		}
		skip = false
		undone, err = f.File.Undiscard(t.Context(), event.Undo{Event: receipts[1].ID, Subscription: "handler"})
		Must(t, err)
		time.Sleep(time.Second)
		if undone != (event.Undone{Due: 1}) || !slices.Equal(h.All(), []int{2}) {
			t.Errorf("undone: %+v, handled %v", undone, h.All())
		}
		if undone, err = f.File.Undiscard(t.Context(), event.Undo{Action: bulk.ID}); err != nil || undone != (event.Undone{}) {
			t.Errorf("undone again: %+v, %v", undone, err)
		}
		one, err = f.File.Event(t.Context(), receipts[0].ID)
		Must(t, err)
		if got := one.Audit[len(one.Audit)-1]; got.Action != "undiscard" || got.Actor != "ada" || got.Count != 3 {
			t.Errorf("the event does not show that it was undone: %+v", one.Audit)
		}
	})
}

func (env *Env) TestACancelledDiscardIsUndoneBeforeItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var h Handled
		f.Subscribe("worker", h.Handle)
		receipts := f.Publish(1)
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipts[0].ID, "", "a mistake")))
		undone, err := f.File.Undiscard(t.Context(), event.Undo{Event: receipts[0].ID})
		Must(t, err)
		f.MustStart()
		time.Sleep(time.Second)
		if undone != (event.Undone{Due: 1}) || !slices.Equal(h.All(), []int{1}) {
			t.Errorf("undone: %+v, handled %v", undone, h.All())
		}
	})
}

// The process that runs the handler hears of the discard, and not yet that it was undone,
// when the handler fails.
func (env *Env) TestADiscardThatIsUndoneJustBeforeItsHandlerFailsStaysUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var h Handled
		f.Subscribe("worker", func(n, attempt int) error {
			if attempt == 1 {
				time.Sleep(10*time.Second + 50*time.Millisecond) // between two looks at the file
				return ErrBroken
			}
			return h.Handle(n, attempt)
		})
		f.MustStart()
		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 1})
		Must(t, err)
		time.Sleep(time.Second)
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipt.ID, "", "a mistake")))
		time.Sleep(9*time.Second + 49*time.Millisecond)
		undone, err := f.File.Undiscard(t.Context(), event.Undo{Event: receipt.ID})
		Must(t, err)
		time.Sleep(time.Minute)
		if undone != (event.Undone{Due: 1}) || !slices.Equal(h.All(), []int{1}) {
			t.Errorf("undone: %+v, handled %v", undone, h.All())
		}
	})
}

func (env *Env) TestAnEditedDeadLetterIsNotUndiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("worker", Fail)
		f.MustStart()
		receipt := f.Publish(1)[0]
		letters, err := env.OpenFile(t.Context(), f.Path, inspect.WithEditing(catalogue.Check))
		Must(t, err)
		defer letters.Close()
		Must(t, Second(letters.Edit(t.Context(), event.Key{EventID: receipt.ID, Subscription: "worker"}, []byte(`{"number":7}`))))
		undone, err := f.File.Undiscard(t.Context(), event.Undo{Event: receipt.ID})
		Must(t, err)
		if undone != (event.Undone{Left: 1}) {
			t.Errorf("undone: %+v", undone)
		}
	})
}

func (env *Env) TestAStrictOrderGoesOnAfterADiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var h Handled
		f.Subscribe("worker", func(n, a int) error {
			if n == 1 {
				return ErrBroken
			}
			return h.Handle(n, a)
		}, runtime.WithStrictOrder(), runtime.WithRetry(retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour), retry.MaxAttempts(9)))
		f.MustStart()
		receipts := f.Publish(1, 2)
		if len(h.All()) > 0 {
			t.Errorf("handled %v, while 1 waits for its retry", h.All())
		}
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipts[0].ID, "worker", "not wanted")))
		time.Sleep(Notice)
		if !slices.Equal(h.All(), []int{2}) {
			t.Errorf("after the discard %v was handled, want 2", h.All())
		}
	})
}
