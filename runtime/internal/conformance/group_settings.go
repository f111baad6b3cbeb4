package conformance

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// What a declared member overrides of its event counts as the option does.
func (env *Env) TestSettingsOfDeclaredMembersAreMergedAsOptionsAre(t *testing.T) {
	type setting func(*declare.Settings)
	attempts := func(n int) setting { return func(s *declare.Settings) { s.Retry.MaxAttempts = n } }
	delay := func(d time.Duration) setting { return func(s *declare.Settings) { s.Retry.BaseDelay = d } }
	concurrency := func(n int) setting { return func(s *declare.Settings) { s.Concurrency = n } }
	for name, test := range map[string]struct {
		base    []setting // of the event type
		members [2][]setting
		opts    []runtime.SubscribeOption // of the second
		want    declare.Settings          // its fields that are not zero count
		more    int                       // concurrency
	}{
		"nothing":                               {more: 1, want: declare.Settings{Retry: retry.Policy{MaxAttempts: 3, BaseDelay: time.Second}}},
		"one counts alone, also if it is lower": {members: [2][]setting{{attempts(2)}, nil}, more: 1, want: declare.Settings{Retry: retry.Policy{MaxAttempts: 2, BaseDelay: time.Second}}},
		"of two the more permissive":            {members: [2][]setting{{attempts(5), delay(3 * time.Second)}, {attempts(4), delay(2 * time.Second)}}, more: 1, want: declare.Settings{Retry: retry.Policy{MaxAttempts: 5, BaseDelay: 2 * time.Second}}},
		"an option overrides its own":           {members: [2][]setting{nil, {attempts(9)}}, opts: []runtime.SubscribeOption{runtime.WithRetry(retry.MaxAttempts(4))}, more: 1, want: declare.Settings{Retry: retry.Policy{MaxAttempts: 4, BaseDelay: time.Second}}},
		"expiry and snoozes":                    {members: [2][]setting{{func(s *declare.Settings) { s.ExpiresAfter, s.MaxSnoozes = time.Hour, 7 }}, nil}, more: 1, want: declare.Settings{ExpiresAfter: time.Hour, MaxSnoozes: 7}},
		"concurrency: what a member asks for":   {base: []setting{concurrency(2)}, members: [2][]setting{{concurrency(4)}, {concurrency(2)}}, more: 4},
		"concurrency: less, too":                {base: []setting{concurrency(8)}, members: [2][]setting{{concurrency(1)}, {concurrency(8)}}, more: 1},
		"concurrency: nobody asks":              {base: []setting{concurrency(8)}, members: [2][]setting{{concurrency(8)}, {concurrency(8)}}, more: 8},
		"concurrency: an option wins":           {members: [2][]setting{{concurrency(4)}, nil}, opts: []runtime.SubscribeOption{runtime.WithConcurrency(2)}, more: 2},
	} {
		t.Run(name, func(t *testing.T) {
			with := func(settings ...setting) declare.Settings {
				s := Within(30*time.Second, Exact(retry.MaxAttempts(3)))
				for _, set := range settings {
					set(&s)
				}
				return s
			}
			declared := []declare.Subscription{
				{Name: "A", Settings: with(test.members[0]...), Group: "chain"}, {Name: "B", Settings: with(test.members[1]...), Group: "chain"},
			}
			placed := runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: with(test.base...), Subscriptions: declared})
			f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(placed))
			nothing := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
			_, err := runtime.Subscribe(f.Bus, placed, "B", nothing, test.opts...)
			Must(t, err)
			_, err = runtime.Subscribe(f.Bus, placed, "A", nothing)
			Must(t, err)
			one := f.Stats().Subscriptions[0]
			got := one.Settings["order.placed"]
			differs := func(what string, got, want int) {
				if want != 0 && got != want {
					t.Errorf("%s is %d, want %d", what, got, want)
				}
			}
			differs("max_attempts", got.Retry.MaxAttempts, test.want.Retry.MaxAttempts)
			differs("base_delay", int(got.Retry.BaseDelay), int(test.want.Retry.BaseDelay))
			differs("expires_after", int(got.ExpiresAfter), int(test.want.ExpiresAfter))
			differs("max_snoozes", got.MaxSnoozes, test.want.MaxSnoozes)
			differs("concurrency", one.Concurrency, test.more)
		})
	}
}

func (env *Env) TestTimeoutsAndBreakersOfDeclaredMembersAreTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		declared := members("chain", "A", "B")
		declared[1].Settings.Timeout = time.Second
		declared[1].Settings.Breaker = breaker.Policy{Threshold: 0.5, MinSamples: 1, Window: time.Hour, OpenFor: time.Minute}
		c := chainOf(declared, nil)
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var s steps
		c.subscribe(f, &s, "A", func(runtime.Event[OrderPlaced]) error { time.Sleep(5 * time.Second); return nil })
		_, err := runtime.Subscribe(f.Bus, c.placed, "B", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Attempt == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		})
		Must(t, err)
		f.MustStart()
		began := time.Now()
		c.publish(f, 1)
		f.Idle()
		if got := time.Since(began).Round(time.Second); got != 66*time.Second { // 5 s of A, 1 s of B, and a minute of its breaker
			t.Errorf("it took %v", got)
		}
		if got := s.All(); len(got) != 1 {
			t.Errorf("A ran %d times, want once", len(got))
		}
	})
}

func (env *Env) TestTuningReachesTheMembersOfADeclaredGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chainOf(members("chain", "A", "B"), nil)
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var s steps
		c.subscribe(f, &s, "A", nil)
		c.subscribe(f, &s, "B", func(runtime.Event[OrderPlaced]) error { return ErrBoom })
		settings := members("chain", "B")[0].Settings
		settings.Retry.MaxAttempts = 5
		Must(t, f.Tune(runtime.Tuning{Subscriptions: map[string]declare.Settings{"B": settings}}))
		f.MustStart()
		c.publish(f, 1)
		f.Idle()
		if a, b := len(s.of("A")), len(s.of("B")); a != 1 || b != 5 {
			t.Errorf("A ran %d times and B %d, want 1 and 5", a, b)
		}
	})
}

func (env *Env) TestTheRedriveOfADeclaredMemberIsThatOfItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		declared := members("chain", "A", "B")
		declared[0].Settings.Redrive = declare.Redrive{Every: time.Minute, Max: 2}
		c := chainOf(declared, nil)
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var s steps
		c.subscribe(f, &s, "A", nil)
		c.subscribe(f, &s, "B", func(runtime.Event[OrderPlaced]) error { return runtime.Permanent(ErrBoom) })
		f.MustStart()
		c.publish(f, 1)
		time.Sleep(time.Hour)
		if a, b := len(s.of("A")), len(s.of("B")); a != 1 || b != 3 {
			t.Errorf("A ran %d times and B %d, want once and three times", a, b)
		}
	})
}
