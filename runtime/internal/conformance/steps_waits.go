package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/step"
)

// A handler sleeps for seven minutes, and its process is killed in each.
func (env *Env) TestASleepSurvivesItsProcess(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var w flow
		began := time.Now()
		var woke time.Time
		calls := 0
		for life := 1; life <= 8; life++ {
			f := env.Reopen(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				calls++
				if err := w.do(ctx, "charge"); err != nil {
					return err
				}
				if err := step.Sleep(ctx, "nap", time.Duration(life*7)*time.Minute); err != nil { // only the first counts
					return err
				}
				woke = time.Now()
				return w.do(ctx, "mail")
			}, runtime.WithMaxSnoozes(1), steadily(1))
			f.MustStart()
			if life == 1 {
				f.Publish(1)
			}
			if life == 8 {
				f.Idle()
				break
			}
			time.Sleep(time.Minute)
			target = f.Killed()
		}
		if slept := woke.Sub(began).Round(time.Second); slept != 7*time.Minute {
			t.Errorf("it has slept %v", slept)
		}
		if got := w.All(); calls != 2 || !slices.Equal(got, []string{"charge", "mail"}) {
			t.Errorf("%d calls, and these steps were done: %q", calls, got)
		}
		env.wantDone(t, target)
	})
}

// An engine keeps microseconds: a handler that is called at that time must not find that it has to sleep for a part of one.
func (env *Env) TestASleepEndsInItsMicrosecond(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		time.Sleep(time.Nanosecond * 100)
		f := env.openParcels(t, env.Target(t))
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if calls++; calls > 10 {
				return nil // else it goes on for ever in one moment
			}
			if err := step.Sleep(ctx, "nap", time.Minute); err != nil {
				return err
			}
			_, err := step.Await(ctx, "parcel", ScannedType, "1", time.Minute+200)
			if errors.Is(err, step.ErrNoEvent) {
				return nil
			}
			return err
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if calls != 3 {
			t.Errorf("%d calls, want 3", calls)
		}
	})
}

// A handler that does not return the error of a sleep sleeps all the same.
func (env *Env) TestAHandlerThatSwallowsASleepSleeps(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for name, result := range map[string]error{
			"nil": nil, "its error": step.ErrSuspended, "another": ErrBoom, "permanent": runtime.Permanent(ErrBoom),
			"snooze": runtime.Snooze(time.Second), "discard": runtime.Discard("no"), "retry": runtime.RetryAfter(time.Second, ErrBoom),
		} {
			f := env.Open(t)
			calls := 0
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				calls++
				if err := step.Sleep(ctx, "nap", 8*time.Minute); err != nil {
					return result
				}
				return nil
			}, steadily(1), runtime.WithMaxSnoozes(1), unbroken)
			f.MustStart()
			receipt := f.Publish(1)[0]
			time.Sleep(7 * time.Minute)
			if s := f.Stats().Subscriptions[0]; calls != 1 || s.Handled != 0 || s.Failed != 0 || s.Snoozed != 0 || s.Discarded != 0 {
				t.Errorf("%s: after %d calls the stats are %+v", name, calls, s.Counts)
			}
			outcome, err := receipt.Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries[0]; calls != 2 || d.Dead || d.Discarded || d.Failures != 0 {
				t.Errorf("%s: after %d calls the outcome is %+v", name, calls, d)
			}
			f.Stop()
		}
	})
}

// A handler that panics after it was suspended has a fault, which must not be hidden.
func (env *Env) TestAHandlerThatPanicsInASleepHasFailed(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if err := step.Sleep(ctx, "nap", 8*time.Minute); err != nil {
				panic("oh")
			}
			return nil
		}, steadily(3), unbroken)
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Dead || d.Reason != "max_attempts" || d.Failures != 3 {
			t.Errorf("the outcome is %+v", d)
		}
	})
}

func (env *Env) TestNothingHappensAfterASuspension(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		calls, nap := 0, 8*time.Minute
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			calls++
			if _, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "before"}); err != nil {
				return err
			}
			if err := step.Sleep(ctx, "nap", nap); err == nil {
				return nil
			}
			for what, err := range map[string]error{
				"Do": func() error {
					_, err := step.Do(ctx, "do", func(context.Context) (int, error) { t.Error("Do"); return 1, nil })
					return err
				}(),
				"Tx": func() error {
					_, err := step.Tx(ctx, "tx", func(context.Context, runtime.Tx) (int, error) { t.Error("Tx"); return 1, nil })
					return err
				}(),
				"Sleep": step.Sleep(ctx, "short", time.Second),
				"Until": step.Until(ctx, "until", time.Now()),
				"Await": func() error {
					_, err := step.Await(ctx, "await", ScannedType, "1", time.Hour)
					return err
				}(),
				"Transact": runtime.Transact(ctx, f.Bus, func(runtime.Tx) error { t.Error("Transact"); return nil }),
				"Publish": func() error {
					_, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "after"})
					return err
				}(),
				"Publish immediately": func() error {
					_, err := runtime.Publish(ctx, f.Bus, UserType, UserCreated{Name: "now"}, runtime.Immediately())
					return err
				}(),
			} {
				if !errors.Is(err, step.ErrSuspended) {
					t.Errorf("%s returns %v", what, err)
				}
			}
			return nil
		}, steadily(1))
		f.MustStart()
		f.Publish(1, 2)
		time.Sleep(9 * time.Minute)
		f.Idle()
		var stored []string
		for _, e := range f.peek().events() {
			if e.Type == UserType.Name() {
				stored = append(stored, string(e.Payload))
			}
		}
		if calls != 4 || len(stored) != 2 || strings.Contains(fmt.Sprint(stored), "after") {
			t.Errorf("%d calls, and these events are stored: %s; want one from before for each of two", calls, stored)
		}
		warned := 0
		for _, line := range f.Log.Level(t, "WARN") {
			if strings.HasPrefix(line["msg"].(string), "a handler has published with its context and then waits in a step") {
				warned++
			}
		}
		if warned != 1 {
			t.Errorf("what is dropped was logged %d times, want once", warned)
		}
	})
}

// The sleepers hold no worker: with a concurrency of 1, others are handled at once.
func (env *Env) TestASleeperHoldsNoWorker(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var handled atomic.Int32
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number <= 100 {
				if err := step.Sleep(ctx, "nap", 8*time.Minute); err != nil {
					return err
				}
			}
			handled.Add(1)
			return nil
		}, steadily(1))
		f.MustStart()
		f.Publish(Numbers(1, 101)...)
		time.Sleep(time.Second)
		if n := handled.Load(); n != 1 {
			t.Errorf("%d are handled beside those that sleep, want 1", n)
		}
		f.Idle()
		if n := handled.Load(); n != 101 {
			t.Errorf("%d are handled in the end, want all", n)
		}
	})
}

func (env *Env) TestAStrictOrderWaitsForASleeper(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var order Journal[int]
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				if err := step.Sleep(ctx, "nap", 8*time.Minute); err != nil {
					return err
				}
			}
			order.Add(e.Payload.Number)
			return nil
		}, runtime.WithStrictOrder(), steadily(1))
		f.MustStart()
		f.Publish(1, 2, 3)
		time.Sleep(7 * time.Minute)
		if got := order.All(); len(got) != 0 {
			t.Errorf("while the first sleeps, these are handled: %v", got)
		}
		f.Stop()
		f = env.Reopen(t, f.Path) // the order holds over a restart
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 {
				if err := step.Sleep(ctx, "nap", 8*time.Minute); err != nil {
					return err
				}
			}
			order.Add(e.Payload.Number)
			return nil
		}, runtime.WithStrictOrder(), steadily(1))
		f.MustStart()
		time.Sleep(30 * time.Second)
		if got := order.All(); len(got) != 0 {
			t.Errorf("while the first sleeps, these are handled: %v", got)
		}
		f.Idle()
		if got := order.All(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("the order is %v", got)
		}
	})
}

func (env *Env) TestACancelEndsASleeper(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return step.Sleep(ctx, "nap", 8*time.Minute)
		})
		f.MustStart()
		receipt := f.Publish(1)[0]
		time.Sleep(time.Minute)
		Must(t, receipt.Cancel(t.Context()))
		began := time.Now()
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		f.Idle() // the waiter knows of the cancel before it is carried out
		if d := outcome.Deliveries[0]; !d.Discarded || time.Since(began) > time.Second {
			t.Errorf("after %v the outcome is %+v", time.Since(began), d)
		}
	})
}

func (env *Env) TestAnEventThatExpiresBeforeASleepIsOverIsADeadLetter(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			return step.Sleep(ctx, "nap", 8*time.Minute)
		}, runtime.WithExpiresAfter(6*time.Minute))
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Dead || d.Reason != "expired" || !strings.Contains(d.LastError, "waits in a step") {
			t.Errorf("the outcome is %+v", d)
		}
	})
}

// A replay does all steps again, and what the first run has done stays on record.
func (env *Env) TestAReplayDoesEverythingAgain(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var keys Journal[string]
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := step.Do(ctx, "charge", func(ctx context.Context) (int, error) {
				keys.Add(step.Key(ctx))
				return 1, nil
			})
			if err == nil {
				err = step.Sleep(ctx, "nap", time.Minute)
			}
			if err == nil && e.Attempt%2 == 1 {
				err = ErrBoom // and go on in the same run
			}
			return err
		}, steadily(3), unbroken)
		f.MustStart()
		id := f.Publish(1)[0].ID
		f.Idle()
		for range 2 {
			_, err := f.Replay(t.Context(), "fulfil", event.ReplayFilter{})
			Must(t, err)
			f.Idle()
		}
		var want []string
		for run := range 3 {
			want = append(want, fmt.Sprintf("%s/fulfil/%d/charge", id, run))
		}
		if got := keys.All(); !slices.Equal(got, want) {
			t.Errorf("the step was done with the keys %q, want %q", got, want)
		}
	})
}

// A dead letter keeps its steps, also when its discard is undone.
func (env *Env) TestARetriedDeadLetterGoesOn(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		var healed atomic.Bool
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if err := w.do(ctx, "charge"); err != nil {
				return err
			}
			if !healed.Load() {
				return ErrBoom
			}
			return w.do(ctx, "ship")
		}, steadily(2), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		healed.Store(true)
		if n, err := file.Retry(t.Context(), inspect.Selection{}); err != nil || n.Moved != 1 {
			t.Fatalf("%+v were retried, %v", n, err)
		}
		f.Idle()
		if got := w.All(); !slices.Equal(got, []string{"charge", "ship"}) {
			t.Errorf("these steps were done: %q", got)
		}
	})
}

// Each member has steps of its own, by the same name; the second one fails between.
func (env *Env) TestTheStepsOfAGroupAreThoseOfItsMembers(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		for _, member := range []string{"one", "two", "three"} {
			f.Handle(member, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				got, err := step.Do(ctx, "charge", func(context.Context) (string, error) { w.Add(member); return member, nil })
				if err == nil && got != member {
					t.Errorf("member %s gets the result of %s", member, got)
				}
				if err == nil && member == "two" {
					err = step.Sleep(ctx, "nap", time.Minute)
				}
				if err == nil && member == "three" && e.Attempt < 4 {
					err = ErrBoom
				}
				return err
			}, runtime.InGroup("all"), steadily(4), unbroken)
		}
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := w.All(); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("these members have done their step: %q", got)
		}
	})
}

// No place but an ordinary handler has steps.
func (env *Env) TestWhereStepsArePossible(t *testing.T) {
	if !env.Steps {
		env.testThatThereAreNoSteps(t)
		return
	}
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		try := func(ctx context.Context, words string) {
			for what, err := range map[string]error{
				"Do": func() error {
					_, err := step.Do(ctx, "x", func(context.Context) (int, error) { t.Error("Do"); return 1, nil })
					return err
				}(),
				"Tx": func() error {
					_, err := step.Tx(ctx, "x", func(context.Context, runtime.Tx) (int, error) { t.Error("Tx"); return 1, nil })
					return err
				}(),
				"Sleep": step.Sleep(ctx, "x", time.Second),
				"Await": func() error {
					_, err := step.Await(ctx, "x", ScannedType, "1", time.Hour)
					return err
				}(),
				"AwaitAny": func() error {
					_, err := step.AwaitAny(ctx, "x", time.Hour, step.Of(ScannedType, "1"), step.Of(LostType, "1"))
					return err
				}(),
			} {
				if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), words) {
					t.Errorf("%s returns %v, want an error that says %q", what, err, words)
				}
			}
		}
		try(t.Context(), "outside of a handler")
		var calls atomic.Int32
		_, err := runtime.SubscribeBatch(f.Bus, PlacedType, "batch", func(ctx context.Context, all []runtime.Event[OrderPlaced]) error {
			calls.Add(1)
			try(ctx, "batch")
			return nil
		})
		Must(t, err)
		_, err = runtime.SubscribeTx(f.Bus, PlacedType, "tx", func(ctx context.Context, _ runtime.Tx, e runtime.Event[OrderPlaced]) error {
			calls.Add(1)
			try(ctx, "step.Tx")
			return nil
		})
		Must(t, err)
		_, err = runtime.SubscribeAnswer(f.Bus, PlacedType, "answers", func(ctx context.Context, e runtime.Event[OrderPlaced]) (int, error) {
			calls.Add(1)
			try(ctx, "answers")
			return 1, nil
		})
		Must(t, err)
		_, err = runtime.SubscribePattern(f.Bus, "order.*", "short", func(ctx context.Context, e runtime.Event[runtime.Raw]) error {
			calls.Add(1)
			try(ctx, "ephemeral")
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		time.Sleep(time.Second)
		if n := calls.Load(); n != 4 {
			t.Errorf("%d handlers were called, want 4", n)
		}
	})
}

// testThatThereAreNoSteps is TestWhereStepsArePossible for an engine that has none.
func (env *Env) testThatThereAreNoSteps(t *testing.T) {
	f := env.Open(t)
	got := make(chan error, 4)
	f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
		_, err := step.Do(ctx, "x", func(context.Context) (int, error) { t.Error("Do"); return 1, nil })
		got <- err
		_, err = step.Tx(ctx, "x", func(context.Context, runtime.Tx) (int, error) { t.Error("Tx"); return 1, nil })
		got <- err
		got <- step.Sleep(ctx, "x", time.Second)
		_, err = step.Await(ctx, "x", ScannedType, "1", time.Hour)
		got <- err
		return nil
	})
	f.MustStart()
	f.Publish(1)
	for range 4 {
		if err := <-got; !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "engine") {
			t.Errorf("the error is %v", err)
		}
	}
}

// Rows, events and the result are stored together, or not at all.
func (env *Env) TestAStepInATransactionIsStoredAsAWhole(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		Must(t, runtime.Transact(t.Context(), f.Bus, func(tx runtime.Tx) error {
			_, err := tx.ExecContext(t.Context(), "CREATE TABLE stock (attempt INTEGER)")
			return err
		}))
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			got, err := step.Tx(ctx, "reserve", func(ctx context.Context, tx runtime.Tx) (int, error) {
				calls++
				if step.Key(ctx) == "" {
					t.Error("there is no key")
				}
				if _, err := tx.ExecContext(ctx, "INSERT INTO stock VALUES (?)", e.Attempt); err != nil {
					return 0, err
				}
				_, err := runtime.Publish(ctx, tx, UserType, UserCreated{Name: fmt.Sprint("attempt ", e.Attempt)})
				if err == nil && e.Attempt == 1 {
					err = ErrBoom
				}
				return 10 * e.Attempt, err
			})
			if err != nil && !strings.HasPrefix(err.Error(), `step "reserve": boom`) {
				t.Error(err)
			}
			if err == nil && got != 20 {
				t.Errorf("the result is %d, want 20", got)
			}
			if err == nil && e.Attempt < 4 {
				err = ErrBoom
			}
			return err
		}, steadily(3), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		var rows, attempt int
		Must(t, runtime.DB(f.Bus).QueryRowContext(t.Context(), "SELECT count(*), max(attempt) FROM stock").Scan(&rows, &attempt))
		var events []string
		for _, e := range f.peek().events() {
			if e.Type == UserType.Name() {
				events = append(events, string(e.Payload))
			}
		}
		if calls != 2 || rows != 1 || attempt != 2 || len(events) != 1 || !strings.Contains(events[0], "attempt 2") {
			t.Errorf("%d calls, %d rows of attempt %d, and the events %q; want 2 calls and one of each", calls, rows, attempt, events)
		}
		env.wantDone(t, f.Path)
	})
}
