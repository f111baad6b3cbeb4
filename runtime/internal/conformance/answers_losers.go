package conformance

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// What becomes of handlers that have not answered when others have, and of what the bus keeps
// for them.

// losers are ways in which a handler can end that was told that others have answered.
var losers = map[string]runtime.AnswerHandler[OrderPlaced, string]{
	"panics": func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
		<-ctx.Done()
		panic(ErrBoom)
	},
	"exits": func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
		<-ctx.Done()
		goruntime.Goexit()
		return "", nil
	},
	"fails": func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
		<-ctx.Done()
		return "", runtime.Permanent(ErrBoom)
	},
	"outlives its time": func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
		time.Sleep(1100 * time.Millisecond)
		return "late", nil
	},
	"is left behind": func(ctx context.Context, _ runtime.Event[OrderPlaced]) (string, error) {
		time.Sleep(10 * time.Second)
		return "late", nil
	},
}

func (env *Env) TestALoserThatPanicsOrOutlivesItsTimeHasNotFailed(t *testing.T) {
	for name, loses := range losers {
		for _, group := range []string{"", "desk"} {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				opts := []runtime.SubscribeOption{
					runtime.WithTimeout(time.Second), runtime.WithRetry(retry.MaxAttempts(1)),
					runtime.WithBreaker(breaker.On(), breaker.MinSamples(1)),
				}
				listened := &Journal[int]{}
				want := "first done, loser discarded answered by first"
				if group != "" {
					opts = append(opts, runtime.InGroup(group))
					want = "desk done, first done"
				}
				answer(f, "loser", loses, opts...)
				if group != "" {
					f.Handle("listener", func(context.Context, runtime.Event[OrderPlaced]) error {
						listened.Add(1)
						return nil
					}, runtime.InGroup(group))
				}
				answer(f, "first", says("first", 10*time.Millisecond))
				f.MustStart()
				if got, err := f.request(); got != "first" || err != nil {
					t.Errorf("%s: the answer is %q, the error %v", name, got, err)
				}
				time.Sleep(10 * time.Second) // for the handler that is left behind
				if got := f.states(); got != want {
					t.Errorf("%s: the deliveries are %s, want %s", name, got, want)
				}
				if n := len(listened.All()); group != "" && n != 1 {
					t.Errorf("%s: the other member of the group was called %d times", name, n)
				}
				for _, s := range f.Stats().Subscriptions {
					if s.Name != "loser" {
						continue
					}
					if s.Failed != 0 || s.Dead != 0 || s.Timeouts != 0 || s.Discarded != 1 || s.Breaker.Failures != 0 {
						t.Errorf("%s: the loser is counted as %+v, and by its breaker as %+v", name, s.Counts, s.Breaker)
					}
				}
			})
		}
	}
}

// Each of these has settled the event once. The bus still knows of the request, because a
// subscription is paused that was asked, too.
func (env *Env) TestAnAnsweredEventIsHandledByWhoGetsItAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		called := &Journal[string]{}
		journal := func(name string, handler runtime.AnswerHandler[OrderPlaced, string]) {
			answer(f, name, func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) {
				called.Add(name)
				return handler(ctx, e)
			})
		}
		journal("winner", says("yes", time.Second))
		journal("silent", passes)
		journal("dead", func(_ context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			if e.Attempt > 1 {
				return "better late than never", nil
			}
			return "", runtime.Permanent(ErrBoom)
		})
		paused := answer(f, "paused", says("never", 0))
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), paused.Name(), ""))
		if got, err := f.request(); got != "yes" || err != nil {
			t.Fatalf("the answer is %q, the error %v", got, err)
		}
		before := len(called.All())
		if before != 3 {
			t.Fatalf("%d handlers were called, want 3", before)
		}
		synctest.Wait()
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		again := func(name, what string, n int, err error) {
			t.Helper()
			Must(t, err)
			time.Sleep(2 * time.Minute)
			if all := called.All()[before:]; n != 1 || len(all) != 1 || all[0] != name {
				t.Errorf("%s of %d: called %v, want %s", what, n, all, name)
			}
			before = len(called.All())
		}
		n, err := f.Replay(t.Context(), "winner", event.ReplayFilter{})
		again("winner", "Bus.Replay", n, err)
		counts, err := file.Replay(t.Context(), "silent", inspect.Selection{})
		again("silent", "File.Replay", counts.Moved, err)
		counts, err = file.Retry(t.Context(), inspect.Selection{})
		again("dead", "File.Retry", counts.Moved, err)
		Must(t, f.ResumeSubscription(t.Context(), paused.Name()))
		if got, want := f.states(), "dead done, paused discarded answered by winner, silent done, winner done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
	})
}

func (env *Env) TestALoserIsHandledOnceItsDiscardIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		called := &Journal[error]{}
		answer(f, "winner", says("yes", time.Millisecond))
		answer(f, "loser", func(ctx context.Context, e runtime.Event[OrderPlaced]) (string, error) {
			value, err := says("late", time.Second)(ctx, e)
			called.Add(err)
			return value, err
		})
		paused := answer(f, "paused", says("never", 0)) // so that the bus still knows of the request
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), paused.Name(), ""))
		if got, err := f.request(); got != "yes" || err != nil {
			t.Fatalf("the answer is %q, the error %v", got, err)
		}
		time.Sleep(time.Second)
		file := f.outside()
		events, _, err := file.Events(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		undone, err := file.Undiscard(t.Context(), event.Undo{Event: events[0].ID, Subscription: "loser"})
		Must(t, err)
		time.Sleep(time.Minute)
		if all := called.All(); undone.Due != 1 || len(all) != 2 || all[1] != nil {
			t.Errorf("%+v undone, and the handler has returned %v", undone, all)
		}
		Must(t, f.ResumeSubscription(t.Context(), paused.Name()))
		if got, want := f.states(), "loser done, paused discarded answered by winner, winner done"; got != want {
			t.Errorf("the deliveries are %s, want %s", got, want)
		}
	})
}

// The bus remembers answered events for deliveries that have not begun. It must not keep the
// answers alive, which may be large.
func (env *Env) TestTheBusDoesNotKeepAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type large struct{ bytes [1 << 20]byte }
		f := env.Open(t)
		given := make(chan weak.Pointer[large], 20)
		give := func(context.Context, runtime.Event[OrderPlaced]) (*large, error) {
			value := new(large)
			given <- weak.Make(value)
			return value, nil
		}
		answer(f, "one", give)
		paused := answer(f, "paused", give)
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), paused.Name(), ""))
		got, err := runtime.Request[*large](t.Context(), f.Bus, PlacedType, OrderPlaced{})
		Must(t, err)
		value := <-given
		goruntime.GC()
		if value.Value() != got {
			t.Error("the answer is gone while the caller has it")
		}
		got = nil
		for i := 0; i < 5 && value.Value() != nil; i++ {
			f.Publish(i) // so that the worker has another attempt in its hands
			synctest.Wait()
			<-given
			goruntime.GC()
		}
		if value.Value() != nil {
			t.Error("the bus keeps the answer")
		}
		Must(t, f.ResumeSubscription(t.Context(), paused.Name()))
		synctest.Wait()
		if got := f.states(); strings.Count(got, "paused discarded answered by one") != 1 {
			t.Errorf("the deliveries are %s", got)
		}
	})
}
