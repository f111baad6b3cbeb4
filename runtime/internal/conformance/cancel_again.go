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
	"github.com/busgen/busgen/runtime/inspect"
)

// A handler that runs when its event is cancelled may succeed. Then the event is handled,
// and nothing of the cancel is left: a replay delivers it again.
func (env *Env) TestAnEventThatWasHandledWhileItWasCancelledIsReplayed(t *testing.T) {
	cancels := map[string]func(f *Fixture, r *runtime.Receipt) error{
		"by the bus": func(f *Fixture, r *runtime.Receipt) error { return r.Cancel(f.T.Context()) },
		"by an operator": func(f *Fixture, r *runtime.Receipt) error {
			_, err := f.outside().CancelEvent(f.T.Context(), r.ID, "")
			return err
		},
		"by a discard": func(f *Fixture, r *runtime.Receipt) error {
			_, err := f.outside().DiscardEvent(f.T.Context(), r.ID, "", "a mistake")
			return errors.Join(err, &event.BegunError{Running: []string{"reader"}})
		},
	}
	again := map[string]func(f *Fixture, r *runtime.Receipt) (int, error){
		"replay": func(f *Fixture, r *runtime.Receipt) (int, error) {
			return f.Replay(f.T.Context(), "reader", event.ReplayFilter{})
		},
		"replay from an event": func(f *Fixture, r *runtime.Receipt) (int, error) {
			return f.Replay(f.T.Context(), "reader", event.ReplayFilter{From: r.ID})
		},
		"replay from outside": func(f *Fixture, r *runtime.Receipt) (int, error) {
			counts, err := f.outside().Replay(f.T.Context(), "reader", inspect.Selection{})
			return counts.Moved, err
		},
	}
	for how, cancel := range cancels {
		for what, replay := range again {
			t.Run(how+", "+what, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					attempts := &Journal[int]{}
					f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						attempts.Add(e.Attempt)
						time.Sleep(time.Second)
						return nil
					})
					f.MustStart()
					r := f.Publish(1)[0]
					time.Sleep(500 * time.Millisecond)
					var begun *event.BegunError
					if err := cancel(f, r); !errors.As(err, &begun) || !slices.Equal(begun.Running, []string{"reader"}) {
						t.Fatalf("the error of the cancel is %v", err)
					}
					f.Idle()
					time.Sleep(time.Second)
					// Another cancel looks at what was cancelled before.
					var settled *event.NotOpenError
					if err := r.Cancel(t.Context()); !errors.As(err, &settled) || !slices.Equal(settled.States, []string{"reader done"}) {
						t.Errorf("cancelling it again: %v", err)
					}
					if n, err := replay(f, r); n != 1 || err != nil {
						t.Fatalf("replayed %d, %v", n, err)
					}
					time.Sleep(time.Second)
					f.Idle()
					if all := attempts.All(); !slices.Equal(all, []int{1, 2}) {
						t.Errorf("the handler has seen the attempts %v, want 1 and 2", all)
					}
				})
			})
		}
	}
}

// The file says of an event that its handler runs, because the process was killed.
func (env *Env) TestAnEventThatRanAtACrashIsCancelled(t *testing.T) {
	for name, cancel := range map[string]func(f *Fixture, id uuid.UUID) error{
		"by a bus": func(f *Fixture, id uuid.UUID) error { return f.Cancel(f.T.Context(), id) },
		"by an operator": func(f *Fixture, id uuid.UUID) error {
			_, err := f.outside().CancelEvent(f.T.Context(), id, "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("reader", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
					<-ctx.Done()
					return ctx.Err()
				})
				f.MustStart()
				r := f.Publish(1)[0]
				time.Sleep(time.Second)
				f = env.Reopen(t, f.Killed())
				handled := f.journal("reader")
				for range 2 { // a second one finds it cancelled
					if err := cancel(f, r.ID); err != nil {
						t.Errorf("the error is %v", err)
					}
				}
				f.MustStart()
				f.Idle()
				if all := handled.All(); len(all) > 0 {
					t.Errorf("after the cancel the handler has seen %v", all)
				}
				var settled *event.NotOpenError
				if err := f.Cancel(t.Context(), r.ID); !errors.As(err, &settled) || !slices.Equal(settled.States, []string{"reader discarded"}) {
					t.Errorf("cancelling it after the start: %v", err)
				}
			})
		})
	}
}
