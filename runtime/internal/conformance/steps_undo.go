package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

// undoable is a step that can be undone, both of which are noted.
func (w *flow) undoable(ctx context.Context, name string) error {
	_, err := step.DoUndo(ctx, name, func(context.Context) (string, error) {
		w.Add(name)
		return "of " + name, nil
	}, func(_ context.Context, result string) error {
		if result != "of "+name {
			return fmt.Errorf("%s is undone with the result %q", name, result)
		}
		w.Add("un" + name)
		return nil
	})
	return err
}

// dead returns the only dead letter of a log.
func (env *Env) dead(t *testing.T, target string) event.DeadLetter {
	t.Helper()
	file, err := env.OpenFile(t.Context(), target)
	Must(t, err)
	defer file.Close()
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	if len(letters) != 1 {
		t.Fatalf("there are %d dead letters, want 1: %+v", len(letters), letters)
	}
	return letters[0]
}

// The process dies while the second step is undone, and again when that has failed.
func (env *Env) TestUndoRunsBackwards(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var w flow
		for life := range 3 {
			f := env.Reopen(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if _, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "staged"}); err != nil {
					return err
				}
				if err := w.undoable(ctx, "reserve"); err != nil {
					return err
				}
				_, err := step.DoUndo(ctx, "charge", func(context.Context) (int, error) {
					w.Add("charge")
					return 7, nil
				}, func(ctx context.Context, n int) error {
					if n != 7 || !strings.HasSuffix(step.Key(ctx), "/fulfil/0/undo:charge") || step.Key(ctx) == "" {
						t.Errorf("it is undone with the result %d and the key %q", n, step.Key(ctx))
					}
					switch life {
					case 0:
						<-ctx.Done()
						return ctx.Err()
					case 1:
						return ErrBoom
					}
					w.Add("uncharge")
					return nil
				})
				if err != nil {
					return err
				}
				if err := w.do(ctx, "plain"); err != nil {
					return err
				}
				if err := w.undoable(ctx, "ship"); err != nil {
					return err
				}
				return step.Rollback(errors.New("no parcel"))
			}, runtime.WithRetry(retry.MaxAttempts(3), retry.WithBackoff(retry.Constant), retry.BaseDelay(25*time.Second), retry.Jitter(0)), unbroken)
			f.MustStart()
			if life == 0 {
				f.Publish(1)
			}
			if life < 2 {
				time.Sleep(20 * time.Second) // so it is in no crash loop
				target = f.Killed()
				continue
			}
			f.Idle()
			for _, e := range f.peek().events() {
				if e.Type == UserType.Name() {
					t.Error("what the handler has published with its context is stored")
				}
			}
			f.Stop()
		}
		if got, want := w.All(), []string{"reserve", "charge", "plain", "ship", "unship", "uncharge", "unreserve"}; !slices.Equal(got, want) {
			t.Errorf("these were done: %q, want %q", got, want)
		}
		if l := env.dead(t, target); l.Reason != event.ReasonUndone || l.LastAttempt().Error != "no parcel" {
			t.Errorf("the dead letter has the reason %s and the error %q", l.Reason, l.LastAttempt().Error)
		}
	})
}

// Steps of one instant have the order in which they were stored, also for a program that has them in another one.
func (env *Env) TestStepsAreUndoneInTheOrderInWhichTheyWereStored(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		var w flow
		order := []string{"reserve", "charge", "pack", "ship"}
		f := env.Open(t)
		handler := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for _, name := range order {
				if err := w.undoable(ctx, name); err != nil {
					return err
				}
			}
			return nil
		}
		f.Handle("fulfil", handler, steadily(1), unbroken)
		f.MustStart()
		id := f.Publish(1)[0].ID
		f.Idle()
		f.Stop()
		order = []string{"ship", "reserve", "pack", "charge"}
		f = env.Reopen(t, f.Path)
		f.Handle("fulfil", handler, steadily(1), unbroken)
		f.MustStart()
		Must(t, f.Bus.Undo(t.Context(), "fulfil", id))
		f.Idle()
		if got, want := w.All(), []string{"reserve", "charge", "pack", "ship", "unship", "unpack", "uncharge", "unreserve"}; !slices.Equal(got, want) {
			t.Errorf("these were done: %q, want %q", got, want)
		}
	})
}

// When an undo cannot be done the dead letter says which, and goes on when it is retried.
func (env *Env) TestAnUndoThatFailsIsADeadLetterThatGoesOn(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		var healed atomic.Bool
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if _, err := step.DoUndo(ctx, "charge", func(context.Context) (int, error) { return 7, nil }, func(ctx context.Context, n int) error {
				if !healed.Load() {
					return ErrBoom
				}
				w.Add("uncharge")
				return nil
			}); err != nil {
				return err
			}
			if err := w.undoable(ctx, "ship"); err != nil {
				return err
			}
			return step.Rollback(ErrBoom)
		}, steadily(2), unbroken)
		f.MustStart()
		receipt := f.Publish(1)[0]
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; d.Reason != event.ReasonUndo || !strings.HasPrefix(d.LastError, `step "undo:charge": boom`) || d.Failures != 3 {
			t.Errorf("the outcome is %+v", d)
		}
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		healed.Store(true)
		_, err = file.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		f.Idle()
		if got := w.All(); !slices.Equal(got, []string{"ship", "unship", "uncharge"}) {
			t.Errorf("these were done: %q", got)
		}
		if l := env.dead(t, f.Path); l.Reason != event.ReasonUndone {
			t.Errorf("the dead letter has the reason %s", l.Reason)
		}
	})
}

// A delivery is undone that is handled, discarded, dead, asleep or undone already; not one without such a step.
func (env *Env) TestEveryDeliveryCanBeUndone(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for name, end := range map[string]func(ctx context.Context) error{
			"handled":   func(context.Context) error { return nil },
			"discarded": func(context.Context) error { return runtime.Discard("no") },
			"dead":      func(context.Context) error { return runtime.Permanent(ErrBoom) },
			"asleep":    func(ctx context.Context) error { return step.Sleep(ctx, "nap", time.Hour) },
			"undone":    func(context.Context) error { return step.Rollback(ErrBoom) },
		} {
			f := env.Open(t)
			var w flow
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 2 {
					return nil
				}
				if err := w.undoable(ctx, "charge"); err != nil {
					return err
				}
				return end(ctx)
			}, steadily(1), unbroken)
			f.MustStart()
			receipts := f.Publish(1, 2)
			time.Sleep(time.Minute)
			for range 2 { // the second call changes nothing
				if err := f.Bus.Undo(t.Context(), "fulfil", receipts[0].ID); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for subscription, id := range map[string]uuid.UUID{"fulfil": receipts[1].ID, "other": receipts[0].ID} {
				if err := f.Bus.Undo(t.Context(), subscription, id); !errors.As(err, new(*event.NotFoundError)) {
					t.Errorf("%s: an event without steps, or of no subscription: %v", name, err)
				}
			}
			began := time.Now()
			f.Idle()
			if got := w.All(); !slices.Equal(got, []string{"charge", "uncharge"}) || time.Since(began) > time.Minute {
				t.Errorf("%s: these were done: %q, in %v", name, got, time.Since(began))
			}
			if l := env.dead(t, f.Path); l.Reason != event.ReasonUndone || name != "undone" && !strings.HasPrefix(l.LastAttempt().Error, "undone by process") {
				t.Errorf("%s: the dead letter has the reason %s and the error %q", name, l.Reason, l.LastAttempt().Error)
			}
			f.Stop()
		}
	})
}

// A handler that runs is not undone.
func (env *Env) TestADeliveryThatRunsIsNotUndone(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if err := w.undoable(ctx, "charge"); err != nil {
				return err
			}
			time.Sleep(10 * time.Second)
			return nil
		}, steadily(1))
		f.MustStart()
		id := f.Publish(1)[0].ID
		time.Sleep(time.Second)
		if err := f.Bus.Undo(t.Context(), "fulfil", id); !errors.As(err, new(*event.BegunError)) {
			t.Errorf("the undo of a handler that runs returns %v", err)
		}
		f.Idle()
		Must(t, f.Bus.Undo(t.Context(), "fulfil", id))
		f.Idle()
		if got := w.All(); !slices.Equal(got, []string{"charge", "uncharge"}) {
			t.Errorf("these were done: %q", got)
		}
	})
}

// A subscription that wants it has its steps undone before an event is a dead letter, for whatever reason.
func (env *Env) TestADeadLetterIsUndoneIfItsSubscriptionWantsThat(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for reason, end := range map[string]func(ctx context.Context) error{
			event.ReasonMaxAttempts: func(context.Context) error { return ErrBoom },
			event.ReasonPermanent:   func(context.Context) error { return runtime.Permanent(ErrBoom) },
			event.ReasonMaxSnoozes:  func(context.Context) error { return runtime.Snooze(time.Second) },
			event.ReasonExpired:     func(ctx context.Context) error { return step.Sleep(ctx, "nap", time.Hour) },
			event.ReasonMaxSteps: func(ctx context.Context) error {
				return errors.Join((&flow{}).do(ctx, "second"), (&flow{}).do(ctx, "third"))
			},
		} {
			f := env.Open(t)
			var w flow
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number == 2 {
					return runtime.Permanent(ErrBoom)
				}
				if err := w.undoable(ctx, "charge"); err != nil {
					return err
				}
				return end(ctx)
			}, steadily(2), unbroken, runtime.WithUndoOnDeath(), runtime.WithMaxSnoozes(1), runtime.WithMaxSteps(2), runtime.WithExpiresAfter(6*time.Minute))
			f.MustStart()
			receipts := f.Publish(1, 2)
			outcome, err := receipts[0].Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries[0]; d.Reason != event.ReasonUndone || !strings.HasPrefix(d.LastError, "undone after "+reason+": ") {
				t.Errorf("%s: the outcome is %+v", reason, d)
			}
			if got := w.All(); !slices.Equal(got, []string{"charge", "uncharge"}) {
				t.Errorf("%s: these were done: %q", reason, got)
			}
			outcome, err = receipts[1].Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries[0]; d.Reason != event.ReasonPermanent {
				t.Errorf("an event without steps: the outcome is %+v", d)
			}
			f.Stop()
		}
	})
}

// A process that dies in each attempt leaves a dead letter of a crash, and that is undone.
func (env *Env) TestACrashIsUndoneIfItsSubscriptionWantsThat(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var w flow
		for life := range 3 {
			f := env.Reopen(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if err := w.undoable(ctx, "charge"); err != nil {
					return err
				}
				_, err := step.Do(ctx, "hang", func(context.Context) (int, error) { return 0, Hang(ctx, e) })
				return err
			}, steadily(1), runtime.WithUndoOnDeath())
			f.MustStart()
			if life == 0 {
				f.Publish(1)
			}
			time.Sleep(20 * time.Second) // so it is in no crash loop
			if life < 2 {
				target = f.Killed()
			}
		}
		if got := w.All(); !slices.Equal(got, []string{"charge", "uncharge"}) {
			t.Errorf("these were done: %q", got)
		}
		if l := env.dead(t, target); l.Reason != event.ReasonUndone || !strings.Contains(l.LastAttempt().Error, "the process ended") {
			t.Errorf("the dead letter has the reason %s and the error %q", l.Reason, l.LastAttempt().Error)
		}
	})
}

// The program of a later deploy has another step first, has no undo function, or does not do the step.
func (env *Env) TestAStepThatTheProgramHasNoMoreCannotBeUndone(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for name, words := range map[string]string{
			"new step first": `has stopped at "new"`, "no undo function": "has no function that undoes it", "no step": "does not come to it", "fails": "boom",
		} {
			f := env.Open(t)
			var w flow
			var deployed atomic.Bool
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if deployed.Load() {
					switch name {
					case "new step first":
						if err := w.do(ctx, "new"); err != nil {
							return err
						}
					case "no undo function":
						return w.do(ctx, "charge")
					case "no step":
						return nil
					case "fails":
						return ErrBoom
					}
				}
				if err := w.undoable(ctx, "charge"); err != nil {
					return err
				}
				if err := w.undoable(ctx, "ship"); err != nil {
					return err
				}
				return nil
			}, steadily(2), unbroken)
			f.MustStart()
			id := f.Publish(1)[0].ID
			f.Idle()
			deployed.Store(true)
			Must(t, f.Bus.Undo(t.Context(), "fulfil", id))
			f.Idle()
			l := env.dead(t, f.Path)
			if text := l.LastAttempt().Error; l.Reason != event.ReasonUndo || !strings.Contains(text, `step "`) || !strings.Contains(text, words) {
				t.Errorf("%s: the dead letter has the reason %s and the error %q", name, l.Reason, text)
			}
			if got := w.All(); len(got) != 2 {
				t.Errorf("%s: a part is undone: %q", name, got)
			}
			deployed.Store(false)
			file, err := env.OpenFile(t.Context(), f.Path)
			Must(t, err)
			_, err = file.Retry(t.Context(), inspect.Selection{})
			Must(t, err)
			f.Idle()
			Must(t, file.Close())
			if got := w.All(); !slices.Equal(got[2:], []string{"unship", "uncharge"}) {
				t.Errorf("%s: after the retry these were done: %q", name, got)
			}
			f.Stop()
		}
	})
}

// While steps are undone, the handler that is called for that has no other effect.
func (env *Env) TestNothingNewHappensWhileStepsAreUndone(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var undoing bool
		var wrong Journal[string]
		want := func(what string, err, is error) {
			if !errors.Is(err, is) {
				wrong.Add(fmt.Sprintf("%s returns %v", what, err))
			}
		}
		publish := func(ctx context.Context, opts ...runtime.PublishOption) error {
			_, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "new"}, opts...)
			return err
		}
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := step.DoUndo(ctx, "charge", func(context.Context) (int, error) { return 1, nil }, func(ctx context.Context, _ int) error {
				_, err := step.Do(ctx, "inner", func(context.Context) (int, error) { wrong.Add("a step of an undo"); return 1, nil })
				want("a step of an undo", err, errors.ErrUnsupported)
				if publish(ctx) == nil {
					wrong.Add("an undo publishes with its context")
				}
				if ctx.Err() != nil || deadlineOf(ctx).IsZero() {
					wrong.Add("the context of an undo is over, or has no deadline")
				}
				return nil
			})
			if !undoing {
				undoing = true
				return errors.Join(err, step.Rollback(nil))
			}
			want("the last step that is to be undone", err, step.ErrSuspended)
			_, err = step.Do(ctx, "new", func(context.Context) (int, error) { wrong.Add("a new step"); return 1, nil })
			want("a new step", err, step.ErrSuspended)
			_, err = step.Tx(ctx, "tx", func(context.Context, runtime.Tx) (int, error) { wrong.Add("a new tx"); return 1, nil })
			want("a new tx", err, step.ErrSuspended)
			want("a new sleep", step.Sleep(ctx, "nap", time.Hour), step.ErrSuspended)
			want("Transact", runtime.Transact(ctx, f.Bus, func(runtime.Tx) error { wrong.Add("Transact"); return nil }), step.ErrSuspended)
			want("Publish", publish(ctx), step.ErrSuspended)
			want("Publish immediately", publish(ctx, runtime.Immediately()), step.ErrSuspended)
			return nil
		}, steadily(1))
		f.MustStart()
		f.Publish(1)
		f.Idle()
		for _, problem := range wrong.All() {
			t.Error(problem)
		}
		for _, e := range f.peek().events() {
			if e.Type == UserType.Name() {
				t.Errorf("an event is stored: %s", e.Payload)
			}
		}
		if l := env.dead(t, f.Path); l.Reason != event.ReasonUndone || l.LastAttempt().Error != "the handler has given up" {
			t.Errorf("the dead letter has the reason %s and the error %q", l.Reason, l.LastAttempt().Error)
		}
	})
}

// An undo that panics, ends its goroutine or hangs has failed, and says in which step.
func (env *Env) TestAnUndoThatFailsInManyWaysIsTriedAgain(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for kind, fail := range map[string]func(ctx context.Context) error{
			event.KindError: func(context.Context) error { return ErrBoom },
			event.KindPanic: func(context.Context) error { panic("oh") },
			event.KindExit:  func(context.Context) error { goruntime.Goexit(); return nil },
			event.KindTimeout: func(context.Context) error {
				time.Sleep(time.Minute)
				return nil
			},
		} {
			f := env.Open(t)
			calls := 0
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if _, err := step.DoUndo(ctx, "charge", func(context.Context) (int, error) { return 1, nil }, func(ctx context.Context, _ int) error {
					if calls++; calls < 3 {
						return fail(ctx)
					}
					return nil
				}); err != nil {
					return err
				}
				return step.Rollback(ErrBoom)
			}, steadily(3), unbroken, runtime.WithTimeout(30*time.Second))
			f.MustStart()
			f.Publish(1)
			f.Idle()
			time.Sleep(2 * time.Minute) // those that hang have returned
			l := env.dead(t, f.Path)
			if l.Reason != event.ReasonUndone || calls != 3 {
				t.Errorf("%s: after %d calls the reason is %s: %+v", kind, calls, l.Reason, l.Attempts)
				continue
			}
			if a := l.Attempts[1]; a.Kind != kind || !strings.HasPrefix(a.Error, `step "undo:charge": `) {
				t.Errorf("%s: the attempt has failed with %s: %s", kind, a.Kind, a.Error)
			}
			f.Stop()
		}
	})
}

// Rows and events of TxUndo are stored together with the fact that it is undone.
func (env *Env) TestAnUndoInATransactionIsStoredAsAWhole(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		Must(t, runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(t.Context(), "CREATE TABLE stock (change INTEGER)")
			return err
		}))
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := step.TxUndo(ctx, "reserve", func(ctx context.Context, tx runtime.Tx) (int, error) {
				_, err := tx.ExecContext(ctx, "INSERT INTO stock VALUES (-3)")
				return 3, err
			}, func(ctx context.Context, tx runtime.Tx, n int) error {
				calls++
				if _, err := tx.ExecContext(ctx, "INSERT INTO stock VALUES (?)", n); err != nil {
					return err
				}
				_, err := runtime.Publish(ctx, tx, UserType, UserCreated{Name: "undone"})
				if err == nil && calls == 1 {
					err = ErrBoom
				}
				return err
			})
			if err != nil {
				return err
			}
			if err := (&flow{}).undoable(ctx, "last"); err != nil {
				return err
			}
			return step.Rollback(ErrBoom)
		}, steadily(3), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		var rows, sum, events int
		Must(t, runtime.DB(f.Bus).QueryRowContext(t.Context(), "SELECT count(*), sum(change) FROM stock").Scan(&rows, &sum))
		for _, e := range f.peek().events() {
			if e.Type == UserType.Name() {
				events++
			}
		}
		if calls != 2 || rows != 2 || sum != 0 || events != 1 {
			t.Errorf("%d calls, %d rows with the sum %d, %d events; want 2 calls, 2 rows with the sum 0, 1 event", calls, rows, sum, events)
		}
	})
}

// What each member has done is undone, but for one that has handled the event.
func (env *Env) TestTheMembersOfAGroupAreUndone(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		failing := true
		for _, member := range []string{"one", "two", "three", "four"} {
			f.Handle(member, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				_, err := step.DoUndo(ctx, "charge", func(context.Context) (string, error) { w.Add(member); return member, nil }, func(_ context.Context, of string) error {
					if of != member {
						t.Errorf("member %s undoes the step of %s", member, of)
					}
					if member == "two" && failing {
						failing = false
						return ErrBoom
					}
					w.Add("un" + member)
					return nil
				})
				switch {
				case err != nil:
					return err
				case member == "two":
					return step.Rollback(ErrBoom)
				}
				return nil
			}, runtime.InGroup("all"), steadily(4), unbroken)
		}
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := w.All(); !slices.Equal(got, []string{"one", "two", "untwo"}) {
			t.Errorf("these were done: %q", got)
		}
		if l := env.dead(t, f.Path); l.Reason != event.ReasonUndone || l.LastAttempt().Member != "two" {
			t.Errorf("the dead letter has the reason %s, and %+v", l.Reason, l.LastAttempt())
		}
	})
}

func (env *Env) TestAStrictOrderWaitsForAnUndo(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var order Journal[string]
		for life := range 2 {
			f := env.Reopen(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if e.Payload.Number > 1 {
					order.Add("next")
					return nil
				}
				if _, err := step.DoUndo(ctx, "charge", func(context.Context) (int, error) { return 1, nil }, func(ctx context.Context, _ int) error {
					if life == 0 { // the process ends in order
						<-ctx.Done()
						return context.Cause(ctx)
					}
					order.Add("undone")
					return nil
				}); err != nil {
					return err
				}
				return step.Rollback(ErrBoom)
			}, runtime.WithStrictOrder(), runtime.WithRetry(retry.MaxAttempts(9), retry.WithBackoff(retry.Constant), retry.BaseDelay(25*time.Second), retry.Jitter(0)), unbroken)
			f.MustStart()
			if life == 0 {
				f.Publish(1, 2)
				time.Sleep(20 * time.Second)
				f.Stop()
				continue
			}
			f.Idle()
		}
		if got := order.All(); !slices.Equal(got, []string{"undone", "next"}) {
			t.Errorf("the order is %q", got)
		}
	})
}

// Without a step to undo, and where there are no steps, a handler that gives up has a dead letter at once.
func (env *Env) TestARollbackWithoutStepsIsADeadLetter(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("none", func(ctx context.Context, e runtime.Event[OrderPlaced]) error { return step.Rollback(ErrBoom) }, steadily(9))
		f.Handle("plain", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return errors.Join((&flow{}).do(ctx, "plain"), step.Rollback(ErrBoom))
		}, steadily(9))
		_, err := runtime.SubscribeTx(f.Bus, PlacedType, "tx", func(ctx context.Context, _ runtime.Tx, e runtime.Event[OrderPlaced]) error {
			return step.Rollback(ErrBoom)
		}, steadily(9))
		Must(t, err)
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		for _, d := range outcome.Deliveries {
			if d.Reason != event.ReasonUndone || d.Failures != 1 || !strings.HasSuffix(d.LastError, "boom") {
				t.Errorf("the outcome is %+v", d)
			}
		}
	})
}

// A retry goes on behind the last step, or has one, some or all steps done again.
func (env *Env) TestStepsOfADeadLetterAreDoneAgain(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for _, one := range []struct {
			name  string
			retry inspect.Selection
			want  []string // nil if it matches nothing
			run   int
		}{
			{"retry", inspect.Selection{}, []string{}, 0},
			{"forget", inspect.Selection{Forget: "charge"}, []string{"charge"}, 0},
			{"from", inspect.Selection{FromStep: "charge"}, []string{"charge", "ship"}, 0},
			{"from the start", inspect.Selection{FromStart: true}, []string{"reserve", "charge", "ship"}, 1},
			{"forget another", inspect.Selection{Forget: "mail"}, nil, 0},
		} {
			f := env.Open(t)
			var w flow
			run := -1
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				for _, name := range []string{"reserve", "charge", "ship"} {
					time.Sleep(time.Second)
					_, err := step.Do(ctx, name, func(ctx context.Context) (int, error) {
						w.Add(name)
						_, err := fmt.Sscanf(strings.Split(step.Key(ctx), "/")[2], "%d", &run)
						return 1, err
					})
					if err != nil {
						return err
					}
				}
				return ErrBoom
			}, steadily(1), unbroken)
			f.MustStart()
			f.Publish(1)
			f.Idle()
			file, err := env.OpenFile(t.Context(), f.Path)
			Must(t, err)
			n, err := file.Retry(t.Context(), one.retry)
			Must(t, err)
			f.Idle()
			if got := w.All()[3:]; n.Moved == 0 != (one.want == nil) || !slices.Equal(got, one.want) || run != one.run {
				t.Errorf("%s: %+v, and these were done again: %q, in run %d", one.name, n, got, run)
			}
			Must(t, file.Close())
			f.Stop()
		}
	})
}

// After an undo only a retry from the start does anything.
func (env *Env) TestAnUndoneDeadLetterBeginsFromItsStart(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		healed := false
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			err := w.undoable(ctx, "charge")
			if err == nil && !healed {
				err = step.Rollback(ErrBoom)
			}
			return err
		}, steadily(1), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		healed = true
		for _, again := range []inspect.Selection{{}, {Forget: "charge"}, {FromStart: true}} {
			_, err := file.Retry(t.Context(), again)
			Must(t, err)
			f.Idle()
			if got := w.All(); !again.FromStart && len(got) != 2 {
				t.Errorf("%+v: these were done: %q", again, got)
			}
		}
		if got := w.All(); !slices.Equal(got, []string{"charge", "uncharge", "charge"}) {
			t.Errorf("these were done: %q", got)
		}
		env.wantDone(t, f.Path)
	})
}
