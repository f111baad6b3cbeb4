package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestBatchesThatRanAtOnceAreHalvedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 50, 50, nil)
		h.opts = append(h.opts, runtime.WithBatch(10, time.Second), runtime.WithConcurrency(5))
		first := true
		h.kills = func(numbers []int) bool { return first || poison(33)(numbers) }
		h.live()
		if n := strings.Count(h.saw[0], "†"); n != 5 {
			t.Errorf("%d batches ran at once, want 5", n)
		}
		first = false
		h.live()
		if want := "1.2+2.2+3.2+4.2+5.2+6.2+7.2+8.2+9.2+10.2 11.2+"; !strings.HasPrefix(h.saw[1], want) || strings.Count(h.saw[1], " ") != 3 {
			t.Errorf("the second life begins with %s", h.saw[1])
		}
		h.liveOn()
		if got := h.saw[2]; !strings.HasPrefix(got, "31.3+32.3+33.3+34.3+35.3†") {
			t.Errorf("the third life begins with %s", got)
		}
		h.wantDead(33)
	})
}

func (env *Env) TestHalvesAreNoLargerThanTheBatchesOfTheNextStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 10, 1, poison(1))
		h.live()
		h.opts = append(h.opts, runtime.WithBatch(3, time.Second))
		h.live()
		h.opts = append(h.opts, runtime.WithBatch(100, 0))
		h.liveOn()
		h.want(
			"1.2+2.2+3.2†",
			"1.3+2.3†", // half of the three that ran
			"1.4†",
			"2.4 3.3 4.2+5.2+6.2+7.2+8.2 9.2+10.2 1.5†",
			"",
		)
		h.wantDead(1)
	})
}

func (env *Env) TestSuspectsOfABatchThatIsNoneAnyMoreRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 4, 1, poison(2))
		h.live()
		f := env.Reopen(t, h.path)
		var ran Journal[string]
		f.Handle("batches", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			ran.Add(fmt.Sprintf("%d.%d", e.Payload.Number, e.Attempt))
			if e.Payload.Number == 2 {
				<-ctx.Done()
			}
			return ctx.Err()
		}, h.opts[0], h.opts[2], runtime.WithConcurrency(4))
		f.MustStart()
		time.Sleep(time.Second)
		h.path = f.Killed()
		if got := strings.Join(ran.All(), " "); got != "1.2 2.2" {
			t.Errorf("one at a time %s ran, want 1.2 2.2", got)
		}
		h.saw = h.saw[:1]
		h.liveOn() // in batches again
		h.want("3.2+4.2 2.3†", "")
		h.wantDead(2)
	})
}

// Those that ran one at a time stay apart when the subscription has batches at the next start.
func (env *Env) TestSuspectsThatWereInNoBatchRunOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 6, 6, poison())
		f := env.Reopen(t, h.path)
		f.Handle("batches", Hang, h.opts[0], runtime.WithConcurrency(3))
		f.MustStart()
		h.path = f.Killed()
		h.saw = []string{""}
		h.live()
		h.want("1.2 2.2 3.2 4.1+5.1+6.1")
	})
}

func (env *Env) TestEachKeyKeepsItsOrderWhileABatchIsHalved(t *testing.T) {
	for name, strict := range map[string][]runtime.SubscribeOption{"keys": nil, "strict": {runtime.WithStrictOrder()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const keys = 3
				h := env.halving(t, 25, keys, poison(5, 16))
				h.opts = append(append(h.opts, strict...), runtime.WithConcurrency(2))
				h.liveOn()
				h.wantDead(5, 16)
				last := [keys]int{}
				for _, life := range h.saw {
					for batch := range strings.FieldsSeq(life) {
						if strings.HasSuffix(batch, "†") {
							continue
						}
						seen := map[int]bool{}
						for one := range strings.SplitSeq(batch, "+") {
							var n, attempt int
							fmt.Sscanf(one, "%d.%d", &n, &attempt)
							key := n % keys
							if n <= last[key] || strict != nil && seen[key] {
								t.Errorf("%d is handled after %d", n, last[key])
							}
							last[key], seen[key] = n, true
						}
					}
				}
				if t.Failed() {
					t.Log(strings.Join(h.saw, "\n"))
				}
			})
		})
	}
}

// As in other batches.
func (env *Env) TestASuspectWhoseNextAttemptMayBeItsLastIsInNoHalf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Batches("batches", func(ctx context.Context, events []runtime.Event[OrderPlaced]) error {
			if events[0].Payload.Number == 1 {
				return &runtime.BatchError{Items: map[int]error{2: ErrBoom}}
			}
			<-ctx.Done()
			return ctx.Err()
		}, runtime.WithBatch(4, time.Second), runtime.WithRetry(retry.MaxAttempts(9), retry.WithBackoff(retry.None)))
		f.MustStart()
		f.Publish(Numbers(1, 7)...) // event 3 comes again with 5, 6 and 7
		f = env.Reopen(t, f.Killed())
		var batches Journal[string]
		f.Batches("batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
			batches.Add(numbersAndAttempts(events))
			return nil
		}, runtime.WithBatch(4, time.Second), runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.None)))
		f.MustStart()
		f.Idle()
		f.sawBatches(batches.All(), "3.3", "5.2 6.2", "7.2")
	})
}

func (env *Env) TestHalvesDoNotWaitForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := env.halving(t, 5, 5, nil)
		h.kills = halvingKilledIn(h, 1)
		h.opts = append(h.opts, runtime.WithBatch(5, time.Hour))
		h.live()
		h.live()
		h.want("1.2+2.2+3.2 4.2+5.2")
		h.wantDead()
	})
}
