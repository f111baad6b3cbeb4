package inspection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func (env *Env) TestARetriedLetterIsHandledWithAFreshCountAndKeepsItsHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1, 2)
		i := f.Inspect()
		letter := i.Newest()
		retry := func() {
			t.Helper()
			counts, err := i.Retry(t.Context(), inspect.Only(letter.Key))
			if counts != (inspect.Counts{Matched: 1, Moved: 1}) || err != nil {
				t.Errorf("retried %+v, %v", counts, err)
			}
			time.Sleep(time.Minute)
			f.Idle()
		}

		retry() // still broken: it dies again, after as many attempts
		again, err := i.DeadLetter(t.Context(), letter.Key)
		Must(t, err)
		if len(again.Attempts) != 4 || again.Failures != 2 || !again.DeadAt.After(letter.DeadAt) {
			t.Errorf("after a retry in vain it is %+v, want the two old attempts and two new ones", again)
		}

		f.Repair()
		retry()
		if !slices.Equal(f.Seen(), []int{2}) {
			t.Errorf("handled %v, want 2", f.Seen())
		}
		counts, err := i.Retry(t.Context(), inspect.Only(letter.Key))
		if counts != (inspect.Counts{Skipped: 1}) || err != nil {
			t.Errorf("retrying what is handled: %+v, %v", counts, err)
		}
		if n := i.Count(); n != 1 {
			t.Errorf("%d letters are left, want 1", n)
		}
	})
}

func (env *Env) TestADeadLetterRetriedWithoutABusIsHandledAtTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1)
		f.Stop()
		_, err := f.Inspect().Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		f.Repair()
		f.Reopen()
		f.Idle()
		if !slices.Equal(f.Seen(), []int{1}) {
			t.Errorf("handled %v, want 1", f.Seen())
		}
	})
}

func (env *Env) TestALimitRetriesThatManyDeadLettersOldestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 700)
		f.Repair()
		i := f.Inspect()
		oldestFirst := NumbersOf(i.List(event.Filter{}))
		slices.Reverse(oldestFirst)
		var progress []int
		counts, err := i.Retry(t.Context(), inspect.Selection{Limit: 350, Progress: func(c inspect.Counts) { progress = append(progress, c.Moved) }})
		if counts != (inspect.Counts{Matched: 700, Moved: 350}) || err != nil {
			t.Errorf("retried %+v, %v", counts, err)
		}
		if want := []int{100, 200, 300, 350}; !slices.Equal(progress, want) {
			t.Errorf("the progress was %v, want %v", progress, want)
		}
		f.Settle()
		seen := f.Seen()
		if slices.Sort(seen); !slices.Equal(seen, slices.Sorted(slices.Values(oldestFirst[:350]))) || i.Count() != 350 {
			t.Errorf("handled %v, want the 350 that died first", seen)
		}
	})
}

func (env *Env) TestARateSpreadsRetriesOverTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeManyDead(t, 60).Inspect()
		for _, test := range []struct {
			rate  float64
			limit int
			took  time.Duration
			steps int
		}{
			{rate: 0.5, limit: 3, took: 4 * time.Second, steps: 3},
			{rate: 20, limit: 10, took: 400 * time.Millisecond, steps: 5},
			{rate: 1e9, limit: 10, took: 0, steps: 1},
		} {
			began, steps := time.Now(), 0
			counts, err := i.Retry(t.Context(), inspect.Selection{Rate: test.rate, Limit: test.limit, Progress: func(inspect.Counts) { steps++ }})
			if took := time.Since(began).Round(10 * time.Millisecond); took != test.took || steps != test.steps || counts.Moved != test.limit || err != nil {
				t.Errorf("%d at %v per second took %v in %d steps (%+v, %v), want %v in %d", test.limit, test.rate, took, steps, counts, err, test.took, test.steps)
			}
		}
	})
}

func (env *Env) TestADryRunOnlyCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 1, 2, 3).Inspect()
		before := i.List(event.Filter{})
		some := inspect.Selection{DryRun: true, Limit: 1, Filter: event.Filter{Until: before[1].DeadAt}}
		for name, call := range map[string]func() (inspect.Counts, error){
			"retry":   func() (inspect.Counts, error) { return i.Retry(t.Context(), some) },
			"discard": func() (inspect.Counts, error) { return i.DiscardDeadLetters(t.Context(), some, "old") },
			"purge":   func() (inspect.Counts, error) { return i.Purge(t.Context(), some) },
		} {
			if counts, err := call(); counts != (inspect.Counts{Matched: 2}) || err != nil {
				t.Errorf("%s: %+v, %v", name, counts, err)
			}
		}
		if after := i.List(event.Filter{}); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the letters are %v and were %v", after, before)
		}
		if got := i.Actions(); got != nil {
			t.Errorf("the audit says %v", got)
		}
	})
}

func (env *Env) TestADeadLetterThatFailsAgainDuringABulkRetryIsNotRetriedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 30)
		i := f.Inspect()
		counts, err := i.Retry(t.Context(), inspect.Selection{Rate: 1}) // each dies again before the next one
		if counts != (inspect.Counts{Matched: 30, Moved: 30}) || err != nil {
			t.Errorf("retried %+v, %v", counts, err)
		}
		f.Settle()
		for _, l := range i.List(event.Filter{}) {
			if len(l.Attempts) != 4 {
				t.Errorf("%s was tried %d times, want twice more", l.Key, len(l.Attempts))
			}
		}
	})
}

func (env *Env) TestAnEventThatIsGoneWhenItsTurnComesIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 10)
		i := f.Inspect()
		letters := i.List(event.Filter{})
		other := f.Inspect()
		counts, err := i.Retry(t.Context(), inspect.Selection{Rate: 1, Progress: func(c inspect.Counts) {
			if c.Moved == 2 {
				_, err := other.Retry(t.Context(), inspect.Only(letters[0].Key, letters[1].Key, letters[2].Key))
				Must(t, err)
			}
		}})
		if counts != (inspect.Counts{Matched: 10, Moved: 7, Skipped: 3}) || err != nil {
			t.Errorf("retried %+v, %v", counts, err)
		}
		counts, err = i.Retry(t.Context(), inspect.Only(letters[0].Key, event.Key{EventID: uuid.Max, Subscription: "worker"}))
		if counts != (inspect.Counts{Skipped: 2}) && counts != (inspect.Counts{Matched: 1, Moved: 1, Skipped: 1}) || err != nil {
			t.Errorf("retried %+v, %v", counts, err)
		}
	})
}

func (env *Env) TestAGroupIsRetriedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.threeKinds(t, 60)
		f.Repair()
		i := f.Inspect()
		groups, err := i.FailureGroups(t.Context(), event.Filter{})
		Must(t, err)
		counts, err := i.Retry(t.Context(), inspect.Selection{Filter: event.Filter{Group: groups[1].Fingerprint}, Limit: 5})
		if counts.Moved != 5 || err != nil {
			t.Errorf("retried %+v, %v", counts, err)
		}
		after, err := i.FailureGroups(t.Context(), event.Filter{})
		Must(t, err)
		for n := range after {
			want := groups[n].Count
			if n == 1 {
				want -= 5
			}
			if after[n].Fingerprint != groups[n].Fingerprint || after[n].Count != want {
				t.Errorf("group %d is %+v, want %d of %s", n, after[n], want, groups[n].Fingerprint)
			}
		}
	})
}

func (env *Env) TestAMeaninglessSelectionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeDead(t, 1).Inspect()
		now := event.Filter{Until: time.Now()}
		for name, call := range map[string]func() (inspect.Counts, error){
			"limit":  func() (inspect.Counts, error) { return i.Retry(t.Context(), inspect.Selection{Limit: -1}) },
			"rate":   func() (inspect.Counts, error) { return i.Retry(t.Context(), inspect.Selection{Rate: -1}) },
			"NaN":    func() (inspect.Counts, error) { return i.Retry(t.Context(), inspect.Selection{Rate: math.NaN()}) },
			"canary": func() (inspect.Counts, error) { return i.Retry(t.Context(), inspect.Selection{Canary: -1}) },
			"a canary is for retrying only": func() (inspect.Counts, error) {
				return i.DiscardDeadLetters(t.Context(), inspect.Selection{Canary: 1}, "old")
			},
			"purge dead letters: a canary": func() (inspect.Counts, error) {
				return i.Purge(t.Context(), inspect.Selection{Canary: 1, Filter: now})
			},
			"the reason is empty": func() (inspect.Counts, error) { return i.DiscardDeadLetters(t.Context(), inspect.Selection{}, "") },
			"Filter.Until":        func() (inspect.Counts, error) { return i.Purge(t.Context(), inspect.Selection{}) },
		} {
			if counts, err := call(); err == nil || !strings.Contains(err.Error(), name) || counts != (inspect.Counts{}) {
				t.Errorf("%s: %+v, %v", name, counts, err)
			}
		}
		if n := i.Count(); n != 1 {
			t.Errorf("%d letters are left, want 1", n)
		}
	})
}

func (env *Env) TestTheEndOfTheContextEndsTheWorkBetweenTwoSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := env.MakeManyDead(t, 250).Inspect()
		ctx, cancel := context.WithCancel(t.Context())
		counts, err := i.Retry(ctx, inspect.Selection{Progress: func(inspect.Counts) { cancel() }})
		if !errors.Is(err, context.Canceled) || counts != (inspect.Counts{Matched: 250, Moved: 100}) || i.Count() != 150 {
			t.Errorf("retried %+v, %v; %d are left", counts, err, i.Count())
		}
		if counts, err := i.Retry(ctx, inspect.Selection{}); !errors.Is(err, context.Canceled) || counts != (inspect.Counts{}) {
			t.Errorf("retried %+v, %v", counts, err)
		}
		counts, err = i.Retry(t.Context(), inspect.Selection{})
		if counts != (inspect.Counts{Matched: 150, Moved: 150}) || err != nil {
			t.Errorf("going on: %+v, %v", counts, err)
		}
	})
}

func (env *Env) TestACanaryThatIsHandledIsFollowedByTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 20)
		f.Repair()
		begun, before := atomic.Int32{}, 0
		moved := make(chan struct{})
		all := sync.OnceFunc(func() { close(moved) })
		defer all()
		f.Taking(func() { // the canaries take a while, and the others until all are retried
			if begun.Add(1) <= 3 {
				time.Sleep(100 * time.Millisecond)
			} else {
				<-moved
			}
		})
		i := f.Inspect()
		counts, err := i.Retry(t.Context(), inspect.Selection{Canary: 3, Progress: func(c inspect.Counts) {
			if c.Moved == 20 {
				before = len(f.Seen())
				all()
			}
		}})
		if counts != (inspect.Counts{Matched: 20, Moved: 20}) || err != nil || before != 3 {
			t.Errorf("retried %+v, %v; %d were handled before the others were retried", counts, err, before)
		}
		f.Settle()
		if len(f.Seen()) != 20 || i.Count() != 0 {
			t.Errorf("handled %v", f.Seen())
		}
		counts, err = i.Retry(t.Context(), inspect.Selection{Canary: 3})
		if counts != (inspect.Counts{}) || err != nil {
			t.Errorf("without letters: %+v, %v", counts, err)
		}
	})
}

func (env *Env) TestACanaryCountsTowardsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeManyDead(t, 20)
		f.Repair()
		i := f.Inspect()
		for _, s := range []inspect.Selection{{Canary: 3, Limit: 5}, {Canary: 7, Limit: 4}} {
			if counts, err := i.Retry(t.Context(), s); counts.Moved != s.Limit || err != nil {
				t.Errorf("with %d and a limit of %d: %+v, %v", s.Canary, s.Limit, counts, err)
			}
		}
	})
}

func (env *Env) TestACanaryThatDiesAgainStopsTheRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 0, 1, 2, 3, 4)
		f.Failing(func(n int) error {
			switch n {
			case 0:
				return runtime.Permanent(Broken(n)) // at once
			case 2:
				return Broken(n) // after another attempt
			}
			return nil
		})
		i := f.Inspect()
		letters := i.List(event.Filter{})
		counts, err := i.Retry(t.Context(), inspect.Selection{Canary: 3})
		canary, ok := errors.AsType[*inspect.CanaryError](err)
		if !ok || canary.Retried != 3 || !slices.Equal(canary.Failed, []event.Key{letters[4].Key, letters[2].Key}) || counts.Moved != 3 {
			t.Errorf("retried %+v, %v", counts, err)
		}
		if !strings.Contains(err.Error(), letters[2].Key.String()) {
			t.Errorf("the error does not name the letters: %v", err)
		}
		if got := NumbersOf(i.List(event.Filter{})); !slices.Equal(got, []int{2, 0, 4, 3}) {
			t.Errorf("the letters are %v, want what died again and what was left alone", got)
		}
	})
}

func (env *Env) TestACanaryWaitsForAsLongAsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.MakeDead(t, 1, 2)
		f.Stop() // nobody handles it
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		counts, err := f.Inspect().Retry(ctx, inspect.Selection{Canary: 1})
		if !errors.Is(err, context.DeadlineExceeded) || counts != (inspect.Counts{Matched: 2, Moved: 1}) {
			t.Errorf("retried %+v, %v", counts, err)
		}
	})
}
