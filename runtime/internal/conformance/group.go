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
	"github.com/busgen/busgen/runtime/retry"
)

// steps collects "member event" lines.
type steps struct{ Journal[string] }

func (s *steps) of(member string) (of []string) {
	for _, step := range s.All() {
		if strings.HasPrefix(step, member+" ") {
			of = append(of, strings.TrimPrefix(step, member+" "))
		}
	}
	return of
}

// member returns a handler that notes what it sees and then does what do says.
func (s *steps) member(name string, do func(e runtime.Event[OrderPlaced]) error) runtime.Handler[OrderPlaced] {
	return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
		s.Add(fmt.Sprintf("%s %d", name, e.Payload.Number))
		if do == nil {
			return nil
		}
		return do(e)
	}
}

func failsTwice(e runtime.Event[OrderPlaced]) error {
	if e.Attempt <= 2 {
		return ErrBoom
	}
	return nil
}

func (env *Env) TestOnlyTheSubscriptionThatFailedIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s steps
		f.Handle("A", s.member("A", nil))
		f.Handle("B", s.member("B", failsTwice))
		f.Handle("C", s.member("C", nil))
		f.MustStart()
		f.Publish(Numbers(1, 100)...)
		f.Idle()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 100 || b != 300 || c != 100 {
			t.Errorf("A ran %d times, B %d, C %d; want 100, 300, 100", a, b, c)
		}
	})
}

func (env *Env) TestAGroupResumesAtTheMemberThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s steps
		f.Handle("A", s.member("A", nil), runtime.InGroup("checkout"))
		f.Handle("B", s.member("B", failsTwice), runtime.InGroup("checkout"))
		f.Handle("C", s.member("C", nil), runtime.InGroup("checkout"))
		f.MustStart()
		f.Publish(Numbers(1, 100)...)
		f.Idle()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 100 || b != 300 || c != 100 {
			t.Errorf("A ran %d times, B %d, C %d; want 100, 300, 100", a, b, c)
		}
		for _, n := range Numbers(1, 100) {
			var order []string
			for _, step := range s.All() {
				if member, number, _ := strings.Cut(step, " "); number == fmt.Sprint(n) {
					order = append(order, member)
				}
			}
			if got := strings.Join(order, ""); got != "ABBBC" {
				t.Fatalf("event %d went through %s, want ABBBC", n, got)
			}
		}
		if got := f.peek().subscriptions(); len(got) != 1 {
			t.Errorf("the file has the subscriptions %q, want the group only", got)
		}
	})
}

func (env *Env) TestAGroupRemembersItsProgressAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s steps
		join := func(f *Fixture, b func(runtime.Event[OrderPlaced]) error) {
			f.Handle("A", s.member("A", nil), runtime.InGroup("checkout"))
			f.Handle("B", s.member("B", b), runtime.InGroup("checkout"), runtime.WithRetry(retry.MaxAttempts(2)))
			f.Handle("C", s.member("C", nil), runtime.InGroup("checkout"))
		}
		join(f, func(runtime.Event[OrderPlaced]) error { return ErrBoom })
		f.MustStart()
		f.Publish(1)
		time.Sleep(500 * time.Millisecond)
		f.Stop()
		f = env.Reopen(t, f.Path)
		join(f, func(runtime.Event[OrderPlaced]) error { return ErrBoom })
		f.MustStart()
		f.Idle()
		l := env.Letter(t, f.Path)
		if l.Subscription != "checkout" || len(l.Attempts) != 2 || l.Attempts[0].Member != "B" {
			t.Errorf("the dead letter is of %s with attempts %+v", l.Subscription, l.Attempts)
		}
		f.Stop()
		// Once it is repaired the dead letter goes on where it was.
		f = env.Reopen(t, f.Path)
		join(f, nil)
		f.MustStart()
		env.Redrive(t, f.Path, l.Key)
		time.Sleep(time.Second)
		f.Idle()
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,B 1,B 1,C 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func (env *Env) TestEventsPublishedByAMemberAreStoredWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		publishes := func(order string, result error) runtime.Handler[OrderPlaced] {
			return func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: order})
				return errors.Join(err, result)
			}
		}
		f.Handle("A", publishes("of A", nil), runtime.InGroup("checkout"))
		f.Handle("B", publishes("of B", ErrBoom), runtime.InGroup("checkout"), runtime.WithRetry(retry.MaxAttempts(2)))
		f.Handle("C", publishes("of C", nil), runtime.InGroup("checkout"))
		var paid Journal[string]
		_, err := runtime.Subscribe(f.Bus, PaidType, "paid", func(_ context.Context, e runtime.Event[OrderPaid]) error {
			paid.Add(e.Payload.OrderID)
			return nil
		})
		Must(t, err)
		f.MustStart()
		f.Publish(1)
		f.Idle()
		if got := paid.All(); !slices.Equal(got, []string{"of A"}) {
			t.Errorf("stored %q, want what A published, once", got)
		}
	})
}

func (env *Env) TestAMemberWithAnOpenBreakerIsSkippedAndMissesNoEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.OpenFragile(t)
		var s steps
		var broken atomic.Bool
		broken.Store(true)
		join := func(name string, do func(runtime.Event[OrderPlaced]) error) {
			_, err := runtime.Subscribe(f.Bus, FragileType, name, s.member(name, do), runtime.InGroup("checkout"),
				runtime.WithRetry(retry.MaxAttempts(1)))
			Must(t, err)
		}
		join("A", nil)
		join("B", func(runtime.Event[OrderPlaced]) error {
			if broken.Load() {
				return ErrBoom
			}
			return nil
		})
		join("C", nil)
		f.MustStart()
		f.Fragile(1, 4) // B fails four times: its breaker opens
		synctest.Wait()
		broken.Store(false)
		f.Fragile(5, 24)
		synctest.Wait()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 24 || b != 4 || c != 20 {
			t.Errorf("while B's breaker is open A ran %d times, B %d, C %d; want 24, 4, 20", a, b, c)
		}
		f.Idle()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 24 || b != 24 || c != 20 {
			t.Errorf("afterwards A ran %d times, B %d, C %d; want 24, 24, 20", a, b, c)
		}
	})
}

func (env *Env) TestAGroupHasTheMostPermissivePolicyOfItsMembers(t *testing.T) {
	for name, test := range map[string]struct {
		members [][]retry.Option
		want    []time.Duration // of the executions of the last member, which always fails
	}{
		"without overrides it is the catalogue's": {
			[][]retry.Option{nil, nil}, []time.Duration{0, 1 * time.Second, 3 * time.Second, 7 * time.Second},
		},
		"one override counts alone, also if it is lower": {
			[][]retry.Option{{retry.MaxAttempts(2)}, nil}, []time.Duration{0, time.Second},
		},
		"of two the higher number of attempts and the shorter delay": {
			[][]retry.Option{{retry.MaxAttempts(2), retry.BaseDelay(4 * time.Second)}, {retry.MaxAttempts(3), retry.BaseDelay(2 * time.Second)}},
			[]time.Duration{0, 2 * time.Second, 6 * time.Second},
		},
		"fields are merged one by one": {
			[][]retry.Option{{retry.MaxAttempts(3)}, {retry.BaseDelay(5 * time.Second), retry.Multiplier(3)}},
			[]time.Duration{0, 5 * time.Second, 20 * time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := env.Open(t)
				var times Journal[time.Duration]
				for i, opts := range test.members {
					last := i == len(test.members)-1
					f.Handle(fmt.Sprintf("member %d", i), func(_ context.Context, e runtime.Event[OrderPlaced]) error {
						if !last {
							return nil
						}
						times.Add(time.Since(e.PublishedAt).Round(time.Millisecond))
						return ErrBoom
					}, runtime.InGroup("checkout"), runtime.WithRetry(opts...))
				}
				f.MustStart()
				f.Publish(1)
				f.Idle()
				if got := times.All(); !slices.Equal(got, test.want) {
					t.Errorf("ran after %v, want %v", got, test.want)
				}
			})
		})
	}
}

func (env *Env) TestMembersOfAGroupMayBeForDifferentTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var ran Journal[string]
		note := func(name string) runtime.Handler[runtime.Raw] {
			return func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				ran.Add(name + ":" + e.Type)
				return nil
			}
		}
		for _, m := range []struct{ name, pattern string }{{"orders", "order.*"}, {"all", "*"}, {"paid", "order.paid"}} {
			_, err := runtime.SubscribePattern(f.Bus, m.pattern, m.name, note(m.name), runtime.InGroup("g"))
			Must(t, err)
		}
		f.MustStart()
		_, err := runtime.Publish(t.Context(), f.Bus, PaidType, OrderPaid{})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, UserType, UserCreated{})
		Must(t, err)
		f.Publish(1)
		f.Idle()
		want := "orders:order.paid all:order.paid paid:order.paid all:user.created orders:order.placed all:order.placed"
		if got := strings.Join(ran.All(), " "); got != want {
			t.Errorf("ran %s\nwant %s", got, want)
		}
	})
}

func (env *Env) TestAHangingMemberUsesAnAttemptAndTheOthersDoNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s steps
		f.Handle("A", s.member("A", nil), runtime.InGroup("g"))
		f.Handle("B", s.member("B", func(e runtime.Event[OrderPlaced]) error {
			if e.Attempt == 1 {
				time.Sleep(time.Hour)
			}
			return nil
		}), runtime.InGroup("g"), runtime.WithTimeout(5*time.Second), runtime.WithRetry(retry.BaseDelay(3*time.Second)))
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		time.Sleep(2 * time.Hour)
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,A 2,B 2,B 1,B 2"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func (env *Env) TestAShutdownBetweenTwoMembersKeepsWhatTheFirstHasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		var s steps
		f.Handle("A", s.member("A", func(runtime.Event[OrderPlaced]) error { time.Sleep(time.Second); return nil }), runtime.InGroup("g"))
		f.Handle("B", s.member("B", nil), runtime.InGroup("g"))
		f.MustStart()
		f.Publish(1)
		synctest.Wait()
		f.Stop() // waits for A
		f = env.Reopen(t, f.Path)
		f.Handle("A", s.member("A", nil), runtime.InGroup("g"))
		f.Handle("B", s.member("B", nil), runtime.InGroup("g"))
		f.MustStart()
		f.Idle()
		if got, want := strings.Join(s.All(), ","), "A 1,B 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func (env *Env) TestWhoMayJoinAGroup(t *testing.T) {
	f := env.Open(t)
	nothing := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	f.Handle("alone", nothing)
	f.Handle("member", nothing, runtime.InGroup("group"))
	refused := func(why, want, name string, opts ...runtime.SubscribeOption) {
		t.Helper()
		_, err := runtime.Subscribe(f.Bus, PlacedType, name, nothing, opts...)
		if problem, ok := errors.AsType[*runtime.SubscribeError](err); !ok || !strings.Contains(problem.Problem, want) {
			t.Errorf("%s: %v, want a SubscribeError that says %q", why, err, want)
		}
	}
	refused("a group with the name of a subscription", `there is a subscription "alone"`, "x", runtime.InGroup("alone"))
	refused("a subscription with the name of a group", "there is a group of this name", "group")
	refused("a group without a name", `the group " "`, "x", runtime.InGroup(" "))
	_, err := runtime.SubscribeDead(f.Bus, PlacedType, "dead", func(context.Context, runtime.Event[runtime.DeadLetter[OrderPlaced]]) error { return nil }, runtime.InGroup("group"))
	if problem, ok := errors.AsType[*runtime.SubscribeError](err); !ok || !strings.Contains(problem.Problem, "dead letters cannot be in a group") {
		t.Errorf("dead letters in a group: %v", err)
	}
	f.MustStart()
	refused("a member that comes late", "must be subscribed before the bus is started", "late", runtime.InGroup("group"))
}
