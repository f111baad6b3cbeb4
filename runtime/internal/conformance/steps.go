package conformance

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

// withSteps runs a test in virtual time, on engines that store steps.
func (env *Env) withSteps(t *testing.T, test func(t *testing.T)) {
	if !env.Steps {
		t.Skip("the engine stores no steps")
	}
	synctest.Test(t, test)
}

// flow is a handler that does steps, and what it has done.
type flow struct{ Journal[string] }

// do is a step that has no other effect than being noted.
func (w *flow) do(ctx context.Context, name string) error {
	got, err := step.Do(ctx, name, func(context.Context) (string, error) {
		w.Add(name)
		return "of " + name, nil
	})
	if err == nil && got != "of "+name {
		err = fmt.Errorf("the result of %s is %q", name, got)
	}
	return err
}

// steadily is a policy under which timing plays no part.
func steadily(maxAttempts int) runtime.SubscribeOption {
	return runtime.WithRetry(retry.MaxAttempts(maxAttempts), retry.WithBackoff(retry.Constant), retry.BaseDelay(time.Second), retry.Jitter(0))
}

var unbroken = runtime.WithBreaker(breaker.Off())

func (env *Env) TestAStoredStepIsNotDoneAgain(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		var w flow
		calls := 0
		handle := func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for _, name := range []string{"reserve", "charge", "ship"} {
				if err := w.do(ctx, name); err != nil {
					return err
				}
				if calls++; calls <= 2 {
					return ErrBoom
				}
			}
			if e.Attempt != 3 {
				t.Errorf("it is attempt %d, want 3", e.Attempt)
			}
			return nil
		}
		f := env.Open(t)
		f.Handle("fulfil", handle, steadily(4))
		f.MustStart()
		receipt := f.Publish(1)[0]
		outcome, err := receipt.Wait(t.Context())
		Must(t, err)
		Must(t, outcome.Err())
		if got := w.All(); !slices.Equal(got, []string{"reserve", "charge", "ship"}) {
			t.Errorf("these steps were done: %q", got)
		}
	})
}

// The process dies at once after each of eight steps, and the policy allows two attempts.
func (env *Env) TestACrashAfterAStepIsTheFirst(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var w flow
		for life := 1; life <= 8; life++ {
			f := env.Reopen(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				for n := 1; n <= life; n++ {
					if err := w.do(ctx, fmt.Sprint("step ", n)); err != nil {
						return err
					}
				}
				if life == 8 {
					return nil
				}
				return Hang(ctx, e)
			}, steadily(2))
			f.MustStart()
			if life == 1 {
				f.Publish(1)
			}
			if life == 8 {
				f.Idle()
				break
			}
			time.Sleep(20 * time.Second) // so it is in no crash loop
			target = f.Killed()
		}
		if got := w.All(); len(got) != 8 {
			t.Errorf("these steps were done: %q", got)
		}
		env.wantDone(t, target)
	})
}

// wantDone fails the test unless the only delivery of a log is handled.
func (env *Env) wantDone(t *testing.T, target string) {
	t.Helper()
	file, err := env.OpenFile(t.Context(), target)
	Must(t, err)
	defer file.Close()
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	Must(t, err)
	for _, l := range letters {
		t.Errorf("there is a dead letter: %s, %+v", l.Reason, l.LastAttempt())
	}
}

// Each of three steps fails twice before it is done, and the policy allows three attempts.
func (env *Env) TestAStepResetsTheCountOfFailures(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		var w flow
		var began []time.Time
		failed := map[string]int{}
		f := env.Open(t)
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			began = append(began, time.Now())
			for _, name := range []string{"reserve", "charge", "ship"} {
				_, err := step.Do(ctx, name, func(context.Context) (int, error) {
					if failed[name]++; failed[name] <= 2 {
						return 0, ErrBoom
					}
					w.Add(name)
					return 1, nil
				})
				if err != nil {
					return err
				}
			}
			if e.Payload.Number == 1 && e.Attempt != 7 || e.MaxAttempts < e.Attempt {
				t.Errorf("it is attempt %d of %d, want 7", e.Attempt, e.MaxAttempts)
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(3), retry.WithBackoff(retry.Exponential), retry.BaseDelay(10*time.Second), retry.Jitter(0)), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := w.All(); len(got) != 3 {
			t.Fatalf("these steps were done: %q", got)
		}
		var waits []time.Duration
		for i := range began[1:] {
			waits = append(waits, began[i+1].Sub(began[i]).Round(time.Second))
		}
		want := []time.Duration{10 * time.Second, 20 * time.Second, 10 * time.Second, 20 * time.Second, 10 * time.Second, 20 * time.Second}
		if !slices.Equal(waits, want) {
			t.Errorf("the attempts came after %v, want %v", waits, want)
		}

		// Without a step that is stored it ends as ever.
		f.Handle("other", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			if err := w.do(ctx, "first"); err != nil {
				return err
			}
			return ErrBoom
		}, steadily(3), unbroken)
		outcome, err := f.Publish(2)[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[1]; !d.Dead || d.Reason != "max_attempts" || d.Failures != 3 {
			t.Errorf("the outcome is %+v, want a dead letter after three attempts", d)
		}
	})
}

// Four steps of 20 s, with a timeout of 30 s.
func (env *Env) TestAStoredStepRenewsTheDeadline(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var late error
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			derived, cancel := context.WithCancel(ctx) // before the first step
			defer cancel()
			for n := range 4 {
				_, err := step.Do(ctx, fmt.Sprint("step ", n), func(ctx context.Context) (int, error) {
					select {
					case <-time.After(20 * time.Second):
						return n, nil
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				})
				if err != nil {
					return err
				}
				if left := time.Until(deadlineOf(ctx)); left < 29*time.Second {
					t.Errorf("after step %d the handler has %v left, want its whole timeout", n, left)
				}
			}
			if late = derived.Err(); late == nil {
				t.Error("a context that was derived before has lost its deadline")
			}
			return ctx.Err()
		}, runtime.WithTimeout(30*time.Second), steadily(1))
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		Must(t, outcome.Err())

		// The time of an event is not renewed.
		f.Handle("expiring", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for n := range 9 {
				_, err := step.Do(ctx, fmt.Sprint("step ", n), func(context.Context) (int, error) {
					time.Sleep(20 * time.Second)
					return n, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}, runtime.WithTimeout(30*time.Second), runtime.WithExpiresAfter(70*time.Second), steadily(9))
		outcome, err = f.Publish(2)[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[1]; !d.Dead || d.Reason != "expired" {
			t.Errorf("the outcome is %+v, want an expired event", d)
		}
	})
}

func deadlineOf(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline
}

func (env *Env) TestAStepThatFailsInManyWaysStoresNothing(t *testing.T) {
	if !env.Steps {
		t.Skip("the engine stores no steps")
	}
	for name, one := range map[string]struct {
		fail func(ctx context.Context) error
		kind string
		text string
	}{
		"error":   {func(context.Context) error { return ErrBoom }, "error", `step "charge": boom`},
		"panic":   {func(context.Context) error { panic("oh") }, "panic", `step "charge": panic: oh`},
		"goexit":  {func(context.Context) error { goruntime.Goexit(); return nil }, "goexit", `step "charge": the handler ended`},
		"timeout": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "timeout", `step "charge": the handler did not finish`},
		"hang":    {func(context.Context) error { time.Sleep(time.Hour); return nil }, "timeout", `step "charge": the handler did not finish`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				calls := 0
				f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					_, err := step.Do(ctx, "charge", func(ctx context.Context) (int, error) {
						if calls++; calls == 1 {
							return 7, one.fail(ctx)
						}
						return 8, nil
					})
					return err
				}, steadily(2), unbroken)
				f.MustStart()
				receipt := f.Publish(1)[0]
				outcome, err := receipt.Wait(t.Context())
				Must(t, err)
				Must(t, outcome.Err())
				file, err := env.OpenFile(t.Context(), f.Path)
				Must(t, err)
				defer file.Close()
				stored, err := file.Event(t.Context(), receipt.ID)
				Must(t, err)
				attempts := stored.Deliveries[0].Attempts
				if calls != 2 || len(attempts) != 1 || attempts[0].Kind != one.kind || !strings.HasPrefix(attempts[0].Error, one.text) {
					t.Errorf("%d calls, and the failed attempts are %+v, want one of kind %s that says %s", calls, attempts, one.kind, one.text)
				}
				time.Sleep(2 * time.Hour) // until those return that were left behind
			})
		})
	}
}

func (env *Env) TestANameIsUsedOnce(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		calls := 0
		var got error
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			for range 2 {
				_, err := step.Do(ctx, "mail", func(context.Context) (int, error) { calls++; return 1, nil })
				if err != nil {
					got = err
				}
			}
			return nil // which makes no difference
		}, steadily(5))
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		d := outcome.Deliveries[0]
		var wrong *step.NameError
		if calls != 1 || !d.Dead || d.Reason != "permanent" || d.Failures != 1 || !errors.As(got, &wrong) || wrong.Name != "mail" {
			t.Errorf("%d calls; the outcome is %+v, and the error of the second is %v", calls, d, got)
		}
		if n := strings.Count(d.LastError, "steps.go:"); n != 2 {
			t.Errorf("the error names %d places in the program, want 2: %s", n, d.LastError)
		}
	})
}

func (env *Env) TestTheNameOfAStepIsNeitherEmptyNorLong(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		for _, name := range []string{"", strings.Repeat("x", 201)} {
			f := env.Open(t)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				_, err := step.Do(ctx, name, func(context.Context) (int, error) {
					t.Error("the function is called")
					return 1, nil
				})
				if !errors.As(err, new(*step.NameError)) {
					t.Errorf("the error is %v", err)
				}
				return err
			}, steadily(5))
			f.MustStart()
			outcome, err := f.Publish(1)[0].Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries[0]; !d.Dead || d.Reason != "permanent" {
				t.Errorf("the outcome is %+v", d)
			}
		}
	})
}

// Steps run in goroutines, as many as there are workers, and half of the attempts fail.
func (env *Env) TestStepsRunInGoroutinesOfTheirHandler(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var w flow
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			var all sync.WaitGroup
			errs := make([]error, 20)
			for i := range errs {
				all.Go(func() {
					name := fmt.Sprintf("%d of %d", i, e.Payload.Number)
					got, err := step.Do(ctx, name, func(context.Context) (int, error) {
						if e.Attempt == 1 && i%2 == 0 {
							return 0, ErrBoom
						}
						w.Add(name)
						return i, nil
					})
					if err == nil && got != i {
						err = fmt.Errorf("the result of %s is %d", name, got)
					}
					errs[i] = err
				})
			}
			all.Wait()
			return errors.Join(errs...)
		}, steadily(2), runtime.WithConcurrency(8), unbroken)
		f.MustStart()
		f.Publish(Numbers(1, 10)...)
		f.Idle()
		done := w.All()
		slices.Sort(done)
		if n := len(slices.Compact(slices.Clone(done))); n != 200 || len(done) != 200 {
			t.Errorf("%d steps were done, %d of them different, want 200", len(done), n)
		}
		env.wantDone(t, f.Path)
	})
}

func (env *Env) TestStepsAreLimited(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := step.Do(ctx, fmt.Sprint("attempt ", e.Attempt), func(context.Context) (int, error) { calls++; return 1, nil })
			if err == nil {
				err = ErrBoom
			}
			return err
		}, steadily(3), runtime.WithMaxSteps(10), unbroken)
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; calls != 10 || !d.Dead || d.Reason != "max_steps" || !strings.Contains(d.LastError, "10 steps") {
			t.Errorf("%d calls, and the outcome is %+v", calls, d)
		}
	})
}

// An attempt is left behind in its step, and comes back when the next one has begun.
func (env *Env) TestAStepOfAnAttemptThatIsOverIsRefused(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var got []error
		var results []int
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			result, err := step.Do(ctx, "charge", func(context.Context) (int, error) {
				if e.Attempt == 1 {
					time.Sleep(2200 * time.Millisecond)
				} else {
					time.Sleep(500 * time.Millisecond) // the first comes back meanwhile
				}
				return e.Attempt, nil
			})
			got, results = append(got, err), append(results, result)
			return err
		}, steadily(3), runtime.WithTimeout(time.Second), unbroken)
		f.MustStart()
		outcome, err := f.Publish(1)[0].Wait(t.Context())
		Must(t, err)
		Must(t, outcome.Err())
		if len(got) != 2 || !errors.Is(got[0], runtime.ErrAttemptOver) || got[1] != nil || !slices.Equal(results, []int{0, 2}) {
			t.Errorf("the results are %v with the errors %v; the first attempt was over", results, got)
		}
	})
}

// The steps of the first life are there after an orderly end, for another version of the handler, in another order.
func (env *Env) TestStepsHaveNoOrder(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var w flow
		for life, names := range [][]string{{"a", "b", "c"}, {"c", "new", "a"}, {"last", "b", "new"}} {
			f := env.Reopen(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				for _, name := range names {
					if err := w.do(ctx, name); err != nil {
						return err
					}
				}
				if life < 2 {
					return runtime.Snooze(time.Minute)
				}
				return nil
			})
			f.MustStart()
			if life == 0 {
				f.Publish(1)
			}
			time.Sleep(10 * time.Second)
			if life == 2 {
				f.Idle()
			}
			f.Stop()
			time.Sleep(time.Minute)
		}
		if got := w.All(); !slices.Equal(got, []string{"a", "b", "c", "new", "last"}) {
			t.Errorf("these steps were done: %q", got)
		}
	})
}

func (env *Env) TestARenamedStepIsFound(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var results []string
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			do := func(name string, opts ...step.Option) {
				got, err := step.Do(ctx, name, func(context.Context) (string, error) { return fmt.Sprint(name, " ", e.Attempt), nil }, opts...)
				Must(t, err)
				results = append(results, got)
			}
			switch e.Attempt {
			case 1:
				do("pay")
			case 2:
				do("charge", step.Was("settle"), step.Was("pay"))
				do("other")
			default:
				do("again", step.Was("charge"), step.Was("pay")) // the first that is stored
				do("other", step.Was("pay"))                     // the new name goes before the old one
				return nil
			}
			return ErrBoom
		}, steadily(3), unbroken)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if want := []string{"pay 1", "pay 1", "other 2", "pay 1", "other 2"}; !slices.Equal(results, want) {
			t.Errorf("the results are %q, want %q", results, want)
		}
	})
}

func (env *Env) TestTheKeyOfAStepIsTheSameInEveryAttempt(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		var keys []string
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if step.Key(ctx) != "" {
				t.Error("there is a key outside of a step")
			}
			for _, name := range []string{"charge", "mail"} {
				_, err := step.Do(ctx, name, func(ctx context.Context) (int, error) {
					keys = append(keys, step.Key(ctx))
					if e.Attempt < 3 && name == "charge" {
						return 0, ErrBoom
					}
					return 1, nil
				})
				if err != nil {
					return err
				}
			}
			return nil
		}, steadily(3), unbroken)
		f.MustStart()
		id := f.Publish(1)[0].ID
		f.Idle()
		charge, mail := id.String()+"/fulfil/0/charge", id.String()+"/fulfil/0/mail"
		if want := []string{charge, charge, charge, mail}; !slices.Equal(keys, want) {
			t.Errorf("the keys are %q, want %q", keys, want)
		}
	})
}
