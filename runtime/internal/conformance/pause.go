package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

func (env *Env) TestAPausedSubscriptionWaitsAndUsesNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var paused, other Journal[execution]
		note := func(j *Journal[execution]) runtime.Handler[OrderPlaced] {
			return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				j.Add(execution{e.Attempt, time.Since(e.PublishedAt)})
				return nil
			}
		}
		f.Handle("paused", note(&paused))
		f.Handle("other", note(&other))
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), "paused", ""))
		Must(t, f.PauseSubscription(t.Context(), "paused", ""))
		f.Publish(Numbers(1, 300)...)
		time.Sleep(time.Hour)
		if len(paused.All()) != 0 || len(other.All()) != 300 {
			t.Fatalf("the paused one handled %d, the other %d", len(paused.All()), len(other.All()))
		}
		pauses, err := f.Pauses(t.Context())
		Must(t, err)
		if len(pauses) != 1 || pauses[0].Subscription != "paused" || pauses[0].Types != "" || pauses[0].Since.IsZero() {
			t.Errorf("the pauses are %+v", pauses)
		}
		Must(t, f.ResumeSubscription(t.Context(), "paused"))
		f.Idle()
		if got := paused.All(); len(got) != 300 || slices.ContainsFunc(got, func(e execution) bool { return e.attempt != 1 }) {
			t.Errorf("%d were handled afterwards, want 300, all with attempt 1", len(got))
		}
		Must(t, f.ResumeSubscription(t.Context(), "paused"))
	})
}

func (env *Env) TestAPauseSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("paused", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, f.PauseSubscription(t.Context(), "paused", ""))
		f.Stop()
		f = env.Reopen(t, f.Path)
		var handled atomic.Int32
		f.Handle("paused", func(context.Context, runtime.Event[OrderPlaced]) error { handled.Add(1); return nil })
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Minute)
		if handled.Load() != 0 {
			t.Error("it was delivered")
		}
		Must(t, f.ResumeSubscription(t.Context(), "paused"))
		f.Idle()
		if handled.Load() != 1 {
			t.Errorf("handled %d", handled.Load())
		}
	})
}

func (env *Env) TestAnUnknownSubscriptionCannotBePaused(t *testing.T) {
	f := env.Open(t)
	if err := f.PauseSubscription(t.Context(), "typo", ""); !errors.Is(err, event.ErrUnknownSubscription) {
		t.Errorf("got %v", err)
	}
	if err := f.PauseTypes(t.Context(), "order.**", ""); err == nil {
		t.Error("a pattern that is none was paused")
	}
}

// orders and users go to one subscription, and orders are paused.
func (env *Env) TestAPausedTypeWaitsWhileTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.Add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
			return nil
		})
		Must(t, err)
		f.MustStart()
		Must(t, f.PauseTypes(t.Context(), "order.*", ""))
		Must(t, f.PauseTypes(t.Context(), "*.placed", ""))
		f.Publish(1)
		_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		time.Sleep(time.Minute)
		if got := seen.All(); !slices.Equal(got, []string{"user.created 1"}) {
			t.Errorf("saw %q while orders are paused", got)
		}
		Must(t, f.ResumeTypes(t.Context(), "order.*"))
		time.Sleep(time.Minute)
		if got := seen.All(); !slices.Equal(got, []string{"user.created 1", "order.paid 1"}) {
			t.Errorf("saw %q while order.placed is paused by the other pattern", got)
		}
		// It survives a restart, with the event that it holds.
		f.Stop()
		f = env.Reopen(t, f.Path)
		_, err = runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.Add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
			return nil
		})
		Must(t, err)
		f.MustStart()
		time.Sleep(time.Minute)
		Must(t, f.ResumeTypes(t.Context(), "*.placed"))
		f.Idle()
		if got := seen.All(); !slices.Equal(got, []string{"user.created 1", "order.paid 1", "order.placed 1"}) {
			t.Errorf("saw %q in the end", got)
		}
	})
}

func (env *Env) TestARetryOfAPausedTypeWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var attempts Journal[int]
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			attempts.Add(e.Attempt)
			if e.Attempt == 1 {
				return ErrBoom
			}
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		Must(t, f.PauseTypes(t.Context(), "order.*", ""))
		time.Sleep(time.Hour)
		if got := attempts.All(); !slices.Equal(got, []int{1}) {
			t.Errorf("the attempts are %v during the pause", got)
		}
		Must(t, f.ResumeTypes(t.Context(), "order.*"))
		f.Idle()
		if got := attempts.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("the attempts are %v", got)
		}
	})
}

// Another process pauses and resumes: this one learns it from the file.
func (env *Env) TestPausesOfOtherProcessesAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		other := env.Reopen(t, f.Path)
		var handled atomic.Int32
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { handled.Add(1); return nil })
		Must(t, err)
		f.MustStart()
		for round, pause := range []struct {
			do   func(context.Context, string, string) error
			undo func(context.Context, string) error
		}{
			{other.PauseTypes, other.ResumeTypes}, {other.PauseSubscription, other.ResumeSubscription},
		} {
			target := []string{"order.placed", "all"}[round]
			Must(t, pause.do(t.Context(), target, "it rains"))
			time.Sleep(time.Second)
			before := handled.Load()
			f.Publish(1)
			time.Sleep(time.Minute)
			if handled.Load() != before {
				t.Errorf("round %d: delivered during the pause", round)
			}
			Must(t, pause.undo(t.Context(), target))
			time.Sleep(time.Second)
			if handled.Load() != before+1 {
				t.Errorf("round %d: not delivered a second after the pause", round)
			}
		}
	})
}

func (env *Env) TestASubscriptionThatIsMadeDuringAPauseBeginsPaused(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			f := env.Open(t)
			f.MustStart()
			f.Publish(Numbers(1, 50)...)
			Must(t, f.PauseTypes(t.Context(), "order.*", ""))
			var handled atomic.Int32
			f.Handle("late", func(context.Context, runtime.Event[OrderPlaced]) error { handled.Add(1); return nil }, runtime.FromBeginning())
			time.Sleep(time.Minute)
			if handled.Load() != 0 {
				t.Errorf("%d were delivered during the pause", handled.Load())
			}
			Must(t, f.ResumeTypes(t.Context(), "order.*"))
			f.Idle()
			if handled.Load() != 50 {
				t.Errorf("%d were delivered after it, want 50", handled.Load())
			}
		})
	}
}
