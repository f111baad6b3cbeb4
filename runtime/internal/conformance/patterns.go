package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/retry"
)

// patternCatalogue declares a subscription to order.* beside events that it matches and one that it does not.
func patternCatalogue(subscriptions ...declare.PatternSubscription) chain {
	c := chainOf(nil, nil)
	c.catalogue = runtime.NewCatalogue(c.placed, c.paid, noteTaken).WithSubscriptions(subscriptions...)
	return c
}

// archiving subscribes to patterns with a handler that takes payloads of all types.
func archiving(f *Fixture, pattern, name string, seen *Journal[string]) error {
	_, err := runtime.SubscribeNamespace(f.Bus, pattern, name, func(_ context.Context, e runtime.Event[runtime.Payload]) error {
		seen.Add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
		return nil
	})
	return err
}

func (env *Env) TestASubscriptionForAPatternExistsFromOpenOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patternCatalogue(declare.PatternSubscription{Name: "archive", Patterns: []string{"order.*"}})
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		c.publish(f, 1)
		publishAs(f, noteTaken, note{1})
		_, err := runtime.Publish(t.Context(), f.Bus, c.paid, OrderPaid{OrderID: "A"})
		Must(t, err)
		var seen Journal[string]
		Must(t, archiving(f, "order.*", "archive", &seen))
		f.MustStart()
		f.Idle()
		if diff := cmp.Diff([]string{"order.placed 1", "order.paid 1"}, seen.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestASubscriptionForSeveralPatternsGetsWhatOneOfThemMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patternCatalogue(declare.PatternSubscription{Name: "archive", Patterns: []string{"note.*", "order.paid"}})
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var seen, fleeting Journal[string]
		Must(t, archiving(f, "note.*  order.paid", "archive", &seen))
		_, err := runtime.SubscribePattern(f.Bus, "note.* order.paid", "", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			fleeting.Add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
			return nil
		}, runtime.Ephemeral())
		Must(t, err)
		f.MustStart()
		c.publish(f, 1)
		publishAs(f, noteTaken, note{1})
		_, err = runtime.Publish(t.Context(), f.Bus, c.paid, OrderPaid{OrderID: "A"})
		Must(t, err)
		f.Idle()
		synctest.Wait()
		want := []string{"note.taken 1", "order.paid 1"}
		if diff := cmp.Diff(want, seen.All()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(want, fleeting.All()); diff != "" {
			t.Errorf("an ephemeral subscription: %s", diff)
		}
	})
}

func (env *Env) TestTheCatalogueSettingsOfASubscriptionForAPatternOverrideThoseOfEachType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patternCatalogue(declare.PatternSubscription{Name: "archive", Patterns: []string{"order.*"}, Own: declare.Override{
			Retry: []retry.Option{retry.MaxAttempts(2)}, Concurrency: new(3), Breaker: []breaker.Option{breaker.Off()},
		}})
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var attempts Journal[string]
		_, err := runtime.SubscribePattern(f.Bus, "order.*", "archive", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			attempts.Add(fmt.Sprintf("%s %d", e.Type, e.Attempt))
			return ErrBoom
		})
		Must(t, err)
		f.MustStart()
		c.publish(f, 1)
		f.Idle()
		if got, want := strings.Join(attempts.All(), ","), "order.placed 1,order.placed 2"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
		if s := f.Stats().Subscriptions[0]; s.Concurrency != 3 || s.Pattern != "order.*" {
			t.Errorf("concurrency %d of %s", s.Concurrency, s.Pattern)
		}
		Must(t, f.Bus.Tune(runtime.Tuning{Patterns: map[string]declare.Override{"archive": {Retry: []retry.Option{retry.MaxAttempts(1)}}}}))
		c.publish(f, 2)
		f.Idle()
		if got := len(attempts.All()); got != 3 {
			t.Errorf("%d attempts after it was tuned to one", got)
		}
		if err := f.Bus.Tune(runtime.Tuning{Patterns: map[string]declare.Override{"archive-2": {}}}); err == nil {
			t.Error("an unknown subscription was tuned")
		}
		if err := f.Bus.Tune(runtime.Tuning{Subscriptions: map[string]declare.Settings{"archive": BillSettings}}); err == nil {
			t.Error("a subscription for a pattern was tuned as one of an event type")
		}
	})
}

func (env *Env) TestASubscriptionForAPatternIsAMemberOfADeclaredGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := chainOf(members("chain", "A"), nil)
		c.catalogue = runtime.NewCatalogue(c.placed, c.paid).WithSubscriptions(declare.PatternSubscription{
			Name: "archive", Patterns: []string{"order.*"}, Group: "chain", Own: declare.Override{Retry: []retry.Option{retry.MaxAttempts(5)}},
		})
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		c.publish(f, 1)
		_, err := runtime.Publish(t.Context(), f.Bus, c.paid, OrderPaid{OrderID: "A"})
		Must(t, err)
		var s steps
		fails := 3
		_, err = runtime.SubscribePattern(f.Bus, "order.*", "archive", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			s.Add("archive " + e.Type)
			if fails--; fails >= 0 {
				return ErrBoom
			}
			return nil
		})
		Must(t, err)
		c.subscribe(f, &s, "A", nil)
		f.MustStart()
		f.Idle()
		got := s.All()
		slices.Sort(got)
		want := []string{"A 1", "archive order.paid", "archive order.placed", "archive order.placed", "archive order.placed"}
		if len(got) != 6 || got[0] != want[0] {
			t.Errorf("ran %q", got)
		}
		if got := f.peek().subscriptions(); !slices.Equal(got, []string{"chain"}) {
			t.Errorf("the file has the subscriptions %q", got)
		}
	})
}

func (env *Env) TestANameThatIsDeclaredForAPatternIsForThatPatternOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := patternCatalogue(declare.PatternSubscription{Name: "archive", Patterns: []string{"order.*"}, Aliases: []string{"attic"}})
		f := env.ReopenWith(t, env.Target(t), c.catalogue)
		var seen Journal[string]
		for what, err := range map[string]error{
			"the catalogue declares this name for order.*, not for *": archiving(f, "*", "archive", &seen),
			"not for order.placed": func() error {
				_, err := runtime.Subscribe(f.Bus, c.placed, "archive", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
				return err
			}(),
			"former name of subscription": archiving(f, "order.*", "attic", &seen),
		} {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("got %v, want %s", err, what)
			}
		}
		if err := f.Bus.Remove(t.Context(), "archive"); err == nil {
			t.Error("a declared name was removed")
		}
	})
}

func (env *Env) TestADeclaredPatternThatChangesLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		before := patternCatalogue(declare.PatternSubscription{Name: "archive", Patterns: []string{"order.*"}})
		after := patternCatalogue(declare.PatternSubscription{Name: "attic", Aliases: []string{"archive"}, Patterns: []string{"order.paid", "note.*"}})
		env.program(t, path, before.catalogue, func(f *Fixture) {
			before.publish(f, 1)
			publishAs(f, noteTaken, note{1})
		})
		var seen Journal[string]
		env.program(t, path, after.catalogue, func(f *Fixture) {
			Must(t, archiving(f, "order.paid note.*", "attic", &seen))
			f.MustStart()
			after.publish(f, 2)
			publishAs(f, noteTaken, note{2})
			f.Idle()
		})
		got := strings.Join(seen.All(), ",")
		if !strings.HasPrefix(got, "order.placed 1") || strings.Count(got, "order.placed") != 1 {
			t.Errorf("handled %s: the pending event of the former pattern, and no other of its type, is wanted", got)
		}
		if strings.Count(got, "note.taken") != 2 {
			t.Errorf("handled %s: what was published after the oldest event that was pending is wanted, too", got)
		}
		env.RequireSound(t, path)
	})
}

func (env *Env) TestAPatternHasTheSettingsOfATypeWhoseFormerNameItMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		once := runtime.Define(runtime.Spec[note]{Name: "memo.written", Aliases: []string{"note.taken"}, Settings: Within(time.Second, Exact(retry.MaxAttempts(1)))})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(once, noteType("note.filed", nil)))
		attempts := 0
		_, err := runtime.SubscribePattern(f.Bus, "note.*", "archive", func(context.Context, runtime.Event[runtime.Raw]) error {
			attempts++
			return ErrBoom
		})
		Must(t, err)
		f.MustStart()
		publishAs(f, once, note{1})
		f.Idle()
		if attempts != 1 {
			t.Errorf("%d attempts, want those of the event type", attempts)
		}
	})
}
