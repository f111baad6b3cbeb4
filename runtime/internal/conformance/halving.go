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

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// halving is a subscription with batches whose process dies again and again.
type halving struct {
	env   *Env
	t     *testing.T
	path  string
	opts  []runtime.SubscribeOption
	takes time.Duration            // of each batch
	kills func(numbers []int) bool // whether a batch ends the process
	ids   []uuid.UUID              // of the events, which are numbered from 1
	saw   []string                 // the batches of each life, as 1.1+2.1; † is after one that has ended the process
}

const halvingAttempts = 3 // the max_attempts

// halving publishes so many events, with so many keys, and returns a subscription that is to
// handle them in batches of 25.
func (env *Env) halving(t *testing.T, events, keys int, kills func(numbers []int) bool) *halving {
	f := env.Open(t)
	h := &halving{env: env, t: t, path: f.Path, kills: kills, opts: []runtime.SubscribeOption{
		runtime.FromBeginning(), runtime.WithBatch(25, time.Second), runtime.WithRetry(retry.MaxAttempts(halvingAttempts), retry.WithBackoff(retry.None)),
	}}
	for n := range events {
		h.ids = append(h.ids, f.published(OrderPlaced{OrderID: fmt.Sprint(n % keys), Number: n + 1}).ID)
	}
	f.Stop()
	return h
}

// poison returns a kills for events that end the process whatever is beside them.
func poison(which ...int) func(numbers []int) bool {
	return func(numbers []int) bool {
		return slices.ContainsFunc(which, func(n int) bool { return slices.Contains(numbers, n) })
	}
}

// live starts a process with this subscription, and others, and reports whether it was
// killed. If not it has handled everything.
func (h *halving) live(others ...func(f *Fixture)) (killed bool) {
	h.t.Helper()
	f := h.env.Reopen(h.t, h.path)
	var saw Journal[string]
	var dies atomic.Bool
	f.Batches("batches", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
		var numbers []int
		for _, e := range events {
			numbers = append(numbers, e.Payload.Number)
		}
		text := strings.ReplaceAll(numbersAndAttempts(events), " ", "+")
		if !dies.Load() && !h.kills(numbers) {
			saw.Add(text)
			time.Sleep(h.takes)
			return nil
		}
		dies.Store(true)
		saw.Add(text + "†")
		<-ctx.Done()
		return ctx.Err()
	}, h.opts...)
	for _, other := range others {
		other(f)
	}
	f.MustStart()
	time.Sleep(15 * time.Second)
	synctest.Wait()
	h.saw = append(h.saw, strings.Join(saw.All(), " "))
	if dies.Load() {
		h.path = f.Killed()
		return true
	}
	f.Idle()
	f.Stop()
	return false
}

// liveOn starts one process after the other, until one is not killed. It returns how many
// were.
func (h *halving) liveOn() (deaths int) {
	h.t.Helper()
	for h.live() {
		if deaths++; deaths == 100 {
			h.t.Fatalf("after %d deaths there is no end:\n%s", deaths, strings.Join(h.saw, "\n"))
		}
	}
	return deaths
}

// want compares the lives, without the first one.
func (h *halving) want(lives ...string) {
	h.t.Helper()
	if !slices.Equal(h.saw[1:], lives) {
		h.t.Errorf("after the first life there are\n%s\nwant\n%s", strings.Join(h.saw[1:], "\n"), strings.Join(lives, "\n"))
	}
}

// wantDead checks that these are the dead letters, by their crashes, that nothing else has a
// failed attempt, and that everything else is done.
func (h *halving) wantDead(poison ...int) {
	h.t.Helper()
	file, err := h.env.OpenFile(h.t.Context(), h.path)
	Must(h.t, err)
	defer file.Close()
	var dead []int
	for i, id := range h.ids {
		one, err := file.Event(h.t.Context(), id)
		Must(h.t, err)
		at := slices.IndexFunc(one.Deliveries, func(d event.DeliveryState) bool { return d.Subscription == "batches" })
		switch d := one.Deliveries[at]; {
		case d.State == event.StateDead && d.Reason == "crash" && len(d.Attempts) == halvingAttempts:
			dead = append(dead, i+1)
		case d.State != event.StateDone || len(d.Attempts) > 0:
			h.t.Errorf("event %d is %s after the failed attempts %+v", i+1, d.State, d.Attempts)
		}
	}
	if !slices.Equal(dead, poison) {
		h.t.Errorf("dead by crashes are %v, want %v; the lives were\n%s", dead, poison, strings.Join(h.saw, "\n"))
	}
}

func (env *Env) TestABatchWithAPoisonEventIsHalvedUntilItIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 10, 1, poison(6))
		deaths := h.liveOn()
		h.want(
			"1.2+2.2+3.2+4.2+5.2 6.2+7.2+8.2+9.2+10.2†",
			"6.3+7.3+8.3†",
			"6.4+7.4†",
			"6.5†", // with the first crash these are two attempts
			"7.5 8.4 9.3+10.3 6.6†",
			"",
		)
		if deaths != 6 {
			t.Errorf("the process died %d times, want 6", deaths)
		}
		h.wantDead(6)
	})
}

func (env *Env) TestWhereverAPoisonEventIsItIsFoundAfterOneMoreDeathThanThereAreHalves(t *testing.T) {
	for n := 1; n <= 25; n += 3 {
		synctest.Test(t, func(t *testing.T) {
			h := env.halving(t, 25, 5, poison(n))
			// 25, 13, 7, 4, 2, 1, and then as often as its limit says.
			if deaths := h.liveOn(); deaths < 5+halvingAttempts-2 || deaths > 5+halvingAttempts-1 {
				t.Errorf("with poison in event %d the process died %d times:\n%s", n, deaths, strings.Join(h.saw, "\n"))
			}
			h.wantDead(n)
		})
	}
}

func (env *Env) TestSeveralPoisonEventsOfABatchAreFound(t *testing.T) {
	for _, which := range [][]int{{1, 2}, {7, 20}, {24, 25}, {3, 9, 17}, Numbers(1, 25)} {
		t.Run(fmt.Sprint(len(which), which[0]), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := env.halving(t, 25, 5, poison(which...))
				if deaths, most := h.liveOn(), len(which)*(5+halvingAttempts-1); deaths > most {
					t.Errorf("the process died %d times, want %d at most", deaths, most)
				}
				h.wantDead(which...)
			})
		})
	}
}

// Events that end the process only together are handled, if they are apart.
func (env *Env) TestEventsThatAreHarmlessApartAreHandledInHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := func(a, b int) func([]int) bool {
			return func(numbers []int) bool { return slices.Contains(numbers, a) && slices.Contains(numbers, b) }
		}
		h := env.halving(t, 6, 1, both(2, 5))
		h.liveOn()
		h.want("1.2+2.2+3.2 4.2+5.2+6.2")
		h.wantDead()

		h = env.halving(t, 6, 1, both(5, 6))
		h.liveOn()
		h.want("1.2+2.2+3.2 4.2+5.2+6.2†", "4.3+5.3 6.3")
		h.wantDead()
	})
}
