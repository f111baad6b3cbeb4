package conformance

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// A sample is a delivery: no event opens a breaker by its own retries, and no other
// event waits for it.
func (env *Env) TestOneFailingEventDoesNotOpenTheBreaker(t *testing.T) {
	for name, opts := range map[string][]runtime.SubscribeOption{
		"alone":      nil,
		"in a group": {runtime.InGroup("members")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var failed, handled Journal[time.Duration]
				began := time.Now()
				f := env.openBuiltin(t, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					if e.Payload.Number == 1 {
						failed.Add(time.Since(began).Round(time.Millisecond))
						return ErrBoom
					}
					handled.Add(time.Since(e.PublishedAt).Round(time.Millisecond))
					return nil
				}, append(opts, runtime.WithRetry(retry.MaxAttempts(7)))...)
				began = time.Now()
				f.builtin(1)
				for n := range 7 { // after 9 s and each tenth second: four failures are within a minute
					time.Sleep(9 * time.Second)
					f.builtin(10 + n)
					time.Sleep(time.Second)
				}
				f.Idle()
				if want := seconds(0, 1, 3, 7, 15, 31, 61); !slices.Equal(failed.All(), want) {
					t.Errorf("the failing event ran at %v, want %v", failed.All(), want)
				}
				if want := make([]time.Duration, 7); !slices.Equal(handled.All(), want) {
					t.Errorf("the innocent events waited for %v", handled.All())
				}
				f.neverOpened()
			})
		})
	}
}

// Each kind of outcome is one sample of the breaker, or none, as Stats shows it.
func (env *Env) TestOutcomesThatCountForABreaker(t *testing.T) {
	type handler = func(ctx context.Context) error
	for name, test := range map[string]struct {
		do                handler
		undecodable       bool
		samples, failures int
	}{
		"a success":                      {do: func(context.Context) error { return nil }, samples: 1},
		"a discard":                      {do: func(context.Context) error { return runtime.Discard("no") }, samples: 1},
		"a snooze":                       {do: func(context.Context) error { return runtime.Snooze(time.Hour) }},
		"an error":                       {do: func(context.Context) error { return ErrBoom }, samples: 1, failures: 1},
		"a RetryAfter":                   {do: func(context.Context) error { return runtime.RetryAfter(time.Hour, ErrBoom) }, samples: 1, failures: 1},
		"a permanent one":                {do: func(context.Context) error { return runtime.Permanent(ErrBoom) }, samples: 1, failures: 1},
		"a panic":                        {do: func(context.Context) error { panic("boom") }, samples: 1, failures: 1},
		"an exit":                        {do: func(context.Context) error { goruntime.Goexit(); return nil }, samples: 1, failures: 1},
		"a timeout":                      {do: func(ctx context.Context) error { <-ctx.Done(); return nil }, samples: 1, failures: 1},
		"a payload that does not decode": {do: func(context.Context) error { return nil }, undecodable: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.ReopenWith(t, env.Target(t), builtin)
				_, err := runtime.Subscribe(f.Bus, builtinType, "any", func(ctx context.Context, _ runtime.Event[OrderPlaced]) error {
					return test.do(ctx)
				}, runtime.WithTimeout(time.Second), runtime.WithRetry(retry.BaseDelay(time.Hour), retry.MaxDelay(time.Hour)))
				Must(t, err)
				if test.undecodable {
					f.PublishRaw(builtinType, `{"order_id":5}`)
				} else {
					f.builtin(1)
				}
				f.MustStart()
				time.Sleep(1500 * time.Millisecond)
				b := f.Stats().Subscriptions[0].Breaker
				if b.Samples != test.samples || b.Failures != test.failures {
					t.Errorf("%d samples, %d failures; want %d and %d", b.Samples, b.Failures, test.samples, test.failures)
				}
				if (b.LastError != "") != (test.failures > 0) {
					t.Errorf("the last error is %q", b.LastError)
				}
			})
		})
	}
}

func (env *Env) TestTheLogSaysWhyABreakerIsOpenAndUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		f := env.openBuiltin(t, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if broken.Load() {
				return runtime.Permanent(fmt.Errorf("order %d: %w", e.Payload.Number, ErrBoom))
			}
			return nil
		}, runtime.WithBreaker(breaker.OpenFor(2*time.Minute))) // longer than its window
		began := time.Now()
		for n := range 8 {
			f.builtin(n)
		}
		time.Sleep(4*time.Minute + time.Second) // two probes have failed
		if b := f.Stats().Subscriptions[0].Breaker; b.State != "open" || !b.Since.Equal(began) || b.LastError != "order 5: boom" {
			t.Errorf("the breaker is %+v", b)
		}
		broken.Store(false)
		f.Idle()
		at := func(d time.Duration) string { return began.Add(d).Format(time.RFC3339Nano) }
		var got []string
		for _, line := range append(f.Log.Level(t, "WARN"), f.Log.Level(t, "INFO")...) {
			if msg := line["msg"].(string); strings.Contains(msg, "circuit breaker") {
				delete(line, "time")
				delete(line, "level")
				got = append(got, fmt.Sprint(line))
			}
		}
		const opens, stays = "circuit breaker opens: the handler fails too often; its events wait", "circuit breaker stays open: the event that it tried has failed"
		line := func(more ...any) string {
			all := map[string]any{"subscription_id": "failing"}
			for i := 0; i < len(more); i += 2 {
				all[more[i].(string)] = more[i+1]
			}
			return fmt.Sprint(all)
		}
		tries := line("msg", "circuit breaker tries one event")
		want := []string{
			line("msg", opens, "deliveries", 4, "failures", 4, "until", at(2*time.Minute), "error", "order 3: boom"),
			line("msg", stays, "open_since", at(0), "until", at(4*time.Minute), "error", "order 4: boom"),
			line("msg", stays, "open_since", at(0), "until", at(6*time.Minute), "error", "order 5: boom"),
			tries, tries, tries,
			line("msg", "circuit breaker is closed again", "open_since", at(0)),
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A subscription by pattern has one breaker. If its types have different ones, it has
// the built-in settings.
func (env *Env) TestAPatternOverDifferentBreakersHasTheDefaultBreaker(t *testing.T) {
	define := func(name string, opts ...breaker.Option) runtime.Definition {
		s := declare.DefaultSettings()
		s.Retry, s.Breaker = Exact(retry.MaxAttempts(1)), s.Breaker.With(opts...)
		return runtime.Define(runtime.Spec[OrderPlaced]{Name: name, Settings: s})
	}
	never, early := []breaker.Option{breaker.Off()}, []breaker.Option{breaker.MinSamples(2), breaker.OpenFor(time.Hour)}
	for name, test := range map[string]struct {
		first, second []breaker.Option
		opts          []runtime.SubscribeOption
		opensAfter    int
		openFor       time.Duration
	}{
		"both alike":                     {early, early, nil, 2, time.Hour},
		"the first is off":               {never, early, nil, 4, 30 * time.Second},
		"the second is off":              {early, never, nil, 4, 30 * time.Second},
		"the first is off, with options": {never, early, []runtime.SubscribeOption{runtime.WithBreaker(breaker.MinSamples(3))}, 3, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first, second := define("stock.a", test.first...), define("stock.b", test.second...)
				third := define("stock.c", test.first...) // like the first
				f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(first, second, third))
				_, err := runtime.SubscribePattern(f.Bus, "stock.*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return ErrBoom }, test.opts...)
				Must(t, err)
				f.MustStart()
				for n := 1; ; n++ {
					_, err := runtime.Publish(t.Context(), f.Bus, first.(*runtime.EventType[OrderPlaced]), OrderPlaced{Number: n})
					Must(t, err)
					time.Sleep(time.Second) // a reader that meets a writer may sleep for a moment
					if b := f.Stats().Subscriptions[0].Breaker; b.State == "open" {
						if n != test.opensAfter || b.Until.Sub(b.Since) != test.openFor {
							t.Errorf("it opened after %d failures for %v, want %d and %v", n, b.Until.Sub(b.Since), test.opensAfter, test.openFor)
						}
						break
					}
					if n == 10 {
						t.Fatal("it does not open")
					}
				}
			})
		})
	}
}
