package conformance

import (
	"context"
	"errors"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// numbersInto returns a handler that notes the numbers of orders.
func numbersInto(seen *Journal[int]) runtime.Handler[OrderPlaced] {
	return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		seen.Add(e.Payload.Number)
		return nil
	}
}

// within returns when another process has noticed what was written.
func within() {
	time.Sleep(time.Second)
	synctest.Wait()
}

func (env *Env) TestAnEphemeralSubscriptionGetsWhatIsPublishedAfterItWasMadeByWhomeverWithoutStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Publish(1, 2)
		var own, others Journal[int]
		f.Handle("", numbersInto(&own), runtime.Ephemeral())
		beside := env.Reopen(t, f.Path)
		beside.Handle("tail", numbersInto(&others), runtime.Ephemeral())
		f.Publish(3)
		beside.Publish(4)
		within()
		f.MustStart()
		f.Publish(5)
		within()
		for whose, seen := range map[string]*Journal[int]{"the bus": &own, "a bus beside it": &others} {
			if got := seen.All(); !slices.Equal(got, []int{3, 4, 5}) {
				t.Errorf("%s has handled %v, want 3, 4 and 5", whose, got)
			}
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionDeliversBesideAnOwnerAndWhileItStandsBy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var seen Journal[int]
		standby := env.Reopen(t, f.Path, runtime.WithStandby())
		standby.Handle("tail", numbersInto(&seen), runtime.Ephemeral())
		started := make(chan error, 1)
		go func() { started <- standby.Start(t.Context()) }()
		synctest.Wait()
		f.Publish(1)
		within()
		f.Stop()
		Must(t, <-started)
		standby.Publish(2)
		within()
		if got := seen.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("the standby has handled %v, want 1 and 2, each once", got)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionByNamespaceAndByPatternGetsTheTypesThatMatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var namespace, pattern, all Journal[string]
		_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "", func(_ context.Context, e runtime.Event[OrderEvent]) error {
			namespace.Add(e.Type)
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		for glob, seen := range map[string]*Journal[string]{"user.*": &pattern, "*": &all} {
			_, err := runtime.SubscribePattern(f.Bus, glob, "", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				seen.Add(e.Type)
				return nil
			}, runtime.Ephemeral())
			Must(t, err)
		}
		f.Publish(1)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		synctest.Wait()
		if n, p, a := namespace.All(), pattern.All(), all.All(); !slices.Equal(n, []string{"order.placed"}) ||
			!slices.Equal(p, []string{"user.created"}) || !slices.Equal(a, []string{"order.placed", "user.created"}) {
			t.Errorf("order.* has %v, user.* has %v, * has %v", n, p, a)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionRetriesAndThenDropsTheEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed, retrying Journal[bool]
		var dead Journal[runtime.DeadInfo]
		f := env.Open(t, runtime.WithObserver(runtime.Observer{
			Failed:   func(i runtime.FailedInfo) { failed.Add(i.Ephemeral) },
			Retrying: func(i runtime.RetryingInfo) { retrying.Add(i.Ephemeral) },
			Dead:     func(i runtime.DeadInfo) { dead.Add(i) },
		}))
		var notices, attempts Journal[int]
		_, err := runtime.SubscribeDead(f.Bus, PlacedType, "dead", func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
			notices.Add(1)
			return nil
		})
		Must(t, err)
		f.MustStart()
		began := time.Now()
		var at Journal[time.Duration]
		s := f.Handle("live", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			at.Add(time.Since(began))
			attempts.Add(e.Attempt)
			return ErrBoom
		}, runtime.Ephemeral(), runtime.WithRetry(retry.MaxAttempts(3), retry.BaseDelay(time.Second)))
		receipt := f.Publish(1)[0]
		if outcome, err := receipt.Wait(t.Context()); err != nil || len(outcome.Deliveries) > 0 {
			t.Errorf("the receipt says %+v, %v, and should not know the ephemeral subscription", outcome, err)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got, want := at.All(), []time.Duration{0, time.Second, 3 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("attempts after %v, want %v", got, want)
		}
		if got := attempts.All(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("attempts %v", got)
		}
		if len(failed.All()) != 3 || len(retrying.All()) != 2 || slices.Contains(failed.All(), false) {
			t.Errorf("observers were told of %v failures and %v retries, all of them ephemeral", failed.All(), retrying.All())
		}
		if got := dead.All(); len(got) != 1 || !got[0].Ephemeral || got[0].Reason != "max_attempts" || got[0].Subscription != "live" {
			t.Errorf("observers were told of %+v", got)
		}
		lines := f.Log.Level(t, "ERROR")
		if len(lines) != 1 || !strings.Contains(lines[0]["msg"].(string), "drops an event") || lines[0]["ephemeral"] != true {
			t.Errorf("logged %v, want that the event is dropped", lines)
		}
		if len(notices.All()) > 0 {
			t.Error("there is a dead-letter notice")
		}
		stats := f.Stats()
		one := stats.Subscriptions[len(stats.Subscriptions)-1]
		if !one.Ephemeral || one.Name != "live" || one.Failed != 3 || one.Dead != 1 {
			t.Errorf("stats: %+v", one)
		}
		Must(t, s.Unsubscribe(t.Context()))
		file, err := env.OpenFile(t.Context(), f.Path)
		Must(t, err)
		defer file.Close()
		if n, err := file.CountDeadLetters(t.Context(), inspect.Filter{}); n != 0 || err != nil {
			t.Errorf("%d dead letters, %v", n, err)
		}
		lags, err := f.Lag(t.Context())
		Must(t, err)
		if len(lags) != 1 || lags[0].Subscription != "dead" {
			t.Errorf("the file has %+v, want the durable name alone", lags)
		}
	})
}

func (env *Env) TestWaitIdleAndReceiptsDoNotWaitForAnEphemeralHandlerButUnsubscribeAndShutdownDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		finish := make(chan struct{})
		var finished atomic.Int32
		slow := func(context.Context, runtime.Event[OrderPlaced]) error {
			<-finish
			finished.Add(1)
			return nil
		}
		s := f.Handle("a", slow, runtime.Ephemeral())
		f.Handle("b", slow, runtime.Ephemeral())
		receipt := f.Publish(1)[0]
		synctest.Wait()
		f.Idle()
		_, err := receipt.Wait(t.Context())
		Must(t, err)
		unsubscribed, second := make(chan error, 1), make(chan error, 1)
		go func() { unsubscribed <- s.Unsubscribe(t.Context()) }()
		synctest.Wait()
		go func() { second <- s.Unsubscribe(t.Context()) }()
		synctest.Wait()
		if len(unsubscribed)+len(second) > 0 {
			t.Error("Unsubscribe returned while the handler ran")
		}
		down := make(chan error, 1)
		go func() { down <- f.Shutdown(context.Background()) }()
		synctest.Wait()
		if len(down) > 0 {
			t.Error("Shutdown returned while a handler ran")
		}
		close(finish)
		for _, ended := range []chan error{unsubscribed, second, down} {
			if err := <-ended; err != nil && !errors.Is(err, runtime.ErrShutdown) {
				t.Error(err)
			}
		}
		if finished.Load() != 2 {
			t.Errorf("%d handlers have finished", finished.Load())
		}
		if _, err := runtime.Subscribe(f.Bus, PlacedType, "", slow, runtime.Ephemeral()); !errors.Is(err, runtime.ErrShutdown) {
			t.Errorf("Subscribe after the shutdown: %v", err)
		}
	})
}

func (env *Env) TestAnEphemeralHandlerCannotWaitForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s *runtime.Subscription
		var errs Journal[error]
		s = f.Handle("", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
			errs.Add(s.Unsubscribe(ctx))
			errs.Add(f.Shutdown(ctx))
			errs.Add(f.WaitIdle(ctx))
			return nil
		}, runtime.Ephemeral())
		f.Publish(1)
		synctest.Wait()
		for _, err := range errs.All() {
			if !errors.Is(err, runtime.ErrInsideHandler) {
				t.Errorf("got %v, want ErrInsideHandler", err)
			}
		}
		if len(errs.All()) != 3 {
			t.Errorf("got %v", errs.All())
		}
	})
}

func (env *Env) TestASlowEphemeralHandlerLagsBehindAndMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		var seen Journal[int]
		gate := make(chan struct{})
		f.Handle("", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-gate
			if e.Payload.Number%3 == 0 && e.Attempt == 1 {
				return ErrBoom
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral(), runtime.WithTimeout(time.Hour), runtime.WithRetry(retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)),
			runtime.WithFailureThrottle(0))
		const events = 12_000 // more than the tail in memory has, a third of which is more than may wait
		var payloads []OrderPlaced
		for n := range events {
			payloads = append(payloads, OrderPlaced{OrderID: "A", Number: n})
		}
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, payloads)
		Must(t, err)
		synctest.Wait()
		close(gate)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		got := seen.All()
		slices.Sort(got)
		if !slices.Equal(got, Numbers(0, events-1)) {
			t.Errorf("handled %d of %d events, or some twice", len(got), events)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionSaysHowManyPrunedEventsItHasPassedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal), runtime.WithRetention(time.Hour))
		f.MustStart()
		var seen Journal[int]
		var gate atomic.Bool // is closed
		f.Publish(Numbers(1, 300)...)
		time.Sleep(2 * time.Hour) // these are pruned before it is there
		f.Handle("live", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			for gate.Load() {
				time.Sleep(time.Minute)
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral(), runtime.WithTimeout(10*time.Hour))
		passes := func() (events []float64) {
			for _, level := range []string{"WARN", "INFO"} {
				for _, line := range f.Log.Level(t, level) {
					if msg := line["msg"].(string); strings.Contains(msg, "ephemeral") && strings.Contains(msg, "pruned") && line["subscription_id"] == "live" {
						events = append(events, line["events"].(float64))
					}
				}
			}
			return events
		}
		const events = 12_000 // more than are kept in memory
		publish := func() {
			payloads := make([]OrderPlaced, events)
			_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, payloads)
			Must(t, err)
			synctest.Wait()
		}
		publish()
		if got := passes(); got != nil || len(seen.All()) != events {
			t.Fatalf("a subscription that is quick has handled %d events, and passed over %v", len(seen.All()), got)
		}
		for episode := 1; episode <= 2; episode++ {
			before := len(seen.All())
			gate.Store(true)
			publish()
			time.Sleep(3 * time.Hour)
			gate.Store(false)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			missed := float64(events - (len(seen.All()) - before))
			if got := passes(); missed == 0 || len(got) != 2*episode || got[2*episode-1] != missed || got[episode-1] > missed {
				t.Errorf("in episode %d it missed %v events, and said %v: first what it knew then, at last all", episode, missed, got)
			}
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionGetsDelayedEventsWhenTheyAreDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		began := time.Now()
		publish := func(n int, opts ...runtime.PublishOption) {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n}, opts...)
			Must(t, err)
		}
		publish(1, runtime.WithDelay(time.Minute)) // before the subscription
		type order struct {
			number int
			after  time.Duration
		}
		var seen Journal[order]
		f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(order{e.Payload.Number, time.Since(began)})
			return nil
		}, runtime.Ephemeral())
		publish(2, runtime.WithDelay(time.Hour))
		publish(3, runtime.WithDelay(time.Second))
		publish(4)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if got, want := seen.All(), []order{{4, 0}, {3, time.Second}, {2, time.Hour}}; !slices.Equal(got, want) {
			t.Errorf("handled %v, want %v", got, want)
		}
	})
}

func (env *Env) TestOfManyDelayedEventsAnEphemeralSubscriptionDropsThoseThatAreDueLastAndSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithDurability(runtime.Normal))
		var seen Journal[int]
		f.Handle("live", numbersInto(&seen), runtime.Ephemeral())
		at := time.Now().Add(time.Hour)
		for n := range 1100 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "A", Number: n}, runtime.WithPublishAt(at.Add(time.Duration(n)*time.Second)))
			Must(t, err)
		}
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, Numbers(0, 1023)) {
			t.Errorf("handled %d events, want the first 1024", len(got))
		}
		if lines := f.Log.Level(t, "WARN"); len(lines) != 1 || lines[0]["subscription_id"] != "live" {
			t.Errorf("logged %v, want one warning", lines)
		}
	})
}

func (env *Env) TestWhatAnEphemeralHandlerPublishesIsStoredIfItSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var paid Journal[string]
		var published Journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "order.paid", "", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			paid.Add(e.PublishedBy + " " + e.ParentID.String())
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		var late atomic.Pointer[error]
		f.Handle("live", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.PublishBatch(ctx, f.Bus, PaidType, []OrderPaid{{}, {}})
			Must(t, err)
			synctest.Wait()
			published.Add(e.ID.String())
			if len(paid.All()) > 0 {
				t.Error("an event is delivered before the handler that published it has succeeded")
			}
			if e.Attempt == 1 {
				return ErrBoom
			}
			go func() {
				time.Sleep(time.Second)
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
				late.Store(&err)
			}()
			return nil
		}, runtime.Ephemeral())
		receipt := f.Publish(1)[0]
		time.Sleep(time.Minute)
		synctest.Wait()
		want := "live " + receipt.ID.String()
		if got := paid.All(); !slices.Equal(got, []string{want, want}) {
			t.Errorf("children %v, want two of the second attempt", got)
		}
		if len(published.All()) != 2 {
			t.Errorf("%d attempts", len(published.All()))
		}
		if err := late.Load(); err == nil || !errors.Is(*err, runtime.ErrAttemptOver) {
			t.Error("a goroutine that the handler left behind could publish with its context")
		}
	})
}

func (env *Env) TestAnEphemeralHandlerCanWaitForWhatItPublishesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var first atomic.Pointer[runtime.Receipt]
		_, err := runtime.Subscribe(f.Bus, PaidType, "durable", func(ctx context.Context, e runtime.Event[OrderPaid]) error {
			_, err := first.Load().Wait(ctx) // no circle: nobody waits for the ephemeral delivery
			return err
		})
		Must(t, err)
		var outcome Journal[error]
		published := make(chan struct{})
		f.Handle("", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			<-published
			receipt, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{}, runtime.Immediately())
			Must(t, err)
			got, err := receipt.Wait(ctx)
			if len(got.Deliveries) != 1 {
				t.Errorf("the child has %+v", got)
			}
			outcome.Add(errors.Join(err, got.Err()))
			return nil
		}, runtime.Ephemeral())
		first.Store(f.Publish(1)[0])
		close(published)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := outcome.All(); len(got) != 1 || got[0] != nil {
			t.Errorf("waiting returned %v", got)
		}
	})
}

func (env *Env) TestOptionsThatMakeNoSenseForAnEphemeralSubscriptionAreNamed(t *testing.T) {
	f := env.Open(t)
	ok := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	dead := func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error { return nil }
	for option, subscribe := range map[string]func() (*runtime.Subscription, error){
		"FromBeginning": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.Ephemeral(), runtime.FromBeginning())
		},
		"InGroup": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.InGroup("g"), runtime.Ephemeral())
		},
		"WithAliases": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", ok, runtime.Ephemeral(), runtime.WithAliases("y"))
		},
		"Ephemeral": func() (*runtime.Subscription, error) {
			return runtime.SubscribeDead(f.Bus, PlacedType, "x", dead, runtime.Ephemeral())
		},
		"cannot be printed": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "a\nb", ok, runtime.Ephemeral())
		},
		"handler is nil": func() (*runtime.Subscription, error) {
			return runtime.Subscribe(f.Bus, PlacedType, "x", nil, runtime.Ephemeral())
		},
	} {
		s, err := subscribe()
		var refused *runtime.SubscribeError
		if s != nil || !errors.As(err, &refused) || !strings.Contains(refused.Problem, option) {
			t.Errorf("want a *SubscribeError that says %s, got %v", option, err)
		}
	}
	if n := len(f.Stats().Subscriptions); n > 0 {
		t.Errorf("%d subscriptions are left", n)
	}
}

func (env *Env) TestTheNameOfAnEphemeralSubscriptionIsALabel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Subscription)
			return nil
		}
		f.Handle("audit", handler, runtime.Ephemeral())
		f.Handle("audit", handler)
		f.Handle("audit", handler, runtime.Ephemeral())
		f.MustStart()
		Must(t, f.PauseSubscription(t.Context(), "audit"))
		f.Publish(1)
		within()
		if got := seen.All(); len(got) != 2 {
			t.Errorf("handled %v while the durable subscription is paused, want by both ephemeral ones", got)
		}
		Must(t, f.ResumeSubscription(t.Context(), "audit"))
		f.Idle()
		Must(t, f.PauseTypes(t.Context(), "order.*"))
		f.Publish(2)
		within()
		if got := seen.All(); len(got) != 5 {
			t.Errorf("handled %v, want that a pause of the type holds the durable subscription back and no other", got)
		}
		var text strings.Builder
		Must(t, f.WriteMetrics(t.Context(), &text))
		if n := strings.Count(text.String(), `busgen_handled_total{subscription="audit"`); n != 1 {
			t.Errorf("the metrics have %d series of the name, want that of the durable subscription", n)
		}
		if all := f.Stats().Subscriptions; len(all) != 3 || all[0].Ephemeral || !all[1].Ephemeral || !all[2].Ephemeral || all[1].Handled != 2 {
			t.Errorf("stats: %+v", all)
		}
	})
}

func (env *Env) TestAnEphemeralHandlerThatPanicsOrEndsItsGoroutineIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(e.Attempt)
			switch e.Attempt {
			case 1:
				panic("boom")
			case 2:
				goruntime.Goexit()
			case 3:
				var none *typedNil
				return none
			}
			return nil
		}, runtime.Ephemeral(), runtime.WithRetry(retry.MaxAttempts(5)))
		f.Publish(1)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, []int{1, 2, 3, 4}) {
			t.Errorf("attempts %v", got)
		}
	})
}

func (env *Env) TestAnEphemeralSubscriptionKeepsTheOrderOfKeysAndSnoozes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		f.Handle("", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 && e.Attempt < 3 {
				return runtime.Snooze(time.Minute)
			}
			seen.Add(e.Payload.Number)
			return nil
		}, runtime.Ephemeral(), runtime.WithConcurrency(4), runtime.WithStrictOrder())
		f.Publish(1, 2, 3)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := seen.All(); !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("handled %v, want the order of the key", got)
		}
	})
}

func (env *Env) TestAThousandEphemeralSubscriptionsAllGetEachEventAndAreGoneAfterwards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.MustStart()
		var handled atomic.Int32
		var all []*runtime.Subscription
		for range 1000 {
			all = append(all, f.Handle("", func(context.Context, runtime.Event[OrderPlaced]) error {
				handled.Add(1)
				return nil
			}, runtime.Ephemeral()))
		}
		f.Publish(1, 2, 3)
		synctest.Wait()
		if n := handled.Load(); n != 3000 {
			t.Errorf("%d deliveries, want 3000", n)
		}
		for _, s := range all {
			Must(t, s.Unsubscribe(t.Context()))
		}
		f.Publish(4)
		within()
		if n := handled.Load(); n != 3000 {
			t.Errorf("%d deliveries after Unsubscribe, want 3000", n)
		}
		if n := len(f.Stats().Subscriptions); n != 0 {
			t.Errorf("%d subscriptions are left", n)
		}
	})
}

func (env *Env) TestTuningAppliesToEphemeralSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		s := f.Handle("", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.Ephemeral())
		settings := PlacedType.Settings()
		settings.Timeout = 7 * time.Second
		Must(t, f.Tune(runtime.Tuning{Types: map[string]runtime.Settings{"order.placed": settings}}))
		if got := f.Stats().Subscriptions[0].Settings["order.placed"].Timeout; got != 7*time.Second {
			t.Errorf("the timeout is %v", got)
		}
		if !s.Ephemeral() {
			t.Error("Ephemeral is false")
		}
	})
}

// typedNil is an error whose methods panic for the nil pointer.
type typedNil struct{ text string }

func (e *typedNil) Error() string { return e.text }
