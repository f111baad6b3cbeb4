package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/step"
)

// openParcels opens a bus whose handlers can wait for parcels.
func (env *Env) openParcels(t *testing.T, target string, opts ...runtime.Option) *Fixture {
	return env.ReopenWith(t, target, Parcels, opts...)
}

// parcelOf waits for the next parcel of an order.
func parcelOf(ctx context.Context, name string, e runtime.Event[OrderPlaced], within time.Duration) (code int, err error) {
	got, err := step.Await(ctx, name, ScannedType, fmt.Sprint(e.Payload.Number), within)
	return got.Payload.Code, err
}

// An event that was published before the wait is found, but for those before the handled one. Each is got once.
func (env *Env) TestAnEventThatCameEarlyIsFound(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		var got Journal[int]
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			calls++
			for _, name := range []string{"first", "second"} {
				e, err := step.Await(ctx, name, ScannedType, "1", time.Hour)
				if err != nil {
					return err
				}
				got.Add(e.Payload.Code)
				if e.Type != "parcel.scanned" || e.Payload.OrderID != "1" || e.PublishedAt.IsZero() || e.CorrelationID != "c" || e.Attempt != 0 {
					t.Errorf("got %+v", e)
				}
			}
			if _, err := step.Await(ctx, "none is left", ScannedType, "1", 0); !errors.Is(err, step.ErrNoEvent) {
				t.Errorf("a third one: %v", err)
			}
			return nil
		}, steadily(1))
		scan(t, f.Bus, 1, 1)
		f.Publish(1)
		for code, order := range map[int]string{3: "11", 4: "2"} {
			scan(t, f.Bus, order, code)
		}
		for code := 5; code <= 6; code++ {
			_, err := runtime.Publish(t.Context(), f.Bus, ScannedType, Scanned{"1", code}, runtime.WithCorrelationID("c"))
			Must(t, err)
		}
		Must(t, f.PauseSubscription(t.Context(), "fulfil", ""))
		f.MustStart()
		time.Sleep(time.Second) // until their keys are written: who looks before that is called once more
		Must(t, f.ResumeSubscription(t.Context(), "fulfil"))
		f.Idle()
		got.wants(t, 5, 6)
		if calls != 1 {
			t.Errorf("it took %d calls", calls)
		}
	})
}

// The event wakes the handler at once, and each later attempt gets the same.
func (env *Env) TestAWaitEndsWithItsEvent(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t), runtime.WithLimit(declare.Limit{Name: "one", AtOnce: 1}))
		var got Journal[string]
		began := time.Now()
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			code, err := parcelOf(ctx, "parcel", e, time.Hour)
			if err != nil {
				return err
			}
			got.Add(fmt.Sprintf("order %d: %d after %v", e.Payload.Number, code, time.Since(began).Round(time.Second)))
			if e.Attempt < 4 {
				return ErrBoom
			}
			return nil
		}, steadily(3), unbroken, limitedBy("one"), runtime.WithMaxSnoozes(1))
		f.MustStart()
		f.Publish(1, 2)
		time.Sleep(time.Minute)
		scan(t, f.Bus, 2, 20) // the other one has no place in the limit
		time.Sleep(time.Minute)
		scan(t, f.Bus, 1, 10)
		scan(t, f.Bus, 1, 11)
		f.Idle()
		var want []string
		for i, at := range []string{"1m0s", "1m1s", "1m2s"} {
			want = append(want, "order 2: 20 after "+at)
			want = append(want, "order 1: 10 after "+[]string{"2m0s", "2m1s", "2m2s"}[i])
		}
		if all := got.All(); !slices.Equal(slices.Sorted(slices.Values(all)), slices.Sorted(slices.Values(want))) {
			t.Errorf("got %q, want %q", all, want)
		}
		if s := f.Stats().Subscriptions[0]; s.Snoozed != 0 || s.Handled != 2 || s.Failed != 4 {
			t.Errorf("the stats are %+v", s.Counts)
		}
	})
}

// Once no event has come in time it stays so, whatever comes.
func (env *Env) TestATimeoutOfAWaitIsFinal(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		began := time.Now()
		var got Journal[string]
		for life := range 6 {
			f := env.openParcels(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				_, err := parcelOf(ctx, "parcel", e, time.Duration(life+3)*time.Minute) // only the first counts
				if !errors.Is(err, step.ErrNoEvent) {
					return err
				}
				got.Add(fmt.Sprint(time.Since(began).Round(time.Second), ": ", err))
				if e.Attempt < 5 {
					return ErrBoom
				}
				return nil
			}, steadily(4), unbroken)
			f.MustStart()
			if life == 0 {
				f.Publish(1)
			}
			time.Sleep(40 * time.Second)
			if life == 4 {
				scan(t, f.Bus, 1, 1)
			}
			if life == 5 {
				f.Idle()
				f.Stop()
				break
			}
			target = f.Killed()
		}
		all := got.All()
		if len(all) != 4 {
			t.Fatalf("it was over: %q", all)
		}
		for i, at := range []string{"3m0s", "3m1s", "3m2s", "3m3s"} {
			if want := at + `: step "parcel": no such event has come in time`; all[i] != want {
				t.Errorf("it was over: %q, want %q", all[i], want)
			}
		}
		env.wantDone(t, target)
	})
}

// Whoever publishes, and whenever: in a process that is killed, while there is none, in another one.
func (env *Env) TestAWaitSurvivesItsProcess(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		target := env.Target(t)
		var got Journal[int]
		for life := range 4 {
			f := env.openParcels(t, target)
			f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				code, err := parcelOf(ctx, "parcel", e, time.Hour)
				if err == nil {
					got.Add(code)
				}
				return err
			}, steadily(1))
			switch life {
			case 0:
				f.Publish(1, 2, 3)
				f.MustStart()
				time.Sleep(time.Second)
				scan(t, f.Bus, 1, 10) // and is killed at once
			case 1: // nobody dispatches
				scan(t, f.Bus, 2, 20)
			case 2:
				f.MustStart()
				time.Sleep(time.Second)
				other := env.openParcels(t, target)
				scan(t, other.Bus, 3, 30)
				Must(t, other.Shutdown(t.Context()))
				time.Sleep(time.Second)
				if all := slices.Compact(slices.Sorted(slices.Values(got.All()))); !slices.Equal(all, []int{10, 20, 30}) {
					t.Errorf("a second later these have come: %v", all)
				}
			case 3:
				f.MustStart()
				f.Idle()
			}
			if life < 3 {
				target = f.Killed()
			}
		}
		if all := slices.Sorted(slices.Values(got.All())); !slices.Equal(slices.Compact(all), []int{10, 20, 30}) {
			t.Errorf("got %v", all)
		}
		env.wantDone(t, target)
	})
}

// The first event of several ends the wait, and the others are there for other steps.
func (env *Env) TestTheFirstOfSeveralEventsEndsAWait(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		var got Journal[string]
		calls := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			calls++
			key := fmt.Sprint(e.Payload.Number)
			for _, name := range []string{"first", "second", "third"} {
				e, err := step.AwaitAny(ctx, name, time.Hour, step.Of(ScannedType, key), step.Of(LostType, key))
				if errors.Is(err, step.ErrNoEvent) {
					got.Add("none")
					continue
				}
				if err != nil {
					return err
				}
				switch parcel := e.Payload.(type) {
				case Scanned:
					got.Add(fmt.Sprint("scanned ", parcel.Code))
				case Lost:
					got.Add(fmt.Sprint("lost ", parcel.Code))
				default:
					t.Errorf("got a %T", parcel)
				}
			}
			return nil
		}, steadily(1))
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Minute)
		must := func(_ *runtime.Receipt, err error) { t.Helper(); Must(t, err) }
		must(runtime.Publish(t.Context(), f.Bus, LostType, Lost{"1", 1}))
		time.Sleep(time.Minute)
		scan(t, f.Bus, 1, 2)
		f.Idle()
		got.wants(t, "lost 1", "lost 1", "scanned 2", "lost 1", "scanned 2", "none")
		if calls != 4 {
			t.Errorf("%d calls, want one to begin, one for each event, and one after the time", calls)
		}
	})
}

// Two subscriptions and two orders wait for one event.
func (env *Env) TestAnEventWakesAllWhoWaitForIt(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		var got Journal[string]
		for _, name := range []string{"one", "two"} {
			f.Handle(name, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				e2, err := step.Await(ctx, "parcel", ScannedType, "same", time.Hour)
				if err == nil {
					got.Add(fmt.Sprintf("%s %d %d", name, e.Payload.Number, e2.Payload.Code))
				}
				return err
			})
		}
		for _, member := range []string{"a", "b"} {
			f.Handle(member, func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				e2, err := step.Await(ctx, "parcel", ScannedType, "same", time.Hour)
				if err == nil {
					got.Add(fmt.Sprintf("%s %d %d", member, e.Payload.Number, e2.Payload.Code))
				}
				return err
			}, runtime.InGroup("group"))
		}
		f.MustStart()
		f.Publish(1, 2)
		time.Sleep(time.Minute)
		scan(t, f.Bus, "same", 7)
		began := time.Now()
		f.Idle()
		want := []string{"a 1 7", "a 2 7", "b 1 7", "b 2 7", "one 1 7", "one 2 7", "two 1 7", "two 2 7"}
		if all := slices.Sorted(slices.Values(got.All())); !slices.Equal(all, want) || time.Since(began) > time.Second {
			t.Errorf("after %v got %q, want %q", time.Since(began), all, want)
		}
	})
}

// Steps of one handler that wait at the same time get different events.
func (env *Env) TestTwoStepsThatWaitForOneKeyGetTwoEvents(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		results := map[string][]int{}
		var mu sync.Mutex
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			var waiting sync.WaitGroup
			errs := make([]error, 3)
			for i := range errs {
				waiting.Go(func() {
					var code int
					if code, errs[i] = parcelOf(ctx, fmt.Sprint("parcel ", i), e, time.Hour); errs[i] == nil {
						mu.Lock()
						results[fmt.Sprint(i)] = append(results[fmt.Sprint(i)], code)
						mu.Unlock()
					}
				})
			}
			waiting.Wait()
			return errors.Join(errs...)
		})
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Second)
		for code := 1; code <= 3; code++ {
			scan(t, f.Bus, 1, code)
		}
		f.Idle()
		var all []int
		for name, codes := range results {
			if codes = slices.Compact(codes); len(codes) != 1 {
				t.Errorf("step %s gets %v", name, codes)
			}
			all = append(all, codes...)
		}
		if slices.Sort(all); !slices.Equal(all, []int{1, 2, 3}) {
			t.Errorf("the steps get %v", results)
		}
	})
}

// Whoever expires while it waits is a dead letter then, and not before.
func (env *Env) TestAnEventThatExpiresInAWaitIsADeadLetterThen(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := parcelOf(ctx, "parcel", e, time.Hour)
			return err
		}, runtime.WithExpiresAfter(6*time.Minute))
		f.MustStart()
		receipts := f.Publish(1, 2)
		began := time.Now()
		time.Sleep(5 * time.Minute)
		scan(t, f.Bus, 2, 1)
		outcome, err := receipts[0].Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Dead || d.Reason != "expired" || time.Since(began).Round(time.Second) != 6*time.Minute {
			t.Errorf("after %v the outcome is %+v", time.Since(began), d)
		}
		outcome, err = receipts[1].Wait(t.Context())
		Must(t, err)
		Must(t, outcome.Err())
	})
}

// What can never be waited for is a dead letter at once, and so is an event that cannot be read.
func (env *Env) TestAWaitThatCannotBeIsADeadLetter(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		unknown := runtime.Define(runtime.Spec[Scanned]{Name: "parcel.unknown", Settings: Within(30*time.Second, Exact()), AwaitBy: []string{"order_id"}})
		cases := []struct {
			reason, words string
			wait          func(ctx context.Context) error
		}{
			{event.ReasonPermanent, "await_by", func(ctx context.Context) error {
				_, err := step.Await(ctx, "x", PlacedType, "1", time.Hour)
				return err
			}},
			{event.ReasonPermanent, "empty key", func(ctx context.Context) error {
				_, err := step.Await(ctx, "x", ScannedType, "", time.Hour)
				return err
			}},
			{event.ReasonPermanent, "is not in the catalogue", func(ctx context.Context) error {
				_, err := step.Await(ctx, "x", unknown, "1", time.Hour)
				return err
			}},
			{event.ReasonPermanent, "waits for no event", func(ctx context.Context) error {
				_, err := step.AwaitAny(ctx, "x", time.Hour)
				return err
			}},
			{event.ReasonDecode, "of kind do", func(ctx context.Context) error {
				if _, err := step.Do(ctx, "x", func(context.Context) (int, error) { return 1, nil }); err == nil {
					return ErrBoom
				}
				_, err := step.Await(ctx, "x", ScannedType, "1", time.Hour)
				return err
			}},
			{event.ReasonDecode, "parcel.scanned", func(ctx context.Context) error {
				_, err := step.Await(ctx, "x", ScannedType, "broken", time.Hour)
				return err
			}},
			{event.ReasonPermanent, "used twice", func(ctx context.Context) error {
				step.Await(ctx, "x", ScannedType, "9", 0)
				_, err := step.Await(ctx, "x", ScannedType, "9", 0)
				return err
			}},
		}
		did := map[int]bool{}
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			n := e.Payload.Number
			if n == 4 && did[n] { // the second attempt waits where the first one has done something
				_, err := step.Await(ctx, "x", ScannedType, "1", time.Hour)
				return errors.Join(err, nil)
			}
			did[n] = true
			if err := cases[n].wait(ctx); err == nil {
				t.Errorf("%d: there is no error", n)
			} else if n != 4 {
				return nil // which does not matter
			}
			return ErrBoom
		}, steadily(3), unbroken)
		f.MustStart()
		receipts := f.Publish(Numbers(0, len(cases)-1)...)
		f.PublishRaw(ScannedType, `{"order_id":"broken","code":"seven"}`)
		for i, receipt := range receipts {
			outcome, err := receipt.Wait(t.Context())
			Must(t, err)
			if d := outcome.Deliveries[0]; !d.Dead || d.Reason != cases[i].reason || !strings.Contains(d.LastError, cases[i].words) {
				t.Errorf("%d: the outcome is %+v, want a dead letter for %s with %q", i, d, cases[i].reason, cases[i].words)
			}
		}
	})
}

// A wait is found by the name that it had before, also when its event has come.
func (env *Env) TestARenamedWaitIsFound(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.openParcels(t, env.Target(t))
		var got Journal[string]
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			name, opts := "parcel", []step.Option(nil)
			if e.Attempt > 1 {
				name, opts = "packet", []step.Option{step.Was("parcel")}
			}
			p, err := step.Await(ctx, name, ScannedType, "1", time.Hour, opts...)
			if err != nil {
				return err
			}
			got.Add(fmt.Sprint(name, " ", p.Payload.Code))
			if e.Attempt < 3 {
				return ErrBoom
			}
			return nil
		}, steadily(3), unbroken)
		f.MustStart()
		f.Publish(1)
		time.Sleep(time.Minute)
		scan(t, f.Bus, 1, 1)
		scan(t, f.Bus, 1, 2)
		f.Idle()
		got.wants(t, "packet 1", "packet 1")
	})
}
