package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// halvingKilledIn returns a kills that kills the first batch of some lives, counted from 1,
// and those with a poison event.
func halvingKilledIn(h *halving, lives int, poisonous ...int) func(numbers []int) bool {
	return func(numbers []int) bool {
		return len(h.saw) < lives || poison(poisonous...)(numbers)
	}
}

func (env *Env) TestAKillFromOutsideWhileAHalfRunsCountsForNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 8, 1, nil)
		h.kills = halvingKilledIn(h, 2)
		h.liveOn()
		h.want("1.2+2.2+3.2+4.2†", "1.3+2.3 3.3+4.3 5.2+6.2+7.2+8.2")
		h.wantDead()

		h = env.halving(t, 8, 1, nil)
		h.kills = halvingKilledIn(h, 2, 8)
		h.liveOn()
		h.want(
			"1.2+2.2+3.2+4.2†", // it has nothing to do with it
			"1.3+2.3 3.3+4.3 5.2+6.2+7.2+8.2†",
			"5.3+6.3 7.3+8.3†",
			"7.4 8.4†",
			"8.5†",
			"",
		)
		h.wantDead(8)
	})
}

// However small the half is by then: an event counts what has happened while it was alone,
// and one crash with others.
func (env *Env) TestAProcessThatIsKilledAllTheTimeMakesNoDeadLettersOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 25, 5, nil)
		h.kills = halvingKilledIn(h, 20)
		h.liveOn()
		file, err := env.OpenFile(t.Context(), h.path)
		Must(t, err)
		defer file.Close()
		for i, id := range h.ids {
			event, err := file.Event(t.Context(), id)
			Must(t, err)
			if d := event.Deliveries[0]; d.State != "done" || d.Failures > 2 {
				t.Errorf("event %d is %s after %d failed attempts; the lives were\n%s", i+1, d.State, d.Failures, strings.Join(h.saw, "\n"))
			}
		}
		first, err := file.Event(t.Context(), h.ids[0])
		Must(t, err)
		if d := first.Deliveries[0]; d.Failures != 2 || len(d.Crashes) != 4 {
			t.Errorf("the first event counts %d attempts beside %d crashes, want 2 beside 4", d.Failures, len(d.Crashes))
		}
	})
}

func (env *Env) TestNothingRunsBesideAHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 4, 4, nil)
		h.kills = halvingKilledIn(h, 1)
		var running, most atomic.Int32
		count := func(d time.Duration) {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}
			time.Sleep(d)
			running.Add(-1)
		}
		beside := func(handler runtime.Handler[OrderPlaced]) func(f *Fixture) {
			return func(f *Fixture) { f.Handle("beside", handler, runtime.FromBeginning()) }
		}
		h.live(beside(Hang))
		var halves atomic.Int32
		h.opts = append(h.opts, runtime.WithConcurrency(3))
		h.kills = func(numbers []int) bool {
			halves.Add(1)
			count(time.Second)
			return false
		}
		h.live(beside(func(context.Context, runtime.Event[OrderPlaced]) error {
			if halves.Load() < 2 { // its own suspect is the first one of it
				count(time.Second)
			}
			return nil
		}))
		if most.Load() != 1 || halves.Load() != 2 {
			t.Errorf("%d ran at once, and there were %d halves; want 1 and 2: %q", most.Load(), halves.Load(), h.saw)
		}
		h.wantDead()
	})
}

// Its handler was not called, so it can still be the one.
func (env *Env) TestASuspectThatAnotherOneHasKeptFromBeingTriedStaysOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		Hanging = make(chan struct{})
		defer close(Hanging)
		f := env.ReopenWith(t, env.Target(t), TrappedCatalogue)
		var batches Journal[string]
		subscribe := func() {
			_, err := runtime.SubscribeBatch(f.Bus, trappedHighType, "reader", func(ctx context.Context, events []runtime.Event[trapped]) error {
				var all []string
				for _, e := range events {
					all = append(all, fmt.Sprintf("%d.%d", e.Payload.N, e.Attempt))
				}
				batches.Add(strings.Join(all, "+"))
				return nil
			}, runtime.FromBeginning(), runtime.WithBatch(4, time.Second), runtime.WithRetry(retry.MaxAttempts(1)))
			Must(t, err)
			f.MustStart()
		}
		publish := func(n int, trap Trap) {
			_, err := runtime.Publish(t.Context(), f.Bus, trappedHighType, trapped{Trap: trap, N: n})
			Must(t, err)
		}
		subscribe()
		publish(0, "hang in decode") // and the process is killed meanwhile
		for n := range 3 {
			publish(n+1, "")
		}
		f = env.ReopenWith(t, f.Killed(), TrappedCatalogue)
		subscribe() // 0 outlives its timeout, so 1 is not tried
		time.Sleep(engine.CrashLoopTime + 5*time.Second)
		if got := batches.All(); len(got) > 0 {
			t.Errorf("%v were handled while 0 was decoded", got)
		}
		publish(4, "") // no suspect: it waits, and could be in a batch with 1
		f.Idle()
		got := batches.All()
		slices.Sort(got)
		f.sawBatches(got, "1.3", "2.2+3.2", "4.1")
	})
}

// What was left behind runs beside a half, and must not make the halves of it larger.
func (env *Env) TestAHalfIsHalvedWhateverWasLeftBehindBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 12, 12, nil)
		h.kills = halvingKilledIn(h, 1)
		h.live()
		release := make(chan struct{})
		h.opts = append(h.opts, runtime.WithTimeout(10*time.Second))
		h.kills = func(numbers []int) bool {
			if numbers[0] == 1 {
				<-release // whatever its context says
			}
			return numbers[0] == 7
		}
		h.live()
		close(release)
		h.kills = poison()
		h.live()
		h.want("7.2+8.2+9.2+10.2+11.2+12.2†", "1.3 2.3 3.3 4.3 5.3 6.3 7.3+8.3+9.3 10.3+11.3+12.3")
	})
}
