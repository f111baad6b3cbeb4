package conformance

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// The handler ends before the process that dispatches has looked for discards, which it does every 200 ms.
func (env *Env) TestADiscardIsSettledAlthoughTheHandlerFailsBeforeItIsSeen(t *testing.T) {
	for how, ends := range map[string]error{"fails": ErrBoom, "snoozes": runtime.Snooze(2 * time.Hour)} {
		for _, after := range []time.Duration{5 * time.Millisecond, 60 * time.Millisecond, 180 * time.Millisecond} {
			t.Run(fmt.Sprintf("%s %v later", how, after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					var second time.Time
					f.Handle("strict", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						if e.Payload.Number == 2 {
							second = time.Now()
							return nil
						}
						time.Sleep(time.Second + after)
						return ends
					}, runtime.WithStrictOrder(), twoHours(5))
					f.MustStart()
					r := f.Publish(1, 2)[0]
					time.Sleep(time.Second)
					discarded := time.Now()
					_, err := f.outside().DiscardEvent(t.Context(), r.ID, "strict", "why")
					Must(t, err)
					outcome, err := r.Wait(t.Context())
					Must(t, err)
					f.Idle()
					if took := time.Since(discarded); took > time.Second || second.Sub(discarded) > time.Second {
						t.Errorf("it was settled %v after the discard, and the next event was handled after %v", took, second.Sub(discarded))
					}
					if d := outcome.Deliveries[0]; !d.Discarded || d.Reason != "why" {
						t.Errorf("the outcome is %+v", d)
					}
				})
			})
		}
	}
}

// The handler is at work meanwhile: what is not begun is discarded at once.
func (env *Env) TestADiscardThatIsSaidAgainKeepsItsFirstReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
			time.Sleep(10 * time.Second)
			return ErrBoom
		}, twoHours(5))
		f.MustStart()
		r := f.Publish(1)[0]
		time.Sleep(time.Second)
		for _, reason := range []string{"first", "second"} {
			_, err := f.outside().DiscardEvent(t.Context(), r.ID, "reader", reason)
			Must(t, err)
			time.Sleep(time.Second)
		}
		outcome, err := r.Wait(t.Context())
		Must(t, err)
		if d := outcome.Deliveries[0]; !d.Discarded || d.Reason != "first" {
			t.Errorf("the outcome is %+v", d)
		}
	})
}

// Member a has handled the event before b ends the delivery of their group.
func (env *Env) TestAMemberThatHasHandledAnEventIsNotCalledAgainAfterTheUndoOfItsDiscard(t *testing.T) {
	for name, c := range map[string]struct {
		ends     []error // of the calls of b
		operator bool    // discards while b runs for the first time
		want     []string
	}{
		"by a word of the handler":                 {ends: []error{runtime.Discard("no need")}, want: []string{"a", "b", "b"}},
		"by a word of the handler after a failure": {ends: []error{ErrBoom, runtime.Discard("no need")}, want: []string{"a", "b", "b", "b"}},
		"by an operator":                           {ends: []error{ErrBoom}, operator: true, want: []string{"a", "b", "b"}},
		"by an operator before a retry":            {ends: []error{ErrBoom, ErrBoom}, operator: true, want: []string{"a", "b", "b", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[string]
				calls := 0
				f.Handle("a", func(context.Context, runtime.Event[OrderPlaced]) error { seen.Add("a"); return nil }, runtime.InGroup("g"))
				f.Handle("b", func(context.Context, runtime.Event[OrderPlaced]) error {
					seen.Add("b")
					calls++
					time.Sleep(5 * time.Second)
					if calls <= len(c.ends) {
						return c.ends[calls-1]
					}
					return nil
				}, runtime.InGroup("g"), twoHours(5))
				f.MustStart()
				r, file := f.Publish(1)[0], f.outside()
				if c.operator && len(c.ends) == 1 {
					time.Sleep(2 * time.Second)
				} else {
					time.Sleep(3 * time.Hour)
				}
				if c.operator {
					_, err := file.DiscardEvent(t.Context(), r.ID, "", "why")
					Must(t, err)
				}
				time.Sleep(20 * time.Second)
				undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
				Must(t, err)
				time.Sleep(time.Minute)
				f.Idle()
				if all := seen.All(); undone.Due != 1 || !slices.Equal(all, c.want) {
					t.Errorf("undone %+v, called %v, want %v", undone, all, c.want)
				}
			})
		})
	}
}

// The delivery has failed once and waits for two hours when it is discarded. That is undone at once or after it
// was settled, by a bus or while there is none.
func (env *Env) TestTheUndoOfADiscardBeginsAnewAndIsDueNow(t *testing.T) {
	for name, c := range map[string]struct {
		stopped, killed bool
		after           time.Duration
	}{
		"at once":                        {},
		"after it was settled":           {after: time.Second},
		"without a bus":                  {stopped: true},
		"while the process is dead":      {killed: true},
		"some time after it has died":    {killed: true, after: time.Minute},
		"without a bus, some time later": {stopped: true, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[string]
				start := time.Now()
				subscribe := func() {
					f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						seen.Add(fmt.Sprintf("%d/%d after %v", e.Attempt, e.MaxAttempts, time.Since(start).Round(10*time.Second)))
						return ErrBoom
					}, twoHours(2))
				}
				subscribe()
				f.MustStart()
				r := f.Publish(1)[0]
				time.Sleep(10 * time.Minute)
				target := f.Path
				if c.killed {
					target = f.Killed()
				} else if c.stopped {
					f.Stop()
				}
				file, err := env.OpenFile(t.Context(), target)
				Must(t, err)
				defer file.Close()
				_, err = file.DiscardEvent(t.Context(), r.ID, "", "why")
				Must(t, err)
				time.Sleep(c.after)
				undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
				Must(t, err)
				if c.killed || c.stopped {
					f = env.Reopen(t, target)
					subscribe()
					f.MustStart()
				}
				time.Sleep(3 * time.Hour)
				want := []string{"1/2 after 0s", "2/3 after 10m0s", "3/3 after 2h10m0s"}
				if c.after >= time.Minute {
					want = []string{"1/2 after 0s", "2/3 after 11m0s", "3/3 after 2h11m0s"}
				}
				if all := seen.All(); undone.Due != 1 || !slices.Equal(all, want) {
					t.Errorf("undone %+v, called %v, want %v", undone, all, want)
				}
			})
		})
	}
}

// The owner has not looked for discards when the last attempt fails.
func (env *Env) TestADiscardIsNoDeadLetterAlthoughTheLastAttemptFailsBeforeItIsSeen(t *testing.T) {
	for how, ends := range map[string]error{"the last attempt": ErrBoom, "for good": runtime.Permanent(ErrBoom)} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error {
					time.Sleep(time.Second + 5*time.Millisecond)
					return ends
				}, twoHours(1))
				var notices Journal[string]
				_, err := runtime.SubscribeDead(f.Bus, PlacedType, "undertaker", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
					notices.Add(e.Payload.Reason)
					return nil
				})
				Must(t, err)
				f.MustStart()
				r, file := f.Publish(1)[0], f.outside()
				time.Sleep(time.Second)
				Must(t, second(file.DiscardEvent(t.Context(), r.ID, "reader", "why")))
				outcome, err := r.Wait(t.Context())
				Must(t, err)
				f.Idle()
				if d := outcome.Deliveries[0]; !d.Discarded || d.Dead || d.Reason != "why" || d.Failures != 1 {
					t.Errorf("the outcome is %+v", d)
				}
				if dead := env.deadLetters(t, f.Path); dead > 0 || len(notices.All()) > 0 {
					t.Errorf("there are %d dead letters, and the notices %v", dead, notices.All())
				}
			})
		})
	}
}

// Two handlers ran when the process ended, so both events are suspects. One is discarded before it has run again.
func (env *Env) TestASuspectIsOneAfterTheUndoOfItsDiscard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		f.Handle("reader", Hang, runtime.WithConcurrency(2))
		f.MustStart()
		r := f.Publish(1, 2)[0]
		time.Sleep(time.Second)
		f = env.Reopen(t, f.Killed())
		var seen Journal[string]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d begins", e.Payload.Number))
			time.Sleep(time.Minute)
			seen.Add(fmt.Sprintf("%d ends", e.Payload.Number))
			return nil
		}, runtime.WithConcurrency(2), runtime.WithoutTimeout())
		file := f.outside()
		Must(t, second(file.DiscardEvent(t.Context(), r.ID, "", "why")))
		f.MustStart()
		time.Sleep(2 * time.Minute)
		// of another partition key
		Must(t, second(runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "B", Number: 3})))
		time.Sleep(10 * time.Second)
		undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
		Must(t, err)
		time.Sleep(3 * time.Minute)
		f.Idle()
		want := []string{"2 begins", "2 ends", "3 begins", "3 ends", "1 begins", "1 ends"}
		if all := seen.All(); undone.Due != 1 || !slices.Equal(all, want) {
			t.Errorf("undone %+v, seen %v, want %v", undone, all, want)
		}
	})
}

// The handler has snoozed before it fails for good: one execution that is on no record.
func (env *Env) TestADeadLetterThatIsRestoredKnowsHowOftenItWasExecuted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		ends := []error{runtime.Snooze(time.Minute), runtime.Snooze(time.Minute), runtime.Permanent(ErrBoom), nil}
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d/%d", e.Attempt, e.MaxAttempts))
			return ends[len(seen.All())-1]
		}, twoHours(5))
		f.MustStart()
		r, file := f.Publish(1)[0], f.outside()
		time.Sleep(10 * time.Minute)
		Must(t, second(file.DiscardDeadLetters(t.Context(), inspect.Selection{}, "why")))
		undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
		Must(t, err)
		Must(t, second(file.Retry(t.Context(), inspect.Selection{})))
		time.Sleep(time.Minute)
		f.Idle()
		if all, want := seen.All(), []string{"1/5", "2/6", "3/7", "4/8"}; undone.Dead != 1 || !slices.Equal(all, want) {
			t.Errorf("undone %+v, attempts %v, want %v", undone, all, want)
		}
	})
}

// It was polled, and waits for the only worker, when it is discarded and that is undone.
func (env *Env) TestAnEventThatWasPolledBeforeTheUndoOfItsDiscardBeginsAnew(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, time.Second, 5 * time.Second} {
		for _, meanwhile := range []string{"nothing", "a pause", "a restart"} {
			t.Run(fmt.Sprintf("%v later, meanwhile %s", after, meanwhile), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					var seen Journal[string]
					subscribe := func() {
						f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
							if e.Payload.Number == 2 {
								time.Sleep(30 * time.Second)
								return nil
							}
							seen.Add(fmt.Sprintf("%d/%d", e.Attempt, e.MaxAttempts))
							return ErrBoom
						}, runtime.WithoutTimeout(), runtime.WithRetry(retry.MaxAttempts(2), retry.WithBackoff(retry.Constant), retry.BaseDelay(10*time.Second), retry.Jitter(0)))
						f.MustStart()
					}
					subscribe()
					r, file := f.Publish(1)[0], f.outside()
					time.Sleep(time.Second)
					f.Publish(2)
					time.Sleep(12 * time.Second)
					if meanwhile == "a pause" {
						Must(t, f.PauseSubscription(t.Context(), "reader", ""))
					}
					Must(t, second(file.DiscardEvent(t.Context(), r.ID, "", "why")))
					time.Sleep(after)
					undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
					Must(t, err)
					if meanwhile == "a restart" {
						f.Stop()
						f = env.Reopen(t, f.Path)
						subscribe()
					}
					time.Sleep(15 * time.Second)
					if meanwhile == "a pause" {
						Must(t, f.ResumeSubscription(t.Context(), "reader"))
					}
					f.Idle()
					if all, want := seen.All(), []string{"1/2", "2/3", "3/3"}; undone.Due != 1 || !slices.Equal(all, want) {
						t.Errorf("undone %+v, attempts %v, want %v", undone, all, want)
					}
				})
			})
		}
	}
}

// Nobody has called a handler for it: it is its first attempt.
func (env *Env) TestAnEventThatWasNeverTriedIsNewAfterTheUndoOfItsDiscard(t *testing.T) {
	for name, c := range map[string]struct {
		stopped bool
		after   time.Duration
	}{
		"at once": {}, "after it was settled": {after: time.Minute},
		"without a bus": {stopped: true}, "without a bus, some time later": {stopped: true, after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[string]
				subscribe := func() {
					f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						seen.Add(fmt.Sprintf("%d/%d", e.Attempt, e.MaxAttempts))
						return nil
					}, twoHours(2))
				}
				subscribe()
				f.MustStart()
				Must(t, f.PauseTypes(t.Context(), PlacedType.Name(), ""))
				r := f.Publish(1)[0]
				time.Sleep(time.Minute)
				if c.stopped {
					f.Stop()
				}
				file := f.outside()
				Must(t, second(file.DiscardEvent(t.Context(), r.ID, "", "why")))
				time.Sleep(c.after)
				undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
				Must(t, err)
				time.Sleep(time.Minute)
				if c.stopped {
					f = env.Reopen(t, f.Path)
					subscribe()
					f.MustStart()
				}
				Must(t, f.ResumeTypes(t.Context(), PlacedType.Name()))
				f.Idle()
				if all, want := seen.All(), []string{"1/2"}; undone.Due != 1 || !slices.Equal(all, want) {
					t.Errorf("undone %+v, attempts %v, want %v", undone, all, want)
				}
			})
		})
	}
}

// Number 3 is polled after it was cancelled, so nobody asks for its partition key, which is that of number 1. When
// a worker is free, the cancel was undone.
func (env *Env) TestAnEventHasItsPartitionKeyAfterTheUndoOfItsCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[string]
		f.Handle("reader", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
			seen.Add(fmt.Sprintf("%d begins", e.Payload.Number))
			defer func() { seen.Add(fmt.Sprintf("%d ends", e.Payload.Number)) }()
			switch {
			case e.Payload.Number < 3:
				time.Sleep(time.Duration(3-e.Payload.Number) * time.Minute)
			case len(seen.All()) == 1:
				return ErrBoom
			}
			return nil
		}, runtime.WithConcurrency(2), runtime.WithoutTimeout(), twoHours(3))
		f.MustStart()
		r, file := f.Publish(3)[0], f.outside()
		time.Sleep(time.Minute)
		f.Publish(1)
		time.Sleep(time.Second)
		Must(t, second(runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "B", Number: 2})))
		time.Sleep(time.Second)
		Must(t, f.Cancel(t.Context(), r.ID))
		time.Sleep(time.Second)
		undone, err := file.Undiscard(t.Context(), event.Undo{Event: r.ID})
		Must(t, err)
		time.Sleep(time.Hour)
		f.Idle()
		want := []string{"3 begins", "3 ends", "1 begins", "2 begins", "2 ends", "1 ends", "3 begins", "3 ends"}
		if all := seen.All(); undone.Due != 1 || !slices.Equal(all, want) {
			t.Errorf("undone %+v, seen %v, want %v", undone, all, want)
		}
	})
}
