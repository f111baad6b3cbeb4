package conformance

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
)

// express publishes a job of that number with a priority of its own.
func (f *Fixture) express(number int, p runtime.Priority) {
	f.T.Helper()
	_, err := runtime.Publish(f.T.Context(), f.Bus, UserType, UserCreated{Name: strconv.Itoa(number)}, runtime.WithPriority(p))
	Must(f.T, err)
}

func numberOf(e runtime.Event[UserCreated]) int {
	n, _ := strconv.Atoi(e.Payload.Name)
	return n
}

// backlogOf publishes normal events of these numbers.
func (f *Fixture) backlogOf(numbers []int) {
	f.T.Helper()
	all := make([]UserCreated, len(numbers))
	for i, n := range numbers {
		all[i].Name = strconv.Itoa(n)
	}
	_, err := runtime.PublishBatch(f.T.Context(), f.Bus, UserType, all)
	Must(f.T, err)
}

// requireExpress skips what the engine does not promise.
func (env *Env) requireExpress(t *testing.T) {
	t.Helper()
	if !env.Express {
		t.Skip("critical and high events overtake only what is in memory")
	}
}

func (env *Env) TestACriticalEventBehindABacklogBeginsWithinOneTurn(t *testing.T) {
	env.requireExpress(t)
	for how, opts := range map[string][]runtime.SubscribeOption{
		"alone": nil, "with four workers": {runtime.WithConcurrency(4)}, "in a group": {runtime.InGroup("all")},
	} {
		for when, restart := range map[string]bool{"before the start": true, "while it works": false} {
			t.Run(how+", "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					f := env.Open(t)
					var seen, again Journal[int]
					var quick atomic.Bool
					subscribe := func() {
						_, err := runtime.Subscribe(f.Bus, UserType, "slow", func(_ context.Context, e runtime.Event[UserCreated]) error {
							if seen.Add(numberOf(e)); e.Attempt > 1 {
								again.Add(numberOf(e))
							}
							if !quick.Load() {
								time.Sleep(time.Second)
							}
							return nil
						}, opts...)
						Must(t, err)
					}
					subscribe()
					f.backlogOf(Numbers(1, 2000))
					if restart {
						f.express(-1, runtime.PriorityCritical)
						f.Stop()
						f = env.Reopen(t, f.Path)
						subscribe()
					}
					f.MustStart()
					if !restart {
						time.Sleep(3*time.Second + 500*time.Millisecond)
						f.express(-1, runtime.PriorityCritical)
					}
					time.Sleep(2 * time.Second)
					before := slices.Index(seen.All(), -1)
					if most := 20; before < 0 || restart && before >= 4 || before > most {
						t.Fatalf("the critical event is at %d of what was handled: %v", before, seen.All())
					}
					f.express(-2, runtime.PriorityHigh)
					f.express(-3, runtime.PriorityCritical)
					time.Sleep(1800 * time.Millisecond) // at least one of them runs
					target := f.Killed()
					quick.Store(true)
					f = env.Reopen(t, target)
					if lags, err := f.peek().file.Subscriptions(t.Context()); err != nil || lags[0].Waiting+lags[0].Running > 20 {
						t.Errorf("the crash gave rows to deliveries that had not begun: %+v, %v", lags, err)
					}
					subscribe()
					f.MustStart()
					if lags, err := f.peek().file.Subscriptions(t.Context()); err != nil || lags[0].Waiting+lags[0].Running > 20 {
						t.Errorf("the crash gave rows to deliveries that had not begun: %+v, %v", lags, err)
					}
					f.Idle()
					got := seen.All()
					slices.Sort(got)
					for n := 1; n <= 2000; n++ {
						if !slices.Contains(got, n) {
							t.Errorf("event %d was not handled", n)
						}
					}
					for _, n := range []int{-1, -2, -3} {
						times := len(slices.DeleteFunc(slices.Clone(got), func(m int) bool { return m != n }))
						if times == 0 || n == -1 && times > 1 {
							t.Errorf("event %d was handled %d times", n, times)
						}
					}
					if again := again.All(); len(again) > 300 {
						t.Errorf("%d events seem to have been handled before the crash", len(again))
					}
				})
			})
		}
	}
}

func (env *Env) TestACriticalEventGoesAheadOfAThousandRetries(t *testing.T) {
	env.requireExpress(t)
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		_, err := runtime.Subscribe(f.Bus, UserType, "slow", func(_ context.Context, e runtime.Event[UserCreated]) error {
			if e.Attempt == 1 && numberOf(e) > 0 {
				return runtime.RetryAfter(time.Minute, ErrBoom)
			}
			seen.Add(numberOf(e))
			time.Sleep(time.Second)
			return nil
		}, runtime.WithBreaker(breaker.Off()))
		Must(t, err)
		f.backlogOf(Numbers(1, 1000))
		f.MustStart()
		time.Sleep(2 * time.Minute)
		before := len(seen.All())
		f.express(-1, runtime.PriorityCritical)
		time.Sleep(2 * time.Second)
		if got := seen.All(); !slices.Contains(got, -1) || before == 0 {
			t.Errorf("%d retries had ended before, and now %v", before, got)
		}
	})
}

func (env *Env) TestNothingGoesAheadInAStrictOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var seen Journal[int]
		subscribe := func(opts ...runtime.SubscribeOption) {
			_, err := runtime.Subscribe(f.Bus, UserType, "ordered", func(_ context.Context, e runtime.Event[UserCreated]) error {
				seen.Add(numberOf(e))
				time.Sleep(50 * time.Millisecond)
				return nil
			}, opts...)
			Must(t, err)
		}
		publish := func(from, to int) {
			for n := from; n < to; n++ {
				priority := runtime.PriorityNormal
				if n%20 == 19 {
					priority = runtime.PriorityCritical
				}
				f.express(n, priority)
			}
		}
		subscribe() // a program that had no order yet has published
		publish(0, 600)
		f.Stop()
		f = env.Reopen(t, f.Path)
		subscribe(runtime.WithStrictOrder())
		f.MustStart()
		publish(600, 1200)
		f.Idle()
		if got := seen.All(); !slices.Equal(got, Numbers(0, 1199)) {
			t.Errorf("handled in the order %v", got)
		}
	})
}

func (env *Env) TestManyHighEventsLeaveTurnsToTheBacklogAndTheRetries(t *testing.T) {
	env.requireExpress(t)
	synctest.Test(t, func(t *testing.T) {
		types, catalogue := jobs()
		f := env.ReopenWith(t, env.Target(t), catalogue)
		var seen Journal[string]
		retried := false
		_, err := runtime.SubscribePattern(f.Bus, "job.*", "jobs", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			if e.Attempt > 1 {
				seen.Add("retry")
				return nil
			}
			if seen.Add(e.Type); e.Type == "job.low" && !retried {
				retried = true
				return ErrBoom
			}
			time.Sleep(10 * time.Millisecond)
			return nil
		})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, types["low"], UserCreated{})
		Must(t, err)
		for _, word := range []string{"normal", "high"} {
			_, err := runtime.PublishBatch(t.Context(), f.Bus, types[word], make([]UserCreated, 1500))
			Must(t, err)
		}
		f.MustStart()
		f.Idle()
		got, passed := seen.All(), 0
		high := len(slices.DeleteFunc(slices.Clone(got), func(s string) bool { return s != "job.high" }))
		if len(got) != 3002 || high != 1500 {
			t.Fatalf("%d were handled, and %d of them are high", len(got), high)
		}
		for i, word := range got {
			if passed++; word == "job.normal" {
				passed = 0
			}
			if passed > 11 && slices.Contains(got[i:], "job.normal") {
				t.Fatalf("a normal event was overtaken %d times: %v", passed, got[i-passed:i+1])
			}
		}
		if at := slices.Index(got, "retry"); at > 500 {
			t.Errorf("the retry is at %d", at)
		}
	})
}

func (env *Env) TestAnEventThatGoesAheadKeepsTheOrderOfItsKey(t *testing.T) {
	for how, opts := range map[string][]runtime.SubscribeOption{
		"one at a time": nil, "with four workers": {runtime.WithConcurrency(4)}, "in strict order": {runtime.WithStrictOrder()},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var seen Journal[string]
				subscribe := func() {
					f.Handle("ordered", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						seen.Add(fmt.Sprint(e.Payload.OrderID, e.Payload.Number))
						time.Sleep(50 * time.Millisecond)
						return nil
					}, opts...)
				}
				subscribe()
				want := map[byte][]string{}
				for n := range 900 {
					key := "abc"[n%3 : n%3+1]
					var opts []runtime.PublishOption
					if n%20 == 19 || n > 400 && n < 500 {
						opts = append(opts, runtime.WithPriority(runtime.PriorityCritical))
					}
					if n == 600 { // some are in memory then
						f.MustStart()
						time.Sleep(270 * time.Millisecond)
					}
					_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: key, Number: n}, opts...)
					Must(t, err)
					want[key[0]] = append(want[key[0]], fmt.Sprint(key, n))
				}
				time.Sleep(5 * time.Second)
				f.Stop()
				f = env.Reopen(t, f.Path)
				subscribe()
				f.MustStart()
				time.Sleep(5*time.Second + 20*time.Millisecond)
				f = env.Reopen(t, f.Killed()) // the cursor has passed what ran, and what was behind that in memory
				subscribe()
				f.MustStart()
				f.Idle()
				got := map[byte][]string{}
				for _, one := range seen.All() {
					if of := got[one[0]]; !slices.Contains(of, one) { // what was interrupted comes again
						got[one[0]] = append(of, one)
					}
				}
				for key := range want {
					if !slices.Equal(got[key], want[key]) {
						t.Errorf("key %c was handled in the order %v", key, got[key])
					}
				}
			})
		})
	}
}

func (env *Env) TestAnEventThatGoesAheadLooksLikeAllOthers(t *testing.T) {
	env.requireExpress(t)
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		handle := func(name string, opts ...runtime.SubscribeOption) *Journal[int] {
			seen := &Journal[int]{}
			_, err := runtime.Subscribe(f.Bus, UserType, name, func(_ context.Context, e runtime.Event[UserCreated]) error {
				seen.Add(numberOf(e))
				return nil
			}, opts...)
			Must(t, err)
			return seen
		}
		first := handle("first")
		f.backlogOf(Numbers(1, 200))
		f.express(-1, runtime.PriorityCritical)
		for _, e := range f.peek().events() {
			if !e.Due.IsZero() || e.Status != event.StatusPending {
				t.Errorf("event %d has the status %s and is due at %v", e.Seq, e.Status, e.Due)
			}
		}
		for _, d := range f.peek().deliveries() {
			if !d.Due.IsZero() || d.State != event.StatePending {
				t.Errorf("a delivery is %s and due at %v", d.State, d.Due)
			}
		}
		if lag, err := f.peek().file.Subscriptions(t.Context()); err != nil || lag[0].Backlog != 201 || lag[0].Waiting != 0 {
			t.Errorf("the backlog is %+v, %v", lag, err)
		}
		later, all := handle("later"), handle("all", runtime.FromBeginning())
		f.express(-2, runtime.PriorityHigh)
		f.MustStart()
		f.Idle()
		ordered := append([]int{-1, -2}, Numbers(1, 200)...)
		for name, one := range map[string]struct {
			seen *Journal[int]
			want []int
		}{"first": {first, ordered}, "later": {later, []int{-2}}, "all": {all, ordered}} {
			if got := one.seen.All(); !slices.Equal(got, one.want) {
				t.Errorf("%s has handled %v, want %v", name, got, one.want)
			}
		}
	})
}

func (env *Env) TestCriticalEventsThatWaitForALimitDoNotKeepOthersWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := runtime.Spec[Job]{Name: "job.keyed", Settings: Within(30*time.Second, Exact())}
		spec.Settings.Limits = []declare.LimitUse{{Limit: "mail"}}
		mail := runtime.Define(spec)
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(freeJob, mail), runtime.WithLimit(declare.Limit{Name: "mail", AtOnce: 1}))
		var limited, free atomic.Int32
		_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			if e.Type == "job.keyed" {
				limited.Add(1)
			} else {
				free.Add(1)
			}
			time.Sleep(5 * time.Millisecond)
			return nil
		}, runtime.WithConcurrency(8))
		Must(t, err)
		f.MustStart()
		publish := func(eventType *runtime.EventType[Job], n int) {
			_, err := runtime.PublishBatch(t.Context(), f.Bus, eventType, make([]Job, n), runtime.WithPriority(runtime.PriorityCritical))
			Must(t, err)
		}
		publish(mail, 2000)
		time.Sleep(time.Second / 2)
		publish(freeJob, 1)
		time.Sleep(200 * time.Millisecond)
		if free.Load() != 1 || limited.Load() > 500 {
			t.Errorf("%d of 1 of the other type was handled, beside %d of the limited one", free.Load(), limited.Load())
		}
		f.Idle()
		if limited.Load() != 2000 {
			t.Errorf("%d of 2000 were handled", limited.Load())
		}
	})
}
