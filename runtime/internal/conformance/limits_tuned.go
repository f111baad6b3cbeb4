package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
)

// withLimits opens a bus whose catalogue has limits.
func (env *Env) withLimits(t *testing.T, limits []declare.Limit, opts ...runtime.Option) *Fixture {
	t.Helper()
	return env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(PlacedType, PaidType, UserType).WithLimits(limits...), opts...)
}

// tuneUses lets the deliveries of user.created need these limits.
func (f *Fixture) tuneUses(uses ...declare.LimitUse) {
	f.T.Helper()
	settings := UserType.Any().Settings()
	settings.Limits = uses
	Must(f.T, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"user.created": settings}}))
}

// Deliveries are in memory when the limit is tuned in, and when it is tuned out again.
func (env *Env) TestDeliveriesInMemoryNeedTheLimitsThatAreTunedIn(t *testing.T) {
	for _, use := range []declare.LimitUse{{Limit: "one"}, {Limit: "one", By: "name"}} {
		for _, concurrency := range []int{1, 4} {
			t.Run(fmt.Sprintf("%+v with concurrency %d", use, concurrency), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.withLimits(t, []declare.Limit{{Name: "one", AtOnce: 1}})
					var began Journal[time.Duration]
					start := time.Now()
					f.handleUsers("sub", func(context.Context, runtime.Event[UserCreated]) error {
						began.Add(time.Since(start).Round(time.Second))
						time.Sleep(10 * time.Second)
						return nil
					}, runtime.WithConcurrency(concurrency))
					f.users(slices.Repeat([]string{"a"}, concurrency+5)...)
					f.MustStart()
					time.Sleep(time.Second)
					f.tuneUses(use)
					one, err := f.Limiter("one")
					Must(t, err)
					key := ""
					if use.By != "" {
						key = "a"
					}
					go one.DoFor(t.Context(), key, func(context.Context) error { time.Sleep(24 * time.Second); return nil })
					time.Sleep(59 * time.Second)
					// It has room from 25s on, for one at a time.
					if got, want := began.All()[concurrency:], []time.Duration{25 * time.Second, 35 * time.Second, 45 * time.Second, 55 * time.Second}; !slices.Equal(got, want) {
						t.Errorf("with the limit they have begun at %v, want %v", got, want)
					}
					f.tuneUses() // one runs and one waits, if nothing else holds it
					f.users(slices.Repeat([]string{"a"}, concurrency)...)
					time.Sleep(20 * time.Duration(concurrency+5) * time.Second)
					if got := len(began.All()); got != 2*concurrency+5 {
						t.Errorf("%d have begun, want %d", got, 2*concurrency+5)
					}
				})
			})
		}
	}
}

func (env *Env) TestWhatWaitsForALimitBeginsWhenThatIsTunedOut(t *testing.T) {
	for _, use := range []declare.LimitUse{{Limit: "one"}, {Limit: "one", By: "name"}} {
		synctest.Test(t, func(t *testing.T) {
			f := env.withLimits(t, []declare.Limit{{Name: "one", AtOnce: 1}, {Name: "other", AtOnce: 1}})
			one, err := f.Limiter("one")
			Must(t, err)
			for _, key := range []string{"", "a"} {
				go one.DoFor(t.Context(), key, func(ctx context.Context) error { <-ctx.Done(); return nil })
			}
			synctest.Wait()
			f.tuneUses(use)
			var seen Journal[string]
			f.handleUsers("sub", func(_ context.Context, e runtime.Event[UserCreated]) error { seen.Add(e.Payload.Name); return nil }, runtime.WithConcurrency(4))
			f.users("a", "a", "a")
			f.MustStart()
			time.Sleep(time.Minute)
			if limited := f.Stats().Subscriptions[0].Limited; limited != 3 || len(seen.All()) != 0 {
				t.Fatalf("%d wait and %v were handled", limited, seen.All())
			}
			f.tuneUses(declare.LimitUse{Limit: "other"})
			time.Sleep(time.Second)
			if n := len(seen.All()); n != 3 {
				t.Errorf("%d were handled without the limit, want 3", n)
			}
		})
	}
}

func (env *Env) TestTheNumbersOfALimitAreTunedWhileTheBusRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		built := declare.Limit{Name: "room", AtOnce: 1}
		f := env.withLimits(t, []declare.Limit{built})
		tune := func(l declare.Limit) {
			Must(t, f.Tune(runtime.Tuning{Limits: map[string]declare.Limit{l.Name: l}}))
		}
		room, err := f.Limiter("room")
		Must(t, err)
		var begun Journal[time.Duration]
		start := time.Now()
		use := func(context.Context) error {
			begun.Add(time.Since(start).Round(time.Second))
			time.Sleep(10 * time.Second)
			return nil
		}
		for range 8 {
			go room.Do(t.Context(), use)
		}
		time.Sleep(time.Second)
		tune(declare.Limit{Name: "room", AtOnce: 3}) // two more at once, at 1s
		time.Sleep(time.Second)
		tune(declare.Limit{Name: "room", AtOnce: 2}) // at 10s one ends, and at 11s two
		time.Sleep(18 * time.Second)
		synctest.Wait()
		if got, want := begun.All(), []time.Duration{0, 1e9, 1e9, 11e9, 11e9}; !slices.Equal(got, want) {
			t.Errorf("they have begun at %v, want %v", got, want)
		}
		time.Sleep(10 * time.Second)
		Must(t, f.Tune(runtime.Tuning{})) // the numbers of the program
		for range 2 {
			go room.Do(t.Context(), use)
		}
		time.Sleep(50 * time.Second)
		if got, want := begun.All()[7:], []time.Duration{31e9, 41e9, 51e9}; !slices.Equal(got, want) {
			t.Errorf("with the numbers of the program they have begun at %v, want %v", got, want)
		}
	})
}

func (env *Env) TestTheRateOfALimitIsTunedWhileTheBusRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.withLimits(t, []declare.Limit{{Name: "mail", Rate: 2, Per: 2 * time.Hour}})
		tune := func(l declare.Limit) {
			Must(t, f.Tune(runtime.Tuning{Limits: map[string]declare.Limit{l.Name: l}}))
		}
		start := time.Now()
		began := f.times("sub", runtime.WithConcurrency(4), limitedBy("mail"))
		f.users(slices.Repeat([]string{"a"}, 12)...)
		f.MustStart()
		time.Sleep(time.Minute)
		tune(declare.Limit{Name: "mail", Rate: 2, Per: 2 * time.Second}) // it is empty: one each second
		time.Sleep(4500 * time.Millisecond)
		tune(declare.Limit{Name: "mail", Rate: 1, Per: time.Minute})
		time.Sleep(3 * time.Minute)
		tune(declare.Limit{Name: "mail", Rate: 1000, Per: time.Second})
		f.Idle()
		var got []string
		for _, at := range began.All() {
			got = append(got, at.Sub(start).Round(100*time.Millisecond).String())
		}
		want := "0s 0s 1m1s 1m2s 1m3s 1m4s"
		if text := strings.Join(got, " "); len(got) != 12 || !strings.HasPrefix(text, want+" ") {
			t.Errorf("they have begun at %s, want %s", text, want)
		}
		slow := began.All()[6:]
		for i, at := range slow[:min(len(slow), 3)] { // the first one is due as before
			if i > 0 && at.Sub(slow[i-1]) < time.Minute {
				t.Errorf("with one a minute they have begun at %v", got)
			}
		}
		if took := time.Since(start); took > 5*time.Minute {
			t.Errorf("it has taken %v", took)
		}
	})
}

func (env *Env) TestTuningOfALimitIsRefusedThatNeedsABuild(t *testing.T) {
	f := env.withLimits(t, []declare.Limit{{Name: "room", AtOnce: 1}, {Name: "mail", Rate: 1, Per: time.Second}})
	for want, tuned := range map[string]map[string]declare.Limit{
		`there is no limit "rom"; did you mean "room"?`: {"rom": {Name: "rom", AtOnce: 1}},
		"AtOnce is -1": {"room": {Name: "room", AtOnce: -1}},
		"Rate can be changed while the bus runs, and not added or removed":   {"room": {Name: "room", AtOnce: 1, Rate: 1, Per: time.Second}},
		"AtOnce can be changed while the bus runs, and not added or removed": {"mail": {Name: "mail", AtOnce: 1, Rate: 1, Per: time.Second}},
		`its name is "mail"`: {"room": {Name: "mail", AtOnce: 1}},
	} {
		if err := f.Tune(runtime.Tuning{Limits: tuned}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", tuned, err, want)
		}
	}
	var unknown *runtime.UnknownLimitError
	if err := f.Tune(runtime.Tuning{Limits: map[string]declare.Limit{"rom": {Name: "rom", AtOnce: 1}}}); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
}

// What the program says overrides the catalogue.
func (env *Env) TestALimitOfAnOptionIsNotTuned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.withLimits(t, []declare.Limit{{Name: "room", AtOnce: 5}}, runtime.WithLimit(declare.Limit{Name: "room", AtOnce: 2}))
		Must(t, f.Tune(runtime.Tuning{Limits: map[string]declare.Limit{"room": {Name: "room", AtOnce: 7}}}))
		var g gauge
		f.handleUsers("sub", func(context.Context, runtime.Event[UserCreated]) error { g.work(); return nil }, runtime.WithConcurrency(8), limitedBy("room"))
		f.users(slices.Repeat([]string{"a"}, 8)...)
		f.MustStart()
		f.Idle()
		if g.most.Load() != 2 {
			t.Errorf("%d ran at once, want 2", g.most.Load())
		}
	})
}

// Each kind of subscription follows: the limit has room for one at a time.
func (env *Env) TestEveryKindOfSubscriptionFollowsALimitThatIsTunedIn(t *testing.T) {
	for kind, opts := range map[string][]runtime.SubscribeOption{
		"durable":   nil,
		"strict":    {runtime.WithStrictOrder()},
		"ephemeral": {runtime.Ephemeral()},
		"group":     {runtime.InGroup("all")},
	} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.withLimits(t, []declare.Limit{{Name: "one", AtOnce: 1}})
				var began Journal[time.Duration]
				start := time.Now()
				f.handleUsers("sub", func(context.Context, runtime.Event[UserCreated]) error {
					began.Add(time.Since(start).Round(time.Second))
					time.Sleep(10 * time.Second)
					return nil
				}, append(opts, runtime.WithConcurrency(3))...)
				f.MustStart()
				f.users(slices.Repeat([]string{"a"}, 6)...)
				time.Sleep(time.Second)
				before := len(began.All()) // a strict order lets one begin
				f.tuneUses(declare.LimitUse{Limit: "one", By: "name"})
				time.Sleep(time.Minute + 10*time.Second)
				all := began.All()
				for i := before + 1; i < len(all); i++ {
					if all[i]-all[i-1] < 10*time.Second {
						t.Errorf("they have begun at %v", all)
						break
					}
				}
				if len(all) != 6 {
					t.Errorf("%d have begun, want 6", len(all))
				}
			})
		})
	}
}

func (env *Env) TestABatchFollowsALimitThatIsTunedInWhileItWaitsForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.withLimits(t, []declare.Limit{{Name: "one", AtOnce: 1}, {Name: "other", AtOnce: 1}})
		hold := func(name string, d time.Duration) {
			l, err := f.Limiter(name)
			Must(t, err)
			go l.Do(t.Context(), func(context.Context) error { time.Sleep(d); return nil })
		}
		hold("one", time.Minute)
		hold("other", 20*time.Second)
		synctest.Wait()
		f.tuneUses(declare.LimitUse{Limit: "one"})
		var began Journal[time.Duration]
		start := time.Now()
		_, err := runtime.SubscribeBatch(f.Bus, UserType, "sub", func(context.Context, []runtime.Event[UserCreated]) error {
			began.Add(time.Since(start).Round(time.Second))
			return nil
		}, runtime.WithBatch(3, time.Second))
		Must(t, err)
		f.users("a", "b", "c")
		f.MustStart()
		time.Sleep(10 * time.Second)
		f.tuneUses(declare.LimitUse{Limit: "other"})
		time.Sleep(50 * time.Second)
		if got, want := began.All(), []time.Duration{20 * time.Second}; !slices.Equal(got, want) {
			t.Errorf("the batch has begun at %v, want %v", got, want)
		}
	})
}

// A rate that is lowered after it was used up gives no new burst.
func (env *Env) TestALowerRateGivesNoNewBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.withLimits(t, []declare.Limit{{Name: "rate", Rate: 100, Per: time.Second}})
		rate, err := f.Limiter("rate")
		Must(t, err)
		use := func(within time.Duration) (n int) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			for rate.Do(ctx, func(context.Context) error { return nil }) == nil {
				n++
			}
			return n
		}
		for use(200*time.Millisecond) > 25 { // until the burst is used up
		}
		Must(t, f.Tune(runtime.Tuning{Limits: map[string]declare.Limit{"rate": {Name: "rate", Rate: 100, Per: 100 * time.Second}}}))
		if n := use(10 * time.Second); n > 30 {
			t.Errorf("%d began in the 10 s after the rate became 1 per second", n)
		}
	})
}

// What waits for a limit waits on when its event may live longer by now.
func (env *Env) TestEventsThatMayLiveLongerStillNeedTheirLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.withLimits(t, []declare.Limit{{Name: "one", AtOnce: 1}})
		settings := UserType.Any().Settings()
		settings.ExpiresAfter, settings.Limits = time.Minute, []declare.LimitUse{{Limit: "one"}}
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"user.created": settings}}))
		var running, most atomic.Int32
		f.handleUsers("sub", func(context.Context, runtime.Event[UserCreated]) error {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(29 * time.Second)
			running.Add(-1)
			return nil
		}, runtime.WithConcurrency(4))
		f.users(slices.Repeat([]string{"a"}, 6)...)
		f.MustStart()
		time.Sleep(time.Second)
		settings.ExpiresAfter = time.Hour
		Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"user.created": settings}}))
		time.Sleep(10 * time.Minute)
		if most.Load() != 1 || running.Load() != 0 {
			t.Errorf("%d ran at once, and %d are running, want 1 and 0", most.Load(), running.Load())
		}
		for _, s := range f.Stats().Types {
			if s.Dead != 0 {
				t.Errorf("there are %d dead letters", s.Dead)
			}
		}
	})
}
