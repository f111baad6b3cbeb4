package runtime_test

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
)

func TestAPausedSubscriptionWaitsAndIsChargedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var paused, other journal[execution]
		note := func(j *journal[execution]) runtime.Handler[orderPlaced] {
			return func(_ context.Context, e runtime.Event[orderPlaced]) error {
				j.add(execution{e.Attempt, time.Since(e.PublishedAt)})
				return nil
			}
		}
		f.handle("paused", note(&paused))
		f.handle("other", note(&other))
		f.start()
		must(t, f.PauseSubscription(t.Context(), "paused"))
		must(t, f.PauseSubscription(t.Context(), "paused"))
		f.publish(numbers(1, 300)...)
		time.Sleep(time.Hour)
		if len(paused.all()) != 0 || len(other.all()) != 300 {
			t.Fatalf("the paused one handled %d, the other %d", len(paused.all()), len(other.all()))
		}
		pauses, err := f.Pauses(t.Context())
		must(t, err)
		if len(pauses) != 1 || pauses[0].Subscription != "paused" || pauses[0].Types != "" || pauses[0].Since.IsZero() {
			t.Errorf("the pauses are %+v", pauses)
		}
		must(t, f.ResumeSubscription(t.Context(), "paused"))
		f.idle()
		if got := paused.all(); len(got) != 300 || slices.ContainsFunc(got, func(e execution) bool { return e.attempt != 1 }) {
			t.Errorf("%d were handled afterwards, want 300, all with attempt 1", len(got))
		}
		must(t, f.ResumeSubscription(t.Context(), "paused"))
	})
}

func TestAPauseSurvivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.handle("paused", func(context.Context, runtime.Event[orderPlaced]) error { return nil })
		must(t, f.PauseSubscription(t.Context(), "paused"))
		f.stop()
		f = reopen(t, f.path)
		var handled atomic.Int32
		f.handle("paused", func(context.Context, runtime.Event[orderPlaced]) error { handled.Add(1); return nil })
		f.start()
		f.publish(1)
		time.Sleep(time.Minute)
		if handled.Load() != 0 {
			t.Error("it was delivered")
		}
		must(t, f.ResumeSubscription(t.Context(), "paused"))
		f.idle()
		if handled.Load() != 1 {
			t.Errorf("handled %d", handled.Load())
		}
	})
}

func TestAnUnknownSubscriptionCannotBePaused(t *testing.T) {
	f := open(t)
	if err := f.PauseSubscription(t.Context(), "typo"); !errors.Is(err, runtime.ErrUnknownSubscription) {
		t.Errorf("got %v", err)
	}
	if err := f.PauseTypes(t.Context(), "order.**"); err == nil {
		t.Error("a pattern that is none was paused")
	}
}

// orders and users go to one subscription, and orders are paused.
func TestAPausedTypeWaitsWhileTheOthersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var seen journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
			return nil
		})
		must(t, err)
		f.start()
		must(t, f.PauseTypes(t.Context(), "order.*"))
		must(t, f.PauseTypes(t.Context(), "*.placed"))
		f.publish(1)
		_, err = runtime.Publish(t.Context(), f.Bus, paidType, orderPaid{})
		must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, userType, userCreated{})
		must(t, err)
		time.Sleep(time.Minute)
		if got := seen.all(); !slices.Equal(got, []string{"user.created 1"}) {
			t.Errorf("saw %q while orders are paused", got)
		}
		must(t, f.ResumeTypes(t.Context(), "order.*"))
		time.Sleep(time.Minute)
		if got := seen.all(); !slices.Equal(got, []string{"user.created 1", "order.paid 1"}) {
			t.Errorf("saw %q while order.placed is paused by the other pattern", got)
		}
		// It survives a restart, with the event that it holds.
		f.stop()
		f = reopen(t, f.path)
		_, err = runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
			return nil
		})
		must(t, err)
		f.start()
		time.Sleep(time.Minute)
		must(t, f.ResumeTypes(t.Context(), "*.placed"))
		f.idle()
		if got := seen.all(); !slices.Equal(got, []string{"user.created 1", "order.paid 1", "order.placed 1"}) {
			t.Errorf("saw %q in the end", got)
		}
	})
}

func TestARetryOfAPausedTypeWaitsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var attempts journal[int]
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			attempts.add(e.Attempt)
			if e.Attempt == 1 {
				return errBoom
			}
			return nil
		})
		must(t, err)
		f.start()
		f.publish(1)
		synctest.Wait()
		must(t, f.PauseTypes(t.Context(), "order.*"))
		time.Sleep(time.Hour)
		if got := attempts.all(); !slices.Equal(got, []int{1}) {
			t.Errorf("the attempts are %v during the pause", got)
		}
		must(t, f.ResumeTypes(t.Context(), "order.*"))
		f.idle()
		if got := attempts.all(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("the attempts are %v", got)
		}
	})
}

// Another process has paused and resumed: this one learns it from the file.
func TestPausesOfOtherProcessesAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		other := reopen(t, f.path)
		var handled atomic.Int32
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { handled.Add(1); return nil })
		must(t, err)
		f.start()
		for round, pause := range []struct {
			do, undo func(context.Context, string) error
		}{
			{other.PauseTypes, other.ResumeTypes}, {other.PauseSubscription, other.ResumeSubscription},
		} {
			target := []string{"order.placed", "all"}[round]
			must(t, pause.do(t.Context(), target))
			time.Sleep(time.Second)
			before := handled.Load()
			f.publish(1)
			time.Sleep(time.Minute)
			if handled.Load() != before {
				t.Errorf("round %d: delivered during the pause", round)
			}
			must(t, pause.undo(t.Context(), target))
			time.Sleep(time.Second)
			if handled.Load() != before+1 {
				t.Errorf("round %d: not delivered a second after the pause", round)
			}
		}
	})
}

func TestASubscriptionThatIsMadeDuringAPauseBeginsPaused(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			f := open(t)
			f.start()
			f.publish(numbers(1, 50)...)
			must(t, f.PauseTypes(t.Context(), "order.*"))
			var handled atomic.Int32
			f.handle("late", func(context.Context, runtime.Event[orderPlaced]) error { handled.Add(1); return nil }, runtime.FromBeginning())
			time.Sleep(time.Minute)
			if handled.Load() != 0 {
				t.Errorf("%d were delivered during the pause", handled.Load())
			}
			must(t, f.ResumeTypes(t.Context(), "order.*"))
			f.idle()
			if handled.Load() != 50 {
				t.Errorf("%d were delivered after it, want 50", handled.Load())
			}
		})
	}
}
