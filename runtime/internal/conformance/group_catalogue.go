package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/retry"
)

// A chain is a catalogue of order.placed and order.paid, whose subscriptions are given.
type chain struct {
	placed    *runtime.EventType[OrderPlaced]
	paid      *runtime.EventType[OrderPaid]
	catalogue *runtime.Catalogue
}

func chainOf(placed, paid []declare.Subscription) chain {
	settings := Within(30*time.Second, Exact(retry.MaxAttempts(3)))
	c := chain{
		placed: runtime.Define(runtime.Spec[OrderPlaced]{Name: "order.placed", Settings: settings, Subscriptions: placed}),
		paid:   runtime.Define(runtime.Spec[OrderPaid]{Name: "order.paid", Settings: settings, Subscriptions: paid}),
	}
	c.catalogue = runtime.NewCatalogue(c.placed, c.paid)
	return c
}

// members declares members of a group, whose settings are those of their event type.
func members(group string, names ...string) (all []declare.Subscription) {
	for _, name := range names {
		all = append(all, declare.Subscription{Name: name, Settings: Within(30*time.Second, Exact(retry.MaxAttempts(3))), Group: group})
	}
	return all
}

// subscribe makes a subscription to order.placed whose handler notes what it sees and does what do says.
func (c chain) subscribe(f *Fixture, s *steps, name string, do func(e runtime.Event[OrderPlaced]) error, opts ...runtime.SubscribeOption) {
	f.T.Helper()
	_, err := runtime.Subscribe(f.Bus, c.placed, name, s.member(name, do), opts...)
	Must(f.T, err)
}

func (c chain) publish(f *Fixture, numbers ...int) {
	f.T.Helper()
	for _, n := range numbers {
		_, err := runtime.Publish(f.T.Context(), f.Bus, c.placed, OrderPlaced{OrderID: "A", Number: n})
		Must(f.T, err)
	}
}

func (env *Env) TestADeclaredGroupHandlesAnEventInTheOrderOfTheCatalogue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chainOf(members("chain", "A", "B", "C"), nil)
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var s steps
		c.publish(f, 1) // the group exists from Open on
		c.subscribe(f, &s, "C", nil)
		c.subscribe(f, &s, "A", nil)
		c.subscribe(f, &s, "B", failsTwice)
		f.MustStart()
		f.Idle()
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,B 1,B 1,C 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if got := f.peek().subscriptions(); !slices.Equal(got, []string{"chain"}) {
			t.Errorf("the file has the subscriptions %q, want the group only", got)
		}
		for _, one := range f.Stats().Subscriptions {
			if one.Group != "chain" {
				t.Errorf("%s is in group %q", one.Name, one.Group)
			}
		}
	})
}

func (env *Env) TestADeclaredGroupOfSeveralTypesHasOnePlaceInTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chainOf(members("chain", "ordered"), members("chain", "paid"))
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var s steps
		c.publish(f, 1) // the group is for both types from Open on
		_, err := runtime.Publish(t.Context(), f.Bus, c.paid, OrderPaid{OrderID: "2"})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, c.paid, OrderPaid{OrderID: "4"}, runtime.WithDelay(time.Minute))
		Must(t, err)
		c.subscribe(f, &s, "ordered", nil)
		_, err = runtime.Subscribe(f.Bus, c.paid, "paid", func(_ context.Context, e runtime.Event[OrderPaid]) error {
			s.Add("paid " + e.Payload.OrderID)
			return nil
		})
		Must(t, err)
		c.publish(f, 3)
		f.MustStart()
		f.Idle()
		if got, want := strings.Join(s.All(), ","), "ordered 1,paid 2,ordered 3,paid 4"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if got := f.peek().subscriptions(); !slices.Equal(got, []string{"chain"}) {
			t.Errorf("the file has the subscriptions %q", got)
		}
	})
}

func (env *Env) TestAStartWithoutAMemberOfADeclaredGroupIsRefusedAndNamesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chainOf(append(members("chain", "A", "B", "C"), members("other", "X")...), members("chain", "D"))
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var s steps
		c.subscribe(f, &s, "B", nil)
		err := f.Start(t.Context())
		var incomplete *runtime.GroupError
		if !errors.As(err, &incomplete) || incomplete.Group != "chain" || !slices.Equal(incomplete.Missing, []string{"A", "C", "D"}) {
			t.Fatalf("got %v", err)
		}
		if !strings.Contains(err.Error(), `"A", "C", "D"`) || strings.Contains(err.Error(), "other") {
			t.Errorf("the error says %v", err)
		}
		// The program can go on: with the rest, and without the group of which it has none.
		c.subscribe(f, &s, "A", nil)
		c.subscribe(f, &s, "C", nil)
		_, err = runtime.Subscribe(f.Bus, c.paid, "D", func(context.Context, runtime.Event[OrderPaid]) error { return nil })
		Must(t, err)
		f.MustStart()
		c.publish(f, 1)
		time.Sleep(time.Second)
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,C 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		lag, err := f.Lag(t.Context())
		Must(t, err)
		for _, one := range lag {
			if one.Subscription == "other" && one.Backlog != 1 {
				t.Errorf("the group without members has a backlog of %d, want 1", one.Backlog)
			}
		}
	})
}

func (env *Env) TestWhoMayJoinADeclaredGroup(t *testing.T) {
	c := chainOf(append(members("chain", "A", "B"), declare.Subscription{Name: "alone", Settings: Within(time.Second, Exact()), Aliases: []string{"formerly"}}),
		[]declare.Subscription{{Name: "P", Settings: Within(time.Second, Exact()), Group: "pay", GroupAliases: []string{"money"}, Aliases: []string{"Q"}}})
	f := env.ReopenWith(t, env.Target(t), c.catalogue)
	nothing := func(context.Context, runtime.Event[OrderPlaced]) error { return nil }
	for why, one := range map[string]struct {
		name string
		opts []runtime.SubscribeOption
		want string
	}{
		"another group than the declared one":   {"A", []runtime.SubscribeOption{runtime.InGroup("other")}, `member of group "chain"`},
		"a declared subscription by itself":     {"alone", []runtime.SubscribeOption{runtime.InGroup("other")}, "deliveries of its own"},
		"one that the catalogue does not know":  {"new", []runtime.SubscribeOption{runtime.InGroup("chain")}, `members "A", "B"`},
		"the name of the group":                 {"chain", nil, "declares a group of this name"},
		"the former name of a group":            {"money", nil, `former name of group "pay"`},
		"into a group by its former name":       {"new", []runtime.SubscribeOption{runtime.InGroup("money")}, `former name of group "pay"`},
		"the former name of a member":           {"Q", nil, `former name of subscription "P"`},
		"a group of a declared name":            {"new", []runtime.SubscribeOption{runtime.InGroup("alone")}, `declares a subscription "alone"`},
		"the member of another event":           {"P", nil, "for order.paid"},
		"ephemeral members are labels, as ever": {"A", []runtime.SubscribeOption{runtime.Ephemeral(), runtime.InGroup("chain")}, "leave out"},
	} {
		_, err := runtime.Subscribe(f.Bus, c.placed, one.name, nothing, one.opts...)
		if refused, ok := errors.AsType[*runtime.SubscribeError](err); !ok || !strings.Contains(refused.Error(), one.want) {
			t.Errorf("%s: %v, want %q", why, err, one.want)
		}
	}
	_, err := runtime.SubscribeBatch(f.Bus, c.placed, "A", func(context.Context, []runtime.Event[OrderPlaced]) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "cannot be in a group") {
		t.Errorf("a batch subscription: %v", err)
	}
	// What the catalogue says may be said again.
	_, err = runtime.Subscribe(f.Bus, c.placed, "A", nothing, runtime.InGroup("chain"))
	Must(t, err)
	_, err = runtime.Subscribe(f.Bus, c.placed, "A", nothing, runtime.Ephemeral())
	Must(t, err)
	if err := f.Remove(t.Context(), "chain"); err == nil || !strings.Contains(err.Error(), "catalogue") {
		t.Errorf("Remove of a declared group: %v", err)
	}
	var missing *event.NotFoundError
	if err := f.Remove(t.Context(), "A"); !errors.As(err, &missing) {
		t.Errorf("Remove of a member, which the file does not have: %v", err)
	}
}

func (env *Env) TestAGroupThatMovesIntoTheCatalogueGoesOnWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		before, after := chainOf(nil, nil), chainOf(members("chain", "A", "B"), nil)
		var s steps
		fails := func(runtime.Event[OrderPlaced]) error { return runtime.RetryAfter(time.Hour, ErrBoom) }
		env.program(t, path, before.catalogue, func(f *Fixture) {
			before.subscribe(f, &s, "A", nil, runtime.InGroup("chain"))
			before.subscribe(f, &s, "B", fails, runtime.InGroup("chain"))
			f.MustStart()
			before.publish(f, 1)
			time.Sleep(time.Second)
		})
		env.program(t, path, before.catalogue, func(f *Fixture) { before.publish(f, 2) }) // nobody handles it yet
		env.program(t, path, after.catalogue, func(f *Fixture) {
			after.subscribe(f, &s, "B", nil)
			after.subscribe(f, &s, "A", nil)
			f.MustStart()
			f.Idle()
		})
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,A 2,B 2,B 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		// And back.
		env.program(t, path, before.catalogue, func(f *Fixture) { before.publish(f, 3) })
		env.program(t, path, before.catalogue, func(f *Fixture) {
			before.subscribe(f, &s, "A", nil, runtime.InGroup("chain"))
			before.subscribe(f, &s, "B", nil, runtime.InGroup("chain"))
			f.MustStart()
			f.Idle()
		})
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,A 2,B 2,B 1,A 3,B 3"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if got := env.peekAt(t, path).subscriptions(); !slices.Equal(got, []string{"chain"}) {
			t.Errorf("the file has the subscriptions %q", got)
		}
	})
}

func (env *Env) TestADeclaredGroupAndItsMembersKeepTheirPlaceWhenTheyAreRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		before := chainOf(members("chain", "A", "B"), nil)
		renamed := members("payment-chain", "alpha", "B")
		renamed[0].Aliases, renamed[1].GroupAliases = []string{"A"}, []string{"chain"} // one member is enough
		after := chainOf(renamed, nil)
		var s steps
		env.program(t, path, before.catalogue, func(f *Fixture) {
			before.subscribe(f, &s, "A", nil)
			before.subscribe(f, &s, "B", func(runtime.Event[OrderPlaced]) error { return runtime.RetryAfter(time.Hour, ErrBoom) })
			f.MustStart()
			before.publish(f, 1)
			time.Sleep(time.Second)
		})
		env.program(t, path, before.catalogue, func(f *Fixture) { before.publish(f, 2) })
		env.program(t, path, after.catalogue, func(f *Fixture) {
			after.subscribe(f, &s, "alpha", nil)
			after.subscribe(f, &s, "B", nil)
			f.MustStart()
			f.Idle()
		})
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,alpha 2,B 2,B 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		env.RequireSound(t, path)
	})
}

func (env *Env) TestADeclaredGroupMayHaveOtherMembersAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		before := chainOf(members("chain", "A", "B"), members("chain", "P"))
		after := chainOf(members("chain", "C", "A", "N"), nil) // B and P are gone, C and N are new
		var s steps
		env.program(t, path, before.catalogue, func(f *Fixture) {
			before.subscribe(f, &s, "A", nil)
			before.subscribe(f, &s, "B", func(runtime.Event[OrderPlaced]) error { return runtime.RetryAfter(time.Hour, ErrBoom) })
			_, err := runtime.Subscribe(f.Bus, before.paid, "P", func(context.Context, runtime.Event[OrderPaid]) error { return runtime.RetryAfter(time.Hour, ErrBoom) })
			Must(t, err)
			f.MustStart()
			before.publish(f, 1)
			_, err = runtime.Publish(t.Context(), f.Bus, before.paid, OrderPaid{})
			Must(t, err)
			time.Sleep(time.Second)
		})
		env.program(t, path, after.catalogue, func(f *Fixture) {
			for _, name := range []string{"A", "C", "N"} {
				after.subscribe(f, &s, name, nil)
			}
			f.MustStart()
			after.publish(f, 2)
			_, err := runtime.Publish(t.Context(), f.Bus, after.paid, OrderPaid{})
			Must(t, err)
			f.Idle()
		})
		// Those that have handled event 1 are not asked again; the new ones are asked.
		if got, want := strings.Join(s.All(), ","), "A 1,B 1,C 2,A 2,N 2,C 1,N 1"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		var left []string
		for _, letter := range env.Dead(t, path) {
			left = append(left, letter.Subscription+" "+letter.Type+" "+letter.Reason)
		}
		if diff := cmp.Diff([]string{"chain order.paid decode"}, left); diff != "" {
			t.Errorf("dead letters: %s", diff)
		}
		env.RequireSound(t, path)
	})
}

// A subscription that joins a group leaves its own place behind, unless that is a former name of the group.
func (env *Env) TestADeclaredGroupCanTakeThePlaceOfItsFirstMember(t *testing.T) {
	for _, takes := range []bool{true, false} {
		t.Run(fmt.Sprint(takes), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := env.Target(t)
				before := chainOf(members("", "bank"), nil)
				declared := members("chain", "bank", "audit")
				if takes {
					declared[0].GroupAliases = []string{"bank"}
				}
				after := chainOf(declared, nil)
				var s steps
				env.program(t, path, before.catalogue, func(f *Fixture) { before.publish(f, 1) })
				env.program(t, path, after.catalogue, func(f *Fixture) {
					after.subscribe(f, &s, "bank", nil)
					after.subscribe(f, &s, "audit", nil)
					f.MustStart()
					after.publish(f, 2)
					f.Idle()
					warned := len(f.Log.Level(t, "WARN")) > 0
					if warned == takes {
						t.Errorf("a warning about what is left to the old name: %v", warned)
					}
				})
				want := "bank 2,audit 2"
				if takes {
					want = "bank 1,audit 1,bank 2,audit 2"
				}
				if got := strings.Join(s.All(), ","); got != want {
					t.Errorf("ran %s, want %s", got, want)
				}
				env.program(t, path, after.catalogue, func(f *Fixture) {
					err := f.Remove(t.Context(), "bank")
					if takes != (err != nil) {
						t.Errorf("removing the old place: %v", err)
					}
				})
			})
		})
	}
}
