package inspection

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// minutesOf returns what was counted, as minutes ago and how much.
func minutesOf(counts []int) map[int]int {
	found := map[int]int{}
	for i, n := range counts {
		if n != 0 {
			found[len(counts)-1-i] = n
		}
	}
	return found
}

func (env *Env) TestAnHourHasTheEventsAndDeadLettersOfEachMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Subscribe("ledger", Fine)
		f.Subscribe("printer", func(number, _ int) error {
			if number < 3 {
				return ErrBroken
			}
			return nil
		})
		f.MustStart()
		hour := func() event.Hour {
			t.Helper()
			synctest.Wait()
			hour, err := f.File.Hour(t.Context())
			Must(t, err)
			if len(hour.Published) != 60 || len(hour.Dead) != 60 || !hour.At.Equal(time.Now()) {
				t.Fatalf("at %v the hour has %d and %d minutes, and ends at %v", time.Now(), len(hour.Published), len(hour.Dead), hour.At)
			}
			return hour
		}
		wants := func(when string, published, dead map[int]int) {
			t.Helper()
			hour := hour()
			if got := minutesOf(hour.Published); !maps.Equal(got, published) {
				t.Errorf("%s: published, by minutes ago: %v, want %v", when, got, published)
			}
			if got := minutesOf(hour.Dead); !maps.Equal(got, dead) {
				t.Errorf("%s: dead, by minutes ago: %v, want %v", when, got, dead)
			}
			if len(dead) == 0 != (len(hour.Subscriptions) == 0) {
				t.Fatalf("%s: subscriptions with dead letters: %+v", when, hour.Subscriptions)
			}
			if len(dead) > 0 && (hour.Subscriptions[0].Name != "printer" || !slices.Equal(hour.Subscriptions[0].Dead, hour.Dead) || len(hour.Subscriptions) > 1) {
				t.Errorf("%s: the subscriptions are %+v", when, hour.Subscriptions)
			}
		}
		wants("before anything", map[int]int{}, map[int]int{})
		f.Order(1) // dies at its second attempt, a second later
		f.Order(3)
		time.Sleep(2 * time.Second)
		wants("at once", map[int]int{0: 2}, map[int]int{0: 1})
		time.Sleep(10 * time.Minute)
		f.Order(2)
		time.Sleep(2 * time.Second)
		f.Order(4)
		f.Order(5)
		wants("ten minutes later", map[int]int{10: 2, 0: 3}, map[int]int{10: 1, 0: 1})
		f.Stop() // the file of a program that is down says the same
		f = env.Reopen(t, f.Path)
		time.Sleep(49*time.Minute + 55*time.Second)
		wants("before an hour is over", map[int]int{59: 2, 49: 3}, map[int]int{59: 1, 49: 1})
		time.Sleep(4 * time.Second)
		wants("when an hour is over", map[int]int{50: 1, 49: 2}, map[int]int{49: 1})
		f.Subscribe("printer", Fine)
		f.Subscribe("ledger", Fine)
		f.MustStart()
		Must(t, Second(f.File.Retry(t.Context(), inspect.Selection{})))
		Must(t, f.WaitIdle(t.Context()))
		wants("when the letters are retried", map[int]int{50: 1, 49: 2}, map[int]int{})
	})
}
