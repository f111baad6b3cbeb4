package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
	"github.com/busgen/busgen/runtime/step"
)

func (env *Env) TestAnEventThatFailsForALongTimeIsReportedAsSlowOnce(t *testing.T) {
	minutes := runtime.WithRetry(retry.MaxAttempts(100), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute))
	for name, test := range map[string]struct {
		opts []runtime.Option
		at   int // minutes until it is slow; 0 for never
	}{
		"by default": {nil, 5},
		"earlier":    {[]runtime.Option{runtime.WithSlowEventAfter(2 * time.Minute)}, 2},
		"never":      {[]runtime.Option{runtime.WithSlowEventAfter(0)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told Journal[string]
				f := env.Open(t, append(test.opts, runtime.WithObserver(observe.Observer{SlowEvent: func(i observe.SlowEventInfo) {
					told.Add(fmt.Sprint(i.Subscription, " after ", i.Age.Round(time.Minute), ": ", i.Error))
					panic("boom") // harms nobody
				}}))...)
				handler := func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					switch {
					case time.Since(e.PublishedAt) > 20*time.Minute:
						return nil
					case e.Payload.Number == 2:
						return runtime.Snooze(30 * time.Second) // on purpose
					}
					return ErrBoom
				}
				f.Handle("a", handler, minutes)
				f.Handle("b", handler, minutes)
				f.Handle("quick", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
				f.MustStart()
				f.Publish(1, 2)
				if test.at > 0 {
					time.Sleep(time.Duration(test.at)*time.Minute - 40*time.Second)
					if got := told.All(); len(got) != 0 {
						t.Errorf("too early: %q", got)
					}
				}
				f.Idle()
				var want []string
				if test.at > 0 {
					for _, name := range []string{"a", "b"} {
						want = append(want, fmt.Sprint(name, " after ", time.Duration(test.at)*time.Minute, ": boom"))
					}
				}
				got := told.All()
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("observers are told %q, want %q", got, want)
				}
				logged := 0
				for _, line := range f.Log.Level(t, "WARN") {
					if line["msg"] == "an event is slow: it was tried in vain for a long time" {
						logged++
					}
				}
				if logged != len(want) {
					t.Errorf("the log has %d warnings, want %d", logged, len(want))
				}
			})
		})
	}
}

func (env *Env) TestAnEventThatDoesNotFailIsSlowToo(t *testing.T) {
	for name, batch := range map[string]bool{"one by one": false, "in batches": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var told Journal[string]
				f := env.Open(t, runtime.WithObserver(observe.Observer{SlowEvent: func(i observe.SlowEventInfo) {
					told.Add(fmt.Sprint(i.Subscription, " after ", i.Age.Round(time.Minute), ", at ", time.Since(began).Round(time.Minute), ": ", i.Error, i.Due.IsZero()))
				}}))
				work := func(n int) error {
					switch n {
					case 1:
						time.Sleep(10 * time.Minute)
					case 5:
						return runtime.Snooze(10 * time.Minute) // on purpose
					}
					return nil
				}
				if batch {
					f.Batches("a", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
						return work(events[0].Payload.Number)
					},
						runtime.WithBatch(1, 0), runtime.WithTimeout(time.Hour), runtime.WithConcurrency(1))
				} else {
					f.Handle("a", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						if e.Payload.Number == 5 && e.Attempt > 1 {
							return nil
						}
						return work(e.Payload.Number)
					}, runtime.WithTimeout(time.Hour), runtime.WithConcurrency(1))
				}
				f.MustStart()
				f.Publish(1, 2, 3) // 2 and 3 wait for 1
				f.Idle()
				f.Publish(4) // in time
				if !batch {
					f.Publish(5)
				}
				f.Idle()
				synctest.Wait() // observers are told beside the worker
				want := []string{"a after 5m0s, at 5m0s: true", "a after 10m0s, at 10m0s: true"}
				if got := told.All(); !slices.Equal(got, want) {
					t.Errorf("observers are told %q, want %q", got, want)
				}
				var logged []string
				for _, line := range f.Log.Level(t, "WARN") {
					if text := fmt.Sprint(line["msg"]); strings.HasPrefix(text, "an event is slow") {
						logged = append(logged, text)
					}
				}
				wantLogged := []string{"an event is slow: its handler has been at work for a long time", "an event is slow: it has waited for a long time before it was tried"}
				if !slices.Equal(logged, wantLogged) {
					t.Errorf("the log has %q, want %q", logged, wantLogged)
				}
			})
		})
	}
}

// A handler that waits in a step has not failed, and has been tried. After the wait it is slow when it fails for a long time.
func (env *Env) TestAnEventIsNotSlowBecauseItsHandlerWaitsInAStep(t *testing.T) {
	env.withSteps(t, func(t *testing.T) {
		f := env.Open(t)
		fails := 0
		f.Handle("fulfil", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if err := step.Sleep(ctx, "nap", time.Hour); err != nil {
				return err
			}
			if e.Payload.Number == 2 && fails < 9 {
				fails++
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(100), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute), retry.Jitter(0)), unbroken)
		f.MustStart()
		f.Publish(1, 2)
		time.Sleep(time.Minute)
		lags, err := f.Bus.Lag(t.Context())
		Must(t, err)
		if len(lags) != 1 || lags[0].Waiting != 2 || lags[0].Suspended != 2 {
			t.Errorf("two handlers wait in a step, and the lag is %+v", lags)
		}
		f.Idle()
		var logged []string
		for _, line := range f.Log.Level(t, "WARN") {
			if text := fmt.Sprint(line["msg"]); strings.HasPrefix(text, "an event is slow") {
				logged = append(logged, fmt.Sprintf("%s: attempt %v", text, line["attempt"]))
			}
		}
		if want := []string{"an event is slow: it was tried in vain for a long time: attempt 7"}; !slices.Equal(logged, want) {
			t.Errorf("the log has %q, want %q", logged, want)
		}
	})
}

// The settings of an event type, of a declared subscription and of a member of a group say when an event is slow.
// Where they say nothing, the option of the bus does.
func (env *Env) TestTheCatalogueSaysAfterWhatTimeAnEventIsSlow(t *testing.T) {
	settings := func(after time.Duration) declare.Settings {
		s := Within(30*time.Second, Exact(retry.MaxAttempts(100), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)))
		s.SlowEventAfter = after
		return s
	}
	for name, test := range map[string]struct {
		bus, placed, declared, first, second int // minutes; 0 for nothing, -1 for never
		want                                 map[string]int
	}{
		"nothing but the bus":     {7, 0, 0, 0, 0, map[string]int{"plain": 7, "declared": 7, "first": 7}},
		"the event type":          {7, 2, 0, 0, 0, map[string]int{"plain": 2, "declared": 7, "first": 7}},
		"later than the bus says": {2, 7, 7, 7, 7, map[string]int{"plain": 7, "declared": 7, "first": 7}},
		"never":                   {2, -1, 3, -1, 3, map[string]int{"declared": 3}},
		"not by the bus":          {-1, 0, 3, 0, 3, map[string]int{"declared": 3}},
		"a member, each its own":  {2, 0, 0, 4, 3, map[string]int{"plain": 2, "declared": 2, "first": 4}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				minutes := func(n int) time.Duration {
					if n < 0 {
						return runtime.Forever
					}
					return time.Duration(n) * time.Minute
				}
				placed := runtime.Define(runtime.Spec[OrderPlaced]{
					Name: "order.placed", Settings: settings(minutes(test.placed)),
					Subscriptions: []declare.Subscription{
						{Name: "declared", Settings: settings(minutes(test.declared))},
						{Name: "first", Settings: settings(minutes(test.first)), Group: "chain"},
						{Name: "second", Settings: settings(minutes(test.second)), Group: "chain"},
					},
				})
				var told Journal[string]
				f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(placed),
					runtime.WithSlowEventAfter(max(minutes(test.bus), 0)%runtime.Forever),
					runtime.WithObserver(observe.Observer{SlowEvent: func(i observe.SlowEventInfo) {
						told.Add(fmt.Sprint(i.Subscription, " after ", i.Age.Round(time.Minute)))
					}}))
				for _, name := range []string{"plain", "declared", "first", "second"} {
					_, err := runtime.Subscribe(f.Bus, placed, name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						if name == "second" || time.Since(e.PublishedAt) > 20*time.Minute {
							return nil
						}
						return ErrBoom
					})
					Must(t, err)
				}
				f.MustStart()
				_, err := runtime.Publish(t.Context(), f.Bus, placed, OrderPlaced{Number: 1})
				Must(t, err)
				f.Idle()
				var want []string
				for name, n := range test.want {
					want = append(want, fmt.Sprint(name, " after ", time.Duration(n)*time.Minute))
				}
				got := told.All()
				slices.Sort(got)
				if slices.Sort(want); !slices.Equal(got, want) {
					t.Errorf("observers are told %q, want %q", got, want)
				}
			})
		})
	}
}

func (env *Env) TestATunedSlowEventAppliesFromTheNextFailureOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told Journal[time.Duration]
		f := env.Open(t, runtime.WithSlowEventAfter(0), runtime.WithObserver(observe.Observer{SlowEvent: func(i observe.SlowEventInfo) {
			told.Add(i.Age.Round(time.Minute))
		}}))
		f.Handle("a", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if time.Since(e.PublishedAt) > 20*time.Minute {
				return nil
			}
			return ErrBoom
		}, runtime.WithRetry(retry.MaxAttempts(100), retry.BaseDelay(time.Minute), retry.MaxDelay(time.Minute)))
		f.MustStart()
		f.Publish(1)
		time.Sleep(10*time.Minute + 30*time.Second)
		s := PlacedType.Any().Settings()
		s.SlowEventAfter = 2 * time.Minute
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{PlacedType.Name(): s}}))
		f.Idle()
		if got := told.All(); !slices.Equal(got, []time.Duration{11 * time.Minute}) {
			t.Errorf("the event is reported at %v, want at its next failure, after 11 minutes", got)
		}
		s.SlowEventAfter = -1
		if err := f.Tune(runtime.Tuning{Types: map[string]declare.Settings{PlacedType.Name(): s}}); err == nil {
			t.Error("a negative time is accepted")
		}
	})
}
