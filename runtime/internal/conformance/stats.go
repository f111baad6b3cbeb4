package conformance

import (
	"context"
	"encoding/json"
	"expvar"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/observe"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestStatisticsCountPerTypeAndPerSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("a", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number == 1 && e.Attempt == 1 || e.Payload.Number == 2 {
				return ErrBoom
			}
			return nil
		}, runtime.WithRetry(retry.MaxAttempts(2)))
		_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "b", func(context.Context, runtime.Event[OrderEvent]) error { return nil })
		Must(t, err)
		f.MustStart()
		f.Publish(1, 2, 3)
		_, err = runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		f.Idle()

		stats := f.Stats()
		types := map[string]observe.Counts{
			"order.placed": {Handled: 5, Recovered: 1, Failed: 3, Retried: 2, Dead: 1, Unrecovered: 1},
			"order.paid":   {Handled: 1},
			"user.created": {},
		}
		published := map[string]uint64{"order.placed": 3, "order.paid": 1}
		for _, got := range stats.Types {
			if got.Counts != types[got.Type] || got.Published != published[got.Type] {
				t.Errorf("%s: %+v, want %+v and %d published", got.Type, got, types[got.Type], published[got.Type])
			}
		}
		if len(stats.Types) != len(types) {
			t.Errorf("%d types, want %d", len(stats.Types), len(types))
		}
		subscriptions := []observe.Counts{{Handled: 2, Recovered: 1, Failed: 3, Retried: 2, Dead: 1, Unrecovered: 1}, {Handled: 4}}
		for i, s := range stats.Subscriptions {
			if s.Counts != subscriptions[i] {
				t.Errorf("%s: %+v, want %+v", s.Name, s.Counts, subscriptions[i])
			}
		}
		a, b := stats.Subscriptions[0], stats.Subscriptions[1]
		if a.Name != "a" || a.Pattern != "order.placed" || b.Name != "b" || b.Pattern != "order.*" {
			t.Errorf("the subscriptions are %s for %s and %s for %s", a.Name, a.Pattern, b.Name, b.Pattern)
		}
		rates := observe.Rates{Retry: 2.0 / 5, SuccessAfterRetry: 0.5, Dead: 1.0 / 3}
		if a.Rates != rates || b.Rates != (observe.Rates{}) {
			t.Errorf("the rates are %+v and %+v, want %+v and none", a.Rates, b.Rates, rates)
		}
	})
}

// Every way in which an attempt can end, and the count that it goes into.
func (env *Env) TestEachOutcomeHasItsOwnCount(t *testing.T) {
	type handler = func(ctx context.Context, attempt int) error
	once := runtime.WithRetry(retry.MaxAttempts(1))
	for name, test := range map[string]struct {
		handler handler
		opts    []runtime.SubscribeOption
		want    observe.Counts
		runs    uint64 // in the histogram of handler times
	}{
		"a success": {
			func(context.Context, int) error { return nil }, nil,
			observe.Counts{Handled: 1}, 1,
		},
		"a success after two failures": {
			func(_ context.Context, attempt int) error {
				if attempt < 3 {
					return ErrBoom
				}
				return nil
			}, nil,
			observe.Counts{Handled: 1, Recovered: 1, Failed: 2, Retried: 2}, 3,
		},
		"failures to the end": {
			func(context.Context, int) error { return ErrBoom }, nil,
			observe.Counts{Failed: 4, Retried: 3, Dead: 1, Unrecovered: 1}, 4,
		},
		"a death without a retry": {
			func(context.Context, int) error { return ErrBoom }, []runtime.SubscribeOption{once},
			observe.Counts{Failed: 1, Dead: 1}, 1,
		},
		"a timeout": {
			func(ctx context.Context, _ int) error { <-ctx.Done(); return nil }, []runtime.SubscribeOption{once},
			observe.Counts{Failed: 1, Timeouts: 1, Slow: 1, Dead: 1}, 1,
		},
		"a handler that is left behind": {
			func(context.Context, int) error { time.Sleep(time.Hour); return nil }, []runtime.SubscribeOption{once},
			observe.Counts{Failed: 1, Timeouts: 1, Slow: 1, Dead: 1, Abandoned: 1}, 1,
		},
		"a slow success": {
			func(context.Context, int) error { time.Sleep(20 * time.Second); return nil }, nil,
			observe.Counts{Handled: 1, Slow: 1}, 1,
		},
		"an expired event": {
			func(context.Context, int) error { return ErrBoom },
			[]runtime.SubscribeOption{runtime.WithExpiresAfter(2 * time.Second)},
			observe.Counts{Failed: 2, Retried: 1, Dead: 1, Expired: 1, Unrecovered: 1}, 2,
		},
		"a discarded event": {
			func(context.Context, int) error { return runtime.Discard("not ours") }, nil,
			observe.Counts{Discarded: 1}, 1,
		},
		"an event that is discarded when it is retried": {
			func(_ context.Context, attempt int) error {
				if attempt == 1 {
					return ErrBoom
				}
				return runtime.Discard("not ours")
			}, nil,
			observe.Counts{Failed: 1, Retried: 1, Discarded: 1, Unrecovered: 1}, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
					return test.handler(ctx, e.Attempt)
				}, test.opts...)
				f.MustStart()
				f.Publish(1)
				f.Idle()
				time.Sleep(2 * time.Second) // who ignores its deadline is left behind
				stats := f.Stats()
				if got := stats.Subscriptions[0]; got.Counts != test.want || got.Handler.Count() != test.runs || got.Latency.Count() != test.want.Handled {
					t.Errorf("counted %+v, %d runs and %d latencies; want %+v and %d runs", got.Counts, got.Handler.Count(), got.Latency.Count(), test.want, test.runs)
				}
				if got := stats.Types[0].Counts; got != test.want {
					t.Errorf("of the type %+v is counted, want %+v", got, test.want)
				}
				time.Sleep(time.Hour)
				stats = f.Stats()
				if n, m := stats.Subscriptions[0].Abandoned, stats.Types[0].Abandoned; n != 0 || m != 0 {
					t.Errorf("%d and of the type %d handlers are still abandoned after they have returned", n, m)
				}
			})
		})
	}
}

func (env *Env) TestRatesAreSharesOfTheRightCounts(t *testing.T) {
	c := observe.Counts{Handled: 60, Recovered: 3, Failed: 30, Retried: 18, Timeouts: 5, Dead: 20, Discarded: 10, Unrecovered: 1, Snoozed: 1000, Expired: 8}
	want := observe.Rates{Retry: 0.18, Timeout: 0.05, SuccessAfterRetry: 0.75, Dead: 20.0 / 90}
	if got := c.Rates(); got != want || c.Attempts() != 100 {
		t.Errorf("the rates of %d attempts are %+v, want %+v of 100", c.Attempts(), got, want)
	}
	if got := (observe.Counts{}).Rates(); got != (observe.Rates{}) {
		t.Errorf("the rates of nothing are %+v", got)
	}
}

func (env *Env) TestASnoozeIsCountedAndUsesNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		snoozes := 0
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			if snoozes++; snoozes < 3 {
				return runtime.Snooze(time.Minute)
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got, want := f.Stats().Subscriptions[0].Counts, (observe.Counts{Handled: 1, Snoozed: 2}); got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	})
}

func (env *Env) TestTheMembersOfAGroupCountForThemselves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		for _, name := range []string{"first", "second", "third"} {
			f.Handle(name, func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				if name == "second" && e.Attempt < 3 {
					return ErrBoom
				}
				return nil
			}, runtime.InGroup("team"))
		}
		f.MustStart()
		f.Publish(1)
		f.Idle()
		want := map[string]observe.Counts{
			"first":  {Handled: 1},
			"second": {Handled: 1, Recovered: 1, Failed: 2, Retried: 2},
			"third":  {Handled: 1}, // it ran once, although that was the third attempt of the group
		}
		for _, s := range f.Stats().Subscriptions {
			if s.Counts != want[s.Name] || s.Group != "team" {
				t.Errorf("%s of group %q has %+v, want %+v", s.Name, s.Group, s.Counts, want[s.Name])
			}
		}
	})
}

func (env *Env) TestPublishedEventsAreCountedWhenTheyAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			Must(t, err)
			if e.Attempt < 3 {
				return ErrBoom
			}
			return nil
		})
		f.MustStart()
		for range 4 {
			_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithDedupeKey("the same"))
			Must(t, err)
		}
		f.Idle()
		placed, paid := f.Stats().Types[0], f.Stats().Types[1]
		if placed.Published != 1 || placed.Duplicates != 3 || placed.DuplicateRate != 0.75 {
			t.Errorf("%d published and %d duplicates (%v), want 1 and 3 (0.75)", placed.Published, placed.Duplicates, placed.DuplicateRate)
		}
		if paid.Published != 1 {
			t.Errorf("%d events of the handler are counted, want 1: two attempts have failed", paid.Published)
		}
	})
}

func (env *Env) TestLatencyIsMeasuredFromThePublicationAndHandlersFromTheirStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			time.Sleep(300 * time.Millisecond)
			if e.Attempt == 1 {
				return ErrBoom // tried again after a second
			}
			return nil
		})
		f.MustStart()
		f.Publish(1)
		f.Idle()
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{}, runtime.WithDelay(time.Hour))
		Must(t, err)
		f.Idle()
		s := f.Stats().Subscriptions[0]
		if n, mean := s.Handler.Count(), s.Handler.Mean(); n != 4 || mean != 300*time.Millisecond {
			t.Errorf("%d handlers took %v on average, want 4 and 300ms", n, mean)
		}
		// An hour of delay is not waited for by anybody.
		if n, mean := s.Latency.Count(), s.Latency.Mean().Round(10*time.Millisecond); n != 2 || mean != 1600*time.Millisecond {
			t.Errorf("%d events took %v on average, want 2 and 1.6s", n, mean)
		}
	})
}

func (env *Env) TestStatisticsShowPausesAndBreakers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenFragile(t)
		for _, name := range []string{"fragile", "reader"} {
			_, err := runtime.Subscribe(f.Bus, FragileType, name, func(context.Context, runtime.Event[OrderPlaced]) error {
				if name == "fragile" {
					return runtime.Permanent(ErrBoom)
				}
				return nil
			})
			Must(t, err)
		}
		f.MustStart()
		f.Fragile(1, 4)
		synctest.Wait()
		Must(t, f.PauseSubscription(t.Context(), "reader", ""))
		fragile, reader := f.Stats().Subscriptions[0], f.Stats().Subscriptions[1]
		if b := fragile.Breaker; b.State != "open" || !b.Until.After(time.Now()) || b.Samples != 4 || b.Failures != 4 {
			t.Errorf("the breaker is %+v", b)
		}
		if b := reader.Breaker; b.State != "closed" || !b.Until.IsZero() {
			t.Errorf("the other breaker is %+v", b)
		}
		if fragile.Paused || !reader.Paused {
			t.Errorf("paused are fragile: %v, reader: %v", fragile.Paused, reader.Paused)
		}
	})
}

func (env *Env) TestStatisticsShowTheSettingsInForce(t *testing.T) {
	f := env.Open(t)
	f.Handle("alone", func(context.Context, runtime.Event[OrderPlaced]) error { return nil }, runtime.WithTimeout(7*time.Second))
	f.Handle("first", func(context.Context, runtime.Event[OrderPlaced]) error { return nil },
		runtime.InGroup("team"), runtime.WithRetry(retry.MaxAttempts(9)), runtime.WithTimeout(3*time.Second))
	_, err := runtime.SubscribeNamespace(f.Bus, "order.*", "second", func(context.Context, runtime.Event[OrderEvent]) error { return nil }, runtime.InGroup("team"))
	Must(t, err)
	settings := func() map[string]string {
		found := map[string]string{}
		for _, s := range f.Stats().Subscriptions {
			for _, eventType := range slices.Sorted(maps.Keys(s.Settings)) {
				one := s.Settings[eventType]
				found[s.Name+" "+eventType] = fmt.Sprintf("%v, %d attempts", one.Timeout, one.Retry.MaxAttempts)
			}
		}
		return found
	}
	want := map[string]string{
		"alone order.placed":  "7s, 4 attempts",
		"first order.placed":  "3s, 9 attempts",
		"second order.placed": "30s, 9 attempts", // in the group the most patient member decides
		"second order.paid":   "30s, 4 attempts",
	}
	if diff := cmp.Diff(want, settings()); diff != "" {
		t.Error(diff)
	}

	tuned := Within(time.Minute, Exact(retry.MaxAttempts(2)))
	Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"order.placed": tuned}}))
	want["alone order.placed"] = "7s, 2 attempts"
	want["second order.placed"] = "1m0s, 9 attempts"
	if diff := cmp.Diff(want, settings()); diff != "" {
		t.Errorf("after tuning: %s", diff)
	}
	clear(f.Stats().Subscriptions[0].Settings) // a copy
	if diff := cmp.Diff(want, settings()); diff != "" {
		t.Errorf("after a caller has changed what it was given: %s", diff)
	}
}

func (env *Env) TestTheVariableIsTheStatisticsAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(15 * time.Millisecond)
			return nil
		})
		v := expvar.Func(func() any { return f.Stats() }) // what package expvar publishes
		f.MustStart()
		f.Publish(1)
		f.Idle()
		var got struct {
			Types         []struct{ Type string }
			Subscriptions []map[string]any
		}
		Must(t, json.Unmarshal([]byte(v.String()), &got))
		if len(got.Types) != 3 || got.Types[0].Type != "order.placed" {
			t.Errorf("the types are %v", got.Types)
		}
		want := map[string]any{
			"name": "reader", "pattern": "order.placed", "paused": false, "concurrency": 1.0,
			"breaker": map[string]any{"state": "closed", "samples": 1.0, "failures": 0.0},
			"handled": 1.0, "recovered": 0.0, "failed": 0.0, "retried": 0.0, "timeouts": 0.0, "dead": 0.0, "expired": 0.0,
			"discarded": 0.0, "unrecovered": 0.0, "snoozed": 0.0, "slow": 0.0, "abandoned": 0.0,
			"rates": map[string]any{"retry": 0.0, "timeout": 0.0, "success_after_retry": 0.0, "dead": 0.0},
			"handler": map[string]any{
				"count": 1.0, "seconds": 0.015, "mean": "15ms", "p50": "15ms", "p90": "15ms", "p99": "15ms",
				"buckets": []any{map[string]any{"up_to": "20ms", "count": 1.0}},
			},
			"settings": map[string]any{"order.placed": map[string]any{
				"retry": map[string]any{
					"max_attempts": 4.0, "backoff": "exponential", "base_delay": "1s", "max_delay": "30s", "multiplier": 2.0, "jitter": 0.0,
				},
				"timeout": "30s", "slow_after": "10s", "hold_unknown": "168h0m0s", "max_snoozes": 10000., "concurrency": 1.0,
			}},
		}
		reader := got.Subscriptions[0]
		delete(reader, "latency")
		if diff := cmp.Diff(want, reader); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestSettingsAsJSONSpeakTheWordsOfTheCatalogue(t *testing.T) {
	s := declare.DefaultSettings()
	s.SlowEventAfter, s.ExpiresAfter, s.Concurrency = time.Minute, time.Hour, 8
	s.Errors = []declare.ErrorRule{
		{Class: "card_declined", Permanent: true},
		{Class: "busy", Retry: []retry.Option{retry.BaseDelay(time.Minute), retry.MaxDelay(time.Hour)}},
	}
	s.Redrive = declare.Redrive{Reasons: []string{"timeout"}, Every: time.Hour, Max: 3}
	encoded, err := json.Marshal(s)
	Must(t, err)
	want := strings.Join([]string{
		`{"breaker":{"threshold":0.5,"min_samples":4,"window":"1m0s","open_for":"30s"},"concurrency":8`,
		`"errors":[{"class":"card_declined","permanent":true}`,
		`{"class":"busy","retry":{"max_attempts":4,"backoff":"exponential","base_delay":"1m0s","max_delay":"1h0m0s","multiplier":2,"jitter":0.1}}]`,
		`"expires_after":"1h0m0s","hold_unknown":"168h0m0s","max_snoozes":10000,"redrive":{"reasons":["timeout"],"every":"1h0m0s","max":3}`,
		`"retry":{"max_attempts":4,"backoff":"exponential","base_delay":"1s","max_delay":"30s","multiplier":2,"jitter":0.1}`,
		`"slow_after":"10s","slow_event_after":"1m0s","timeout":"30s"}`,
	}, ",")
	if string(encoded) != want {
		t.Errorf("got  %s\nwant %s", encoded, want)
	}
}
