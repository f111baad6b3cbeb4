package inspection

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// look returns the rates of the subscriptions since the look before.
func (f *Fixture) look(last *event.Status) (of *event.Rates, all map[string]event.SubscriptionRates) {
	f.t.Helper()
	synctest.Wait()
	status, err := f.File.StatusSince(f.t.Context(), *last)
	Must(f.t, err)
	*last = status
	all = map[string]event.SubscriptionRates{}
	for _, s := range status.Subscriptions {
		if s.Rates != nil {
			all[s.Name] = *s.Rates
		}
	}
	return status.Rates, all
}

// Each of these events is settled, or stays open, in another way.
func (env *Env) TestRatesCountWhatHappenedBetweenTwoLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seconds := func(s float64) *float64 { return &s }
		f := env.Open(t)
		f.Subscribe("ledger", Fine)
		f.Subscribe("slow", func(int, int) error { time.Sleep(10 * time.Minute); return nil }, runtime.WithTimeout(time.Hour))
		f.Subscribe("printer", func(_, attempt int) error { // fails once with each
			if attempt == 1 {
				return ErrBroken
			}
			return nil
		})
		f.Subscribe("broken", Fail)
		f.MustStart()
		var last event.Status
		if of, all := f.look(&last); of != nil || len(all) != 0 {
			t.Errorf("the first look has rates: %+v, %+v", of, all)
		}
		wants := func(minutes int, published float64, want map[string]event.SubscriptionRates) {
			t.Helper()
			of, got := f.look(&last)
			for name, rates := range got { // per minute is easier to read
				rates.Published, rates.Handled, rates.Dead = rates.Published*60, rates.Handled*60, rates.Dead*60
				got[name] = rates
			}
			if diff := cmp.Diff(event.Rates{Seconds: float64(minutes) * 60, Published: published / 60}, *of); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("per minute (-want +got):\n%s", diff)
			}
		}
		time.Sleep(time.Minute)
		wants(1, 0, map[string]event.SubscriptionRates{
			"ledger": {DrainedIn: seconds(0)}, "slow": {DrainedIn: seconds(0)}, "printer": {DrainedIn: seconds(0)}, "broken": {DrainedIn: seconds(0)},
		})
		f.Publish(1, 2, 3, 4) // four minutes
		wants(4, 1, map[string]event.SubscriptionRates{
			"ledger": {Published: 1, Handled: 1, DrainedIn: seconds(0)}, "slow": {Published: 1},
			"printer": {Published: 1, Handled: 1, DrainedIn: seconds(0)}, "broken": {Published: 1, Dead: 1, DrainedIn: seconds(0)},
		})
		time.Sleep(16 * time.Minute) // slow has handled two in 20 minutes, by 10 minutes each
		wants(16, 0, map[string]event.SubscriptionRates{
			"ledger": {DrainedIn: seconds(0)}, "slow": {Handled: 2.0 / 16, DrainedIn: seconds(16 * 60)},
			"printer": {DrainedIn: seconds(0)}, "broken": {DrainedIn: seconds(0)},
		})
		time.Sleep(time.Hour)
		f.look(&last)

		// A delayed event is published now, and handled later.
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 9}, runtime.WithDelay(90*time.Second))
		Must(t, err)
		f.Publish(10) // beside it, one minute
		wants(1, 2, map[string]event.SubscriptionRates{
			"ledger": {Published: 2, Handled: 1}, "slow": {Published: 2}, "printer": {Published: 2, Handled: 1}, "broken": {Published: 2, Dead: 1},
		})
		time.Sleep(time.Minute)
		wants(1, 0, map[string]event.SubscriptionRates{
			"ledger": {Handled: 1, DrainedIn: seconds(0)}, "slow": {}, "printer": {Handled: 1, DrainedIn: seconds(0)}, "broken": {Dead: 1, DrainedIn: seconds(0)},
		})

		// A new subscription has no rates at its first look.
		f.Subscribe("late", Fine)
		time.Sleep(time.Minute)
		if _, all := f.look(&last); len(all) != 4 {
			t.Errorf("rates of %d subscriptions, want those of 4 that were there before", len(all))
		}
		time.Sleep(time.Hour) // the slow one comes to an end
	})
}

func (env *Env) TestRatesAreNotComputedAcrossFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, other := env.Open(t), env.Open(t)
		for _, f := range []*Fixture{f, other} {
			f.Subscribe("ledger", Fine)
			f.MustStart()
			f.Publish(1, 2)
		}
		var last event.Status
		f.look(&last)
		time.Sleep(time.Minute)
		other.Publish(3)
		if of, all := other.look(&last); of != nil || len(all) != 0 {
			t.Errorf("another file has the rates %+v and %+v", of, all)
		}
	})
}

// Where counting stops, both looks know how much of the log is left.
func (env *Env) TestALongBacklogIsDrainedAtTheRateOfTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("publishes 15,000 events")
	}
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("ledger", func(int, int) error { time.Sleep(100 * time.Millisecond); return nil })
		orders := make([]Order, 15_000)
		_, err := runtime.PublishBatch(t.Context(), f.Bus, PlacedType, orders)
		Must(t, err)
		f.MustStart()
		var last event.Status
		f.look(&last)
		time.Sleep(100*time.Second + time.Millisecond)
		_, all := f.look(&last)
		if r := all["ledger"]; r.Handled < 9.9 || r.Handled > 10.1 || r.DrainedIn == nil || *r.DrainedIn < 1380 || *r.DrainedIn > 1420 {
			t.Errorf("the rates are %+v, want 10 per second, and 1,400 s for the other 14,000", r)
		}
	})
}
