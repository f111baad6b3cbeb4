package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
type steps struct{ journal[string] }

func (s *steps) of(member string) (of []string) {
	for _, step := range s.all() {
		if strings.HasPrefix(step, member+" ") {
			of = append(of, strings.TrimPrefix(step, member+" "))
		}
	}
	return of
}

// member returns a handler that notes what it sees and then does what do says.
func (s *steps) member(name string, do func(e runtime.Event[orderPlaced]) error) runtime.Handler[orderPlaced] {
	return func(_ context.Context, e runtime.Event[orderPlaced]) error {
		s.add(fmt.Sprintf("%s %d", name, e.Payload.Number))
		if do == nil {
			return nil
		}
		return do(e)
	}
}

func failsTwice(e runtime.Event[orderPlaced]) error {
	if e.Attempt <= 2 {
		return errBoom
	}
	return nil
}

func TestOnlyTheSubscriptionThatFailedIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var s steps
		f.handle("A", s.member("A", nil))
		f.handle("B", s.member("B", failsTwice))
		f.handle("C", s.member("C", nil))
		f.start()
		f.publish(numbers(1, 100)...)
		f.idle()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 100 || b != 300 || c != 100 {
			t.Errorf("A ran %d times, B %d, C %d; want 100, 300, 100", a, b, c)
		}
	})
}

func TestAGroupResumesAtTheMemberThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var s steps
		f.handle("A", s.member("A", nil), runtime.InGroup("checkout"))
		f.handle("B", s.member("B", failsTwice), runtime.InGroup("checkout"))
		f.handle("C", s.member("C", nil), runtime.InGroup("checkout"))
		f.start()
		f.publish(numbers(1, 100)...)
		f.idle()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 100 || b != 300 || c != 100 {
			t.Errorf("A ran %d times, B %d, C %d; want 100, 300, 100", a, b, c)
		}
		for _, n := range numbers(1, 100) {
			var order []string
			for _, step := range s.all() {
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

func TestAGroupRemembersItsProgressAcrossRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var s steps
		join := func(f *fixture, b func(runtime.Event[orderPlaced]) error) {
			f.handle("A", s.member("A", nil), runtime.InGroup("checkout"))
			f.handle("B", s.member("B", b), runtime.InGroup("checkout"), runtime.WithRetry(retry.MaxAttempts(2)))
			f.handle("C", s.member("C", nil), runtime.InGroup("checkout"))
		}
		join(f, func(runtime.Event[orderPlaced]) error { return errBoom })
		f.start()
		f.publish(1)
		time.Sleep(500 * time.Millisecond)
		f.stop()
		f = reopen(t, f.path)
		join(f, func(runtime.Event[orderPlaced]) error { return errBoom })
		f.start()
		f.idle()
		l := letter(t, f.path)
		if l.Subscription != "checkout" || len(l.Attempts) != 2 || l.Attempts[0].Member != "B" {
			t.Errorf("the dead letter is of %s with attempts %+v", l.Subscription, l.Attempts)
		}
		f.stop()
		// Once it is repaired the dead letter goes on where it was.
		f = reopen(t, f.path)
		join(f, nil)
		f.start()
		redrive(t, f.path, l.Key)
		time.Sleep(time.Second)
		f.idle()
		if got, want := strings.Join(s.all(), ","), "A 1,B 1,B 1,B 1,C 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func TestWhatAMemberPublishedIsStoredWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		publishes := func(order string, result error) runtime.Handler[orderPlaced] {
			return func(ctx context.Context, e runtime.Event[orderPlaced]) error {
				_, err := runtime.Publish(ctx, f.Bus, paidType, orderPaid{OrderID: order})
				return errors.Join(err, result)
			}
		}
		f.handle("A", publishes("of A", nil), runtime.InGroup("checkout"))
		f.handle("B", publishes("of B", errBoom), runtime.InGroup("checkout"), runtime.WithRetry(retry.MaxAttempts(2)))
		f.handle("C", publishes("of C", nil), runtime.InGroup("checkout"))
		var paid journal[string]
		_, err := runtime.Subscribe(f.Bus, paidType, "paid", func(_ context.Context, e runtime.Event[orderPaid]) error {
			paid.add(e.Payload.OrderID)
			return nil
		})
		must(t, err)
		f.start()
		f.publish(1)
		f.idle()
		if got := paid.all(); !slices.Equal(got, []string{"of A"}) {
			t.Errorf("stored %q, want what A published, once", got)
		}
	})
}

func TestAMemberWhoseBreakerIsOpenIsPassedOverAndMissesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openFragile(t)
		var s steps
		var broken atomic.Bool
		broken.Store(true)
		join := func(name string, do func(runtime.Event[orderPlaced]) error) {
			_, err := runtime.Subscribe(f.Bus, fragileType, name, s.member(name, do), runtime.InGroup("checkout"),
				runtime.WithRetry(retry.MaxAttempts(1)))
			must(t, err)
		}
		join("A", nil)
		join("B", func(runtime.Event[orderPlaced]) error {
			if broken.Load() {
				return errBoom
			}
			return nil
		})
		join("C", nil)
		f.start()
		f.fragile(1, 4) // B fails four times: its breaker opens
		synctest.Wait()
		broken.Store(false)
		f.fragile(5, 24)
		synctest.Wait()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 24 || b != 4 || c != 20 {
			t.Errorf("while B's breaker is open A ran %d times, B %d, C %d; want 24, 4, 20", a, b, c)
		}
		f.idle()
		if a, b, c := len(s.of("A")), len(s.of("B")), len(s.of("C")); a != 24 || b != 24 || c != 20 {
			t.Errorf("afterwards A ran %d times, B %d, C %d; want 24, 24, 20", a, b, c)
		}
	})
}

func TestAGroupHasTheMostPermissivePolicyOfItsMembers(t *testing.T) {
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
				f := open(t)
				var times journal[time.Duration]
				for i, opts := range test.members {
					last := i == len(test.members)-1
					f.handle(fmt.Sprintf("member %d", i), func(_ context.Context, e runtime.Event[orderPlaced]) error {
						if !last {
							return nil
						}
						times.add(time.Since(e.PublishedAt).Round(time.Millisecond))
						return errBoom
					}, runtime.InGroup("checkout"), runtime.WithRetry(opts...))
				}
				f.start()
				f.publish(1)
				f.idle()
				if got := times.all(); !slices.Equal(got, test.want) {
					t.Errorf("ran after %v, want %v", got, test.want)
				}
			})
		})
	}
}

func TestMembersOfAGroupMayBeForDifferentTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var ran journal[string]
		note := func(name string) runtime.Handler[runtime.Raw] {
			return func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				ran.add(name + ":" + e.Type)
				return nil
			}
		}
		for _, m := range []struct{ name, pattern string }{{"orders", "order.*"}, {"all", "*"}, {"paid", "order.paid"}} {
			_, err := runtime.SubscribePattern(f.Bus, m.pattern, m.name, note(m.name), runtime.InGroup("g"))
			must(t, err)
		}
		f.start()
		_, err := runtime.Publish(t.Context(), f.Bus, paidType, orderPaid{})
		must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, userType, userCreated{})
		must(t, err)
		f.publish(1)
		f.idle()
		want := "orders:order.paid all:order.paid paid:order.paid all:user.created orders:order.placed all:order.placed"
		if got := strings.Join(ran.all(), " "); got != want {
			t.Errorf("ran %s\nwant %s", got, want)
		}
	})
}

func TestAMemberThatHangsIsChargedAndTheOthersAreNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var s steps
		f.handle("A", s.member("A", nil), runtime.InGroup("g"))
		f.handle("B", s.member("B", func(e runtime.Event[orderPlaced]) error {
			if e.Attempt == 1 {
				time.Sleep(time.Hour)
			}
			return nil
		}), runtime.InGroup("g"), runtime.WithTimeout(5*time.Second), runtime.WithRetry(retry.BaseDelay(3*time.Second)))
		f.start()
		f.publish(1, 2)
		f.idle()
		time.Sleep(2 * time.Hour)
		if got, want := strings.Join(s.all(), ","), "A 1,B 1,A 2,B 2,B 1,B 2"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

func TestAShutdownBetweenTwoMembersKeepsWhatTheFirstHasDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		var s steps
		f.handle("A", s.member("A", func(runtime.Event[orderPlaced]) error { time.Sleep(time.Second); return nil }), runtime.InGroup("g"))
		f.handle("B", s.member("B", nil), runtime.InGroup("g"))
		f.start()
		f.publish(1)
		synctest.Wait()
		f.stop() // waits for A
		f = reopen(t, f.path)
		f.handle("A", s.member("A", nil), runtime.InGroup("g"))
		f.handle("B", s.member("B", nil), runtime.InGroup("g"))
		f.start()
		f.idle()
		if got, want := strings.Join(s.all(), ","), "A 1,B 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

// groupChild says which member runs for which event and attempt. B kills the
// process in its first attempt at event 1, and in its second at event 2, which
// has failed before.
func groupChild(path string) {
	bus, err := runtime.Open(context.Background(), path, catalogue)
	check(err)
	join := func(name string, do func(e runtime.Event[orderPlaced]) error) {
		_, err := runtime.Subscribe(bus, placedType, name, func(_ context.Context, e runtime.Event[orderPlaced]) error {
			say("%s %d %d", name, e.Payload.Number, e.Attempt)
			return do(e)
		}, runtime.InGroup("checkout"), runtime.WithRetry(retry.BaseDelay(time.Millisecond), retry.MaxAttempts(9)))
		check(err)
	}
	succeed := func(runtime.Event[orderPlaced]) error { return nil }
	join("A", succeed)
	join("B", func(e runtime.Event[orderPlaced]) error {
		if e.Attempt == e.Payload.Number {
			process, _ := os.FindProcess(os.Getpid())
			process.Kill()
			select {}
		}
		if e.Attempt < e.Payload.Number {
			return errBoom
		}
		return nil
	})
	join("C", succeed)
	check(bus.Start(context.Background()))
	check(bus.WaitIdle(context.Background()))
	check(bus.Shutdown(context.Background()))
	say("finished")
	os.Exit(0)
}

func TestAGroupThatIsKilledRunsAgainWhatWasNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.db")
	f := reopen(t, path)
	f.handle("A", func(context.Context, runtime.Event[orderPlaced]) error { return nil }, runtime.InGroup("checkout"))
	f.publish(1, 2)
	f.stop()
	var lines []string
	for lives := 0; !slices.Contains(lines, "finished") && lives < 10; lives++ {
		lines = append(lines, child(t, "group", path, 0)...)
	}
	for event, want := range map[string]string{
		"1": "A 1, B 1, A 2, B 2, C 2", // the success of A was not yet written
		"2": "A 1, B 1, B 2, B 3, C 3", // it was written with the failure of B
	} {
		var got []string
		for _, line := range lines {
			if of := strings.Fields(line); len(of) == 3 && of[1] == event {
				got = append(got, of[0]+" "+of[2])
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("event %s went through %s, want %s", event, strings.Join(got, ", "), want)
		}
	}
}

func TestWhoMayJoinAGroup(t *testing.T) {
	f := open(t)
	nothing := func(context.Context, runtime.Event[orderPlaced]) error { return nil }
	f.handle("alone", nothing)
	f.handle("member", nothing, runtime.InGroup("group"))
	refused := func(why, name string, opts ...runtime.SubscribeOption) {
		t.Helper()
		var problem *runtime.SubscribeError
		if _, err := runtime.Subscribe(f.Bus, placedType, name, nothing, opts...); !errors.As(err, &problem) {
			t.Errorf("%s: %v, want a SubscribeError", why, err)
		}
	}
	refused("a group with the name of a subscription", "x", runtime.InGroup("alone"))
	refused("a subscription with the name of a group", "group")
	refused("a group without a name", "x", runtime.InGroup(" "))
	f.start()
	refused("a member that comes late", "late", runtime.InGroup("group"))
	_, err := runtime.SubscribeDead(f.Bus, placedType, "dead", func(context.Context, runtime.Event[runtime.DeadLetter[orderPlaced]]) error { return nil }, runtime.InGroup("group"))
	var problem *runtime.SubscribeError
	if !errors.As(err, &problem) {
		t.Errorf("dead letters in a group: %v", err)
	}
}
