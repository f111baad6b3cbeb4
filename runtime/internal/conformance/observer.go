package conformance

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

// scribe is an observer that records the calls of its functions.
func scribe(j *Journal[string], name func(observe.AttemptInfo) string) observe.Observer {
	note := func(what string, a observe.AttemptInfo, more ...any) {
		j.Add(strings.TrimSpace(fmt.Sprintf("%s %s#%d %v ", name(a), what, a.Attempt, a.Took) + fmt.Sprintln(more...)))
	}
	return observe.Observer{
		Published: func(i observe.PublishedInfo) { j.Add(fmt.Sprintf("published %s %v", i.Type, i.Duplicate)) },
		Handled:   func(i observe.HandledInfo) { note("handled", i.AttemptInfo, "latency", i.Latency) },
		Failed:    func(i observe.FailedInfo) { note("failed", i.AttemptInfo, i.Kind, i.Error) },
		Retrying:  func(i observe.RetryingInfo) { note("retrying", i.AttemptInfo, "in", i.Delay) },
		Dead:      func(i observe.DeadInfo) { note("dead", i.AttemptInfo, i.Reason, i.LastError) },
		Discarded: func(i observe.DiscardedInfo) { note("discarded", i.AttemptInfo, i.Reason) },
		Snoozed:   func(i observe.SnoozedInfo) { note("snoozed", i.AttemptInfo, "for", time.Until(i.Until)) },
		Slow:      func(i observe.SlowInfo) { note("slow", i.AttemptInfo) },
	}
}

func (env *Env) TestAnObserverGetsTheOutcomeOfEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		f := env.Open(t, runtime.WithObserver(scribe(&told, func(a observe.AttemptInfo) string { return a.Subscription })))
		f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(time.Second)
			switch {
			case e.Payload.Number == 1 && e.Attempt == 1:
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}) // not stored
				Must(t, err)
				return ErrBoom
			case e.Payload.Number == 1:
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
				return err
			case e.Payload.Number == 2:
				<-ctx.Done()
			case e.Payload.Number == 3:
				return runtime.Discard("not ours")
			case e.Payload.Number == 4 && time.Since(e.PublishedAt) < time.Minute:
				return runtime.Snooze(time.Hour)
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		f.MustStart()
		for _, n := range Numbers(1, 4) {
			f.Publish(n)
			f.Idle()
		}
		_, err := runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{}, runtime.WithDedupeKey("k"))
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{}, runtime.WithDedupeKey("k"))
		Must(t, err)
		want := []string{
			"published order.placed false",
			"reader failed#1 1s error boom", "reader retrying#1 1s in 1s",
			"published order.paid false", "reader handled#2 1s latency 3s",
			"published order.placed false",
			"reader slow#1 10s", "reader failed#1 30s timeout the handler did not finish within 30s", "reader retrying#1 30s in 1s",
			"reader slow#2 10s", "reader failed#2 30s timeout the handler did not finish within 30s",
			"reader dead#2 30s max_attempts the handler did not finish within 30s",
			"published order.placed false", "reader discarded#1 1s not ours",
			"published order.placed false", "reader snoozed#1 1s for 1h0m0s", "reader handled#2 1s latency 1h0m2s",
			"published user.created false", "published user.created true",
		}
		if diff := cmp.Diff(want, told.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAnObserverGetsTheNumberOfTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[observe.AttemptInfo]
		f := env.Open(t, runtime.WithObserver(observe.Observer{Handled: func(i observe.HandledInfo) { told.Add(i.AttemptInfo) }}))
		f.Handle("member", func(context.Context, runtime.Event[OrderPlaced]) error { time.Sleep(time.Second); return nil },
			runtime.InGroup("team"))
		f.MustStart()
		published := time.Now().UTC()
		id := f.Publish(1)[0].ID
		f.Idle()
		want := []observe.AttemptInfo{{
			ID: id, Type: "order.placed", PublishedAt: published, Subscription: "member", Group: "team",
			Attempt: 1, MaxAttempts: 4, Started: published, Took: time.Second,
		}}
		if diff := cmp.Diff(want, told.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestADeadLetterWithoutAnAttemptHasNoStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[observe.DeadInfo]
		f := env.Open(t, runtime.WithObserver(observe.Observer{Dead: func(i observe.DeadInfo) { told.Add(i) }}))
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.WithExpiresAfter(time.Minute))
		f.Publish(1)
		time.Sleep(time.Hour)
		f.MustStart()
		f.Idle()
		got := told.All()
		if len(got) != 1 || !got[0].Started.IsZero() || got[0].Took != 0 || got[0].Reason != "expired" || got[0].LastError != "it was not handled within 1m0s" {
			t.Errorf("told %+v", got)
		}
	})
}

func (env *Env) TestAnObserverIsCalledWhenABreakerChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		var f *Fixture
		f = env.OpenFragile(t, runtime.WithObserver(observe.Observer{BreakerChanged: func(i observe.BreakerInfo) {
			told.Add(fmt.Sprintf("%s: %v to %v", i.Subscription, i.Old.State, i.New.State))
			f.Stats() // a breaker may change while the bus is locked
		}}))
		_, err := runtime.Subscribe(f.Bus, FragileType, "reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number <= 4 {
				return runtime.Permanent(ErrBoom)
			}
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Fragile(1, 4)
		synctest.Wait()
		f.Fragile(5, 5)
		f.Idle()
		f.Fragile(1, 4)
		synctest.Wait()
		off := declare.DefaultSettings()
		off.Breaker.Off = true
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"fragile.placed": off}}))
		synctest.Wait()
		want := []string{
			"reader: closed to open", "reader: open to half-open", "reader: half-open to closed",
			"reader: closed to open", "reader: open to closed",
		}
		if got := told.All(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func (env *Env) TestAnObserverIsCalledForEveryPauseWhoeverAskedForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		f.Stop()

		var told Journal[string]
		note := func(what string) func(event.Pause) {
			return func(p event.Pause) { told.Add(strings.TrimSpace(what + " " + p.Subscription + p.Types)) }
		}
		again := env.Reopen(t, f.Path, runtime.WithObserver(observe.Observer{Paused: note("paused"), Resumed: note("resumed")}))
		again.MustStart()
		synctest.Wait()
		other := env.Reopen(t, f.Path) // as another process does
		Must(t, other.PauseTypes(t.Context(), "order.*", ""))
		time.Sleep(time.Second)
		Must(t, other.ResumeSubscription(t.Context(), "reader"))
		time.Sleep(time.Second)
		Must(t, again.ResumeTypes(t.Context(), "order.*"))
		synctest.Wait()
		want := []string{"paused reader", "paused order.*", "resumed reader", "resumed order.*"}
		if got := told.All(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	})
}

func (env *Env) TestObserversAreCalledInTheOrderInWhichTheyWereGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[string]
		observer := func(name string) runtime.Option {
			return runtime.WithObserver(observe.Observer{Published: func(observe.PublishedInfo) { told.Add(name) }})
		}
		f := env.Open(t, observer("first"), observer("second"))
		f.Publish(1, 2)
		if got, want := told.All(), []string{"first", "second", "first", "second"}; !slices.Equal(got, want) {
			t.Errorf("called %q, want %q", got, want)
		}
	})
}

func (env *Env) TestAnObserverWithoutFunctionsIsRefused(t *testing.T) {
	_, err := env.OpenBus(t.Context(), env.Target(t), Catalogue, runtime.WithObserver(observe.Observer{}))
	if err == nil || !strings.Contains(err.Error(), "none of the functions is set") {
		t.Errorf("the error is %v", err)
	}
	for i := range reflect.TypeFor[observe.Observer]().NumField() {
		var o observe.Observer
		f := reflect.ValueOf(&o).Elem().Field(i)
		f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		env.Open(t, runtime.WithObserver(o)) // fails the test if it is refused
	}
}

// panicking is an observer all of whose functions panic. It notes which ones
// were called.
func panicking(called *sync.Map) (o observe.Observer) {
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		v.Field(i).Set(reflect.MakeFunc(v.Field(i).Type(), func([]reflect.Value) []reflect.Value {
			called.Store(name, nil)
			panic("in " + name)
		}))
	}
	return o
}

func (env *Env) TestAnObserverThatPanicsInEveryFunctionFailsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var called sync.Map
		var after Journal[string]
		health := observe.DefaultHealth()
		health.DeadLetters = 3
		f := env.OpenFragile(t, runtime.WithHealth(health, nil), runtime.WithSlowEventAfter(1), runtime.WithObserver(panicking(&called)),
			runtime.WithObserver(observe.Observer{Handled: func(observe.HandledInfo) { after.Add("handled") }}))
		handled := map[int]int{}
		_, err := runtime.Subscribe(f.Bus, FragileType, "reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			n := e.Payload.Number
			switch {
			case n <= 4:
				return runtime.Permanent(ErrBoom) // until the breaker opens, and the dead letters are too many
			case n == 5 && e.Attempt == 1:
				time.Sleep(time.Millisecond)
				return ErrBoom
			case n == 6:
				return runtime.Discard("not ours")
			case n == 7 && time.Since(e.PublishedAt) < time.Hour:
				return runtime.Snooze(time.Hour)
			case n == 8:
				time.Sleep(20 * time.Second)
			}
			handled[n]++
			return nil
		}, runtime.WithBreaker(breaker.MinSamples(4)))
		Must(t, err)
		_, err = runtime.SubscribeBatch(f.Bus, FragileType, "batches", func(context.Context, []runtime.Event[OrderPlaced]) error { return nil })
		Must(t, err)
		f.MustStart()
		f.Fragile(1, 3)
		_, err = runtime.Publish(t.Context(), f.Bus, FragileType, OrderPlaced{OrderID: "A", Number: 4}, runtime.WithPriority(runtime.PriorityCritical))
		Must(t, err)
		time.Sleep(time.Minute)
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		f.Fragile(5, 20)
		Must(t, f.ResumeSubscription(t.Context(), "reader"))
		f.Idle()
		f.Stop()

		for _, n := range Numbers(5, 20) {
			if n != 6 && handled[n] != 1 {
				t.Errorf("event %d was handled %d times", n, handled[n])
			}
		}
		states := map[string]int{}
		for _, d := range f.peek().deliveries() {
			states[d.State]++
		}
		if want := map[string]int{event.StateDead: 4, event.StateDiscarded: 1, event.StateDone: 15 + 20}; !maps.Equal(states, want) {
			t.Errorf("the deliveries are %v, want %v", states, want)
		}
		if n := len(after.All()); n != 15+20 {
			t.Errorf("the observer behind the one that panics was called %d times, want 35", n)
		}
		logged := map[any]int{}
		for _, line := range f.Log.Level(t, "ERROR") {
			if strings.HasPrefix(line["msg"].(string), "an observer has panicked") {
				logged[line["function"]]++
				if line["panic"] != "in "+line["function"].(string) || !strings.Contains(line["stack"].(string), "conformance/observer.go") {
					t.Errorf("the log has %v", line)
				}
			}
		}
		for i := range reflect.TypeFor[observe.Observer]().NumField() {
			name := reflect.TypeFor[observe.Observer]().Field(i).Name
			if _, ok := called.Load(name); !ok {
				t.Errorf("%s was never called", name)
			}
			if logged[name] != 1 {
				t.Errorf("the panics of %s were logged %d times, want once", name, logged[name])
			}
		}
		if len(logged) != reflect.TypeFor[observe.Observer]().NumField() {
			t.Errorf("logged %v", slices.Collect(maps.Keys(logged)))
		}
	})
}

func (env *Env) TestAnObserverIsCalledForEverythingBeforeTheShutdownEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		f := env.Open(t, runtime.WithObserver(observe.Observer{Resumed: func(event.Pause) {
			time.Sleep(time.Second)
			told++
		}}))
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		f.MustStart()
		for range 10 {
			Must(t, f.PauseSubscription(t.Context(), "reader", ""))
			Must(t, f.ResumeSubscription(t.Context(), "reader"))
		}
		f.Stop()
		if told != 10 {
			t.Errorf("told of %d changes when the shutdown ends, want all 10", told)
		}
	})
}

func (env *Env) TestAnObserverThatIsStuckHoldsUpNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		f := env.Open(t, runtime.WithDurability(runtime.Normal), runtime.WithObserver(observe.Observer{Paused: func(event.Pause) { <-stuck }}))
		seen := 0
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { seen++; return nil })
		f.MustStart()
		for range 300 { // more than wait for an observer
			Must(t, f.PauseSubscription(t.Context(), "reader", ""))
			Must(t, f.ResumeSubscription(t.Context(), "reader"))
		}
		f.Publish(1)
		f.Idle()
		if seen != 1 {
			t.Errorf("%d events were handled, want 1", seen)
		}
		warned := 0
		for _, line := range f.Log.Level(t, "WARN") {
			if line["msg"] == "the observer is too slow; it misses a change" {
				warned++
			}
		}
		if warned == 0 {
			t.Error("the log does not say that the observer was not told")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		if err := f.Shutdown(ctx); err != nil || since(began) != time.Minute {
			t.Errorf("the shutdown has waited for %v and returned %v, want its deadline and nil", since(began), err)
		}
		close(stuck)
	})
}
