package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// Rates are exact in virtual time: never more than burst + rate·t begin in any time t, and
// never less than what is due while there is work.

// checkRate fails the test unless what has begun at these times is what a rate allows.
func checkRate(t *testing.T, began []time.Time, rate int, per time.Duration, burst int) {
	t.Helper()
	checkRateAbout(t, began, rate, per, burst, 0)
}

// checkRateAbout takes handlers that were called a little later than the limit has let them through: that of a suspect
// is called when its claim is stored, and an engine may take its time for that.
func checkRateAbout(t *testing.T, began []time.Time, rate int, per time.Duration, burst int, late time.Duration) {
	t.Helper()
	for i := range began {
		for j := i; j < len(began); j++ {
			most := burst + int(int64(rate)*int64(began[j].Sub(began[i])+late)/int64(per))
			if n := j - i + 1; n > most {
				t.Errorf("within %v %d have begun, and the rate allows %d", began[j].Sub(began[i]), n, most)
				return
			}
		}
	}
}

// times subscribes a handler that notes when it was called for which name.
func (f *Fixture) times(name string, opts ...runtime.SubscribeOption) *Journal[time.Time] {
	var began Journal[time.Time]
	f.handleUsers(name, func(context.Context, runtime.Event[UserCreated]) error {
		began.Add(time.Now())
		return nil
	}, opts...)
	return &began
}

func (env *Env) TestARateSpreadsAttemptsEvenlyAfterABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithLimit(declare.Limit{Name: "mail", Rate: 3, Per: 1500 * time.Millisecond}))
		opened := time.Now()
		began := f.times("one", runtime.WithConcurrency(8), limitedBy("mail"))
		f.users(slices.Repeat([]string{"a"}, 6)...)
		f.MustStart()
		f.Idle()
		time.Sleep(700 * time.Millisecond)
		f.users(slices.Repeat([]string{"a"}, 2)...) // one is due, the next one 800 ms later
		f.Idle()
		var got []time.Duration
		for _, at := range began.All() {
			got = append(got, at.Sub(opened).Round(time.Millisecond))
		}
		want := []time.Duration{0, 0, 0, 500, 1000, 1500, 2200, 2500}
		for i := range want {
			want[i] *= time.Millisecond
		}
		if !slices.Equal(got, want) {
			t.Errorf("they have begun at %v, want %v", got, want)
		}
	})
}

func (env *Env) TestRatesHoldOverRestartsAndLoseNothing(t *testing.T) {
	for _, limit := range []declare.Limit{
		{Name: "mail", Rate: 1, Per: time.Second},
		{Name: "mail", Rate: 10, Per: 2 * time.Second},
		{Name: "mail", Rate: 1, Per: time.Minute / 7},
		{Name: "mail", Rate: 20, Per: 20 * time.Second / 90},
		{Name: "mail", Rate: 2, Per: 40 * time.Minute},
	} {
		t.Run(fmt.Sprintf("%d per %v", limit.Rate, limit.Per), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target, began := env.Target(t), []time.Time(nil)
				step := limit.Per / time.Duration(limit.Rate)
				first := time.Now()
				for life := range 4 {
					f := env.Reopen(t, target, runtime.WithLimit(limit))
					seen := f.times("one", runtime.WithConcurrency(4), limitedBy("mail"))
					if life == 0 {
						f.users(slices.Repeat([]string{"a"}, 60)...)
					}
					f.MustStart()
					time.Sleep(4*step + step/5) // no life ends in the moment in which the next one may begin
					f.Stop()
					began = append(began, seen.All()...)
				}
				checkRate(t, began, limit.Rate, limit.Per, limit.Rate)
				due := limit.Rate + int(time.Since(first)/(step+1))
				if len(began) < min(due, 60) {
					t.Errorf("%d have begun within %v, %d were due", len(began), time.Since(first), due)
				}
			})
		})
	}
}

func (env *Env) TestSeveralLimitsHoldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t,
			runtime.WithLimit(declare.Limit{Name: "all", Rate: 2, Per: 200 * time.Millisecond}),
			runtime.WithLimit(declare.Limit{Name: "each", Rate: 1, Per: 500 * time.Millisecond}),
			runtime.WithLimit(declare.Limit{Name: "room", AtOnce: 3}))
		began := map[string]*Journal[time.Time]{"a": {}, "b": {}, "c": {}}
		var g gauge
		f.handleUsers("one", func(_ context.Context, e runtime.Event[UserCreated]) error {
			began[e.Payload.Name].Add(time.Now())
			g.work()
			return nil
		}, runtime.WithConcurrency(8), limitedBy("all", "each by name", "room"))
		for range 10 {
			f.users("a", "b", "c")
		}
		f.MustStart()
		f.Idle()
		var all []time.Time
		for _, one := range began {
			checkRate(t, one.All(), 2, time.Second, 1)
			all = append(all, one.All()...)
		}
		slices.SortFunc(all, time.Time.Compare)
		checkRate(t, all, 10, time.Second, 2)
		if len(all) != 30 || g.most.Load() != 3 {
			t.Errorf("%d have begun, %d at once", len(all), g.most.Load())
		}
		// Room for three, a second each.
		if took := all[29].Sub(all[0]); took > 11*time.Second {
			t.Errorf("it took %v until the last one has begun", took)
		}
	})
}

func (env *Env) TestRatesSurviveTheDeathOfTheProcess(t *testing.T) {
	for _, rate := range []int{2, 200} {
		synctest.Test(t, func(t *testing.T) {
			limit := runtime.WithLimit(declare.Limit{Name: "mail", Rate: 5, Per: 5 * time.Second / time.Duration(rate)})
			target, began := env.Target(t), []time.Time(nil)
			for life := range 4 {
				f := env.Reopen(t, target, limit)
				seen := f.times("one", runtime.WithConcurrency(4), limitedBy("mail"))
				if life == 0 {
					f.users(slices.Repeat([]string{"a"}, 1000)...)
				}
				f.MustStart()
				time.Sleep(time.Second / 3)
				target = f.Killed()
				began = append(began, seen.All()...)
			}
			checkRateAbout(t, began, rate, time.Second, 5, time.Millisecond)
			if due := 5 + rate*4/3 - 3*max(rate/10, 1); len(began) < due { // of what was leased ahead some is lost
				t.Errorf("with %d per second %d have begun, %d were due", rate, len(began), due)
			}
		})
	}
}

func (env *Env) TestAClockThatWasSetBackDoesNotStopARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		target, began := env.Target(t), []time.Time(nil)
		for _, offset := range []time.Duration{0, -10 * time.Hour, 10 * time.Hour} {
			f := env.Reopen(t, target, runtime.WithLimit(declare.Limit{Name: "mail", Rate: 2, Per: 2 * time.Second}),
				testhook.WithWallClock(func() time.Time { return time.Now().Add(offset) }).(runtime.Option))
			seen := f.times("one", runtime.WithConcurrency(4), limitedBy("mail"))
			if offset == 0 {
				f.users(slices.Repeat([]string{"a"}, 100)...)
			}
			f.MustStart()
			time.Sleep(3500 * time.Millisecond)
			f.Stop()
			all := seen.All()
			if len(all) < 3 {
				t.Errorf("with the clock at %v %d have begun within 3.5s", offset, len(all))
			}
			if offset <= 0 { // forward, the file cannot tell it from a pause
				began = append(began, all...)
			}
		}
		checkRate(t, began, 1, time.Second, 2)
	})
}

// Any bus of the file uses a rate, also one that does not dispatch.
func (env *Env) TestBusesOfOneFileShareARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := runtime.WithLimit(declare.Limit{Name: "mail", Rate: 3, Per: 3 * time.Minute})
		target := env.Target(t)
		var began Journal[time.Time]
		var all sync.WaitGroup
		for range 6 {
			f := env.Reopen(t, target, limit)
			mail, err := f.Limiter("mail")
			Must(t, err)
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour+time.Second)
				defer cancel()
				for mail.Do(ctx, func(context.Context) error { began.Add(time.Now()); return nil }) == nil {
				}
			})
		}
		all.Wait()
		times := began.All()
		slices.SortFunc(times, time.Time.Compare)
		checkRate(t, times, 1, time.Minute, 3)
		if len(times) < 60 { // each lease may be used a second late
			t.Errorf("%d have begun within an hour, 63 were due", len(times))
		}
	})
}

// Two programs have different numbers of one rate. Both go by those of the one that has begun with its own last.
func (env *Env) TestBusesWithDifferentNumbersOfARateGoByTheNewestOnes(t *testing.T) {
	slow := declare.Limit{Name: "mail", Rate: 3, Per: 3 * time.Second}
	fast := declare.Limit{Name: "mail", Rate: 20, Per: 2500 * time.Millisecond}
	for name, limits := range map[string][2]declare.Limit{"slower": {fast, slow}, "faster": {slow, fast}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				target := env.Target(t)
				var began [2]Journal[time.Time]
				var all sync.WaitGroup
				end := time.Now().Add(3 * time.Minute)
				run := func(n int) *Fixture {
					f := env.Reopen(t, target, runtime.WithLimit(limits[n]))
					mail, err := f.Limiter("mail")
					Must(t, err)
					all.Go(func() {
						ctx, cancel := context.WithDeadline(t.Context(), end)
						defer cancel()
						for mail.Do(ctx, func(context.Context) error { began[n].Add(time.Now()); return nil }) == nil {
						}
					})
					return f
				}
				run(0)
				time.Sleep(time.Minute)
				run(1)
				all.Wait()
				// The first one learns of the other numbers when it leases next.
				newest := limits[1]
				known := end.Add(-2*time.Minute + 2*time.Second)
				var times []time.Time
				for n := range began {
					of := slices.DeleteFunc(began[n].All(), func(at time.Time) bool { return at.Before(known) })
					if len(of) < 20 {
						t.Errorf("bus %d has begun %d, and the other the rest", n, len(of))
					}
					times = append(times, of...)
				}
				slices.SortFunc(times, time.Time.Compare)
				checkRate(t, times, newest.Rate, newest.Per, newest.Rate)
				if due := newest.Rate * int(118*time.Second/newest.Per); len(times) < due*8/10 {
					t.Errorf("%d have begun, and %d were due", len(times), due)
				}
			})
		})
	}
}

func (env *Env) TestARestoredBackupKnowsWhatWasUsedBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := runtime.WithLimit(declare.Limit{Name: "mail", Rate: 5, Per: 5 * time.Hour})
		use := func(f *Fixture, most int) (used int) {
			mail, err := f.Limiter("mail")
			Must(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			for used < most && mail.Do(ctx, func(context.Context) error { return nil }) == nil {
				used++
			}
			return used
		}
		f := env.Reopen(t, env.Target(t), limit)
		f.MustStart()
		if n := use(f, 3); n != 3 {
			t.Fatalf("%d have begun", n)
		}
		synctest.Wait()
		backup := env.Copy(t, f.Path)
		if n := use(f, 9); n != 2 {
			t.Errorf("%d have begun after the backup", n)
		}
		f.Stop()
		if n := use(env.Reopen(t, backup, limit), 9); n != 2 {
			t.Errorf("with the backup %d have begun, and of five it knew of three", n)
		}
	})
}
