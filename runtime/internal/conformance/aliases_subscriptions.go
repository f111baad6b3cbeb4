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
)

// While the older program runs, the newer one gives its subscription another name.
func (env *Env) TestAnOlderProgramKeepsItsNameForASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		old := env.ReopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		old.MustStart()
		Must(t, old.PauseSubscription(t.Context(), "old-reader", ""))
		env.program(t, path, today, func(*Fixture) {})
		time.Sleep(time.Second) // until it has looked
		receipt, err := runtime.Publish(t.Context(), old.Bus, noteTaken, note{1})
		Must(t, err)
		synctest.Wait()
		if seen.All() != nil {
			t.Errorf("although it is paused: %v", seen.All())
		}
		pauses, err := old.Pauses(t.Context())
		if err != nil || len(pauses) != 1 || pauses[0].Subscription != "old-reader" {
			t.Errorf("pauses: %v, %v", pauses, err)
		}
		lag, err := old.Lag(t.Context())
		if err != nil || len(lag) != 1 || lag[0].Subscription != "old-reader" || !lag[0].Here || lag[0].Backlog != 1 {
			t.Errorf("lag: %+v, %v", lag, err)
		}
		Must(t, old.ResumeSubscription(t.Context(), "old-reader"))
		outcome, err := receipt.Wait(t.Context())
		if err != nil || len(outcome.Deliveries) != 1 || outcome.Deliveries[0].Subscription != "old-reader" {
			t.Errorf("outcome: %+v, %v", outcome, err)
		}
		old.Stop()
	})
}

func (env *Env) TestTwoSubscriptionsThatExistDoNotBecomeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "left", &seen)
			reading(f, noteTaken, "right", &seen)
			f.MustStart()
		})
		env.program(t, path, yesterday, func(f *Fixture) {
			_, err := runtime.Subscribe(f.Bus, noteTaken, "left", func(context.Context, runtime.Event[note]) error { return nil }, runtime.WithAliases("right"))
			conflict, ok := errors.AsType[*event.AliasError](err)
			if !ok || conflict.Name != "left" || conflict.Alias != "right" || !strings.Contains(err.Error(), "busgen subscriptions remove") {
				t.Errorf("%v", err)
			}
		})
		if names := strings.Join(env.peekAt(t, path).subscriptions(), ","); names != "left,old-reader,right" {
			t.Errorf("the file has subscriptions %s", names)
		}
	})
}

func (env *Env) TestAFormerNameCanBeUsedAgainOnceItIsNoAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, yesterday, func(f *Fixture) { publishAs(f, noteTaken, note{1}) })
		env.program(t, path, today, func(*Fixture) {})
		// The aliases are gone, and both names stand for something else.
		memos := noteType("memo.written", nil, declare.Subscription{Name: "reader", Settings: BillSettings})
		notes := noteType("note.taken", nil, declare.Subscription{Name: "old-reader", Settings: BillSettings})
		var ofMemos, ofNotes Journal[string]
		env.program(t, path, runtime.NewCatalogue(notes, memos), func(f *Fixture) {
			publishAs(f, memos, note{2})
			publishAs(f, notes, note{3})
			reading(f, notes, "old-reader", &ofNotes)
			reading(f, memos, "reader", &ofMemos)
			f.MustStart()
			f.Idle()
		})
		if diff := cmp.Diff([]string{"memo.written 2"}, ofMemos.All()) + cmp.Diff([]string{"note.taken 3"}, ofNotes.All()); diff != "" {
			t.Error(diff)
		}
		env.RequireSound(t, path)
	})
}

func (env *Env) TestAGroupKeepsItsPlaceWhenItIsRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "one", &seen, runtime.InGroup("pair"))
			f.MustStart()
		})
		env.program(t, path, yesterday, func(f *Fixture) { publishAs(f, noteTaken, note{1}) })
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "one", &seen, runtime.InGroup("couple", "pair"))
			f.MustStart()
			f.Idle()
		})
		if diff := cmp.Diff([]string{"note.taken 1"}, seen.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestARenamedGroupMemberDoesNotRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var first, second Journal[string]
		reader := func(f *Fixture, name string, seen *Journal[string], fails bool, opts ...runtime.SubscribeOption) {
			_, err := runtime.Subscribe(f.Bus, noteTaken, name, func(_ context.Context, e runtime.Event[note]) error {
				seen.Add(fmt.Sprint(name, " ", e.Payload.N))
				if fails {
					return runtime.RetryAfter(time.Hour, ErrBoom)
				}
				return nil
			}, append(opts, runtime.InGroup("pair"))...)
			Must(t, err)
		}
		env.program(t, path, yesterday, func(f *Fixture) {
			reader(f, "one", &first, false)
			reader(f, "two", &second, true)
			f.MustStart()
			publishAs(f, noteTaken, note{1})
			time.Sleep(time.Second)
		})
		env.program(t, path, yesterday, func(f *Fixture) {
			reader(f, "uno", &first, false, runtime.WithAliases("one"))
			reader(f, "two", &second, false)
			f.MustStart()
			f.Idle()
		})
		if diff := cmp.Diff([]string{"one 1"}, first.All()) + cmp.Diff([]string{"two 1", "two 1"}, second.All()); diff != "" {
			t.Error(diff)
		}
	})
}

// handledBy runs a program until it has handled all pending events, and returns them.
func (env *Env) handledBy(t *testing.T, path string, catalogue *runtime.Catalogue, eventType *runtime.EventType[note], name string, opts ...runtime.SubscribeOption) []string {
	t.Helper()
	var seen Journal[string]
	env.program(t, path, catalogue, func(f *Fixture) {
		reading(f, eventType, name, &seen, opts...)
		f.MustStart()
		f.Idle()
	})
	return seen.All()
}

// After a rollback the older program does not know the newest name.
func (env *Env) TestTheNewestNameOfASubscriptionSurvivesARollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		for i, one := range []struct {
			name    string
			aliases []string
		}{{"a", nil}, {"b", []string{"a"}}, {"c", []string{"b"}}, {"b", []string{"a"}}, {"c", nil}, {"a", nil}} {
			seen := env.handledBy(t, path, yesterday, noteTaken, one.name, runtime.WithAliases(one.aliases...))
			if i > 0 && !slices.Equal(seen, []string{fmt.Sprint("note.taken ", i-1)}) {
				t.Errorf("%s %v got %v", one.name, one.aliases, seen)
			}
			env.program(t, path, yesterday, func(f *Fixture) { publishAs(f, noteTaken, note{i}) })
		}
	})
}

func (env *Env) TestTheFormerNameOfADeclaredSubscriptionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env.program(t, env.Target(t), today, func(f *Fixture) {
			for _, opts := range [][]runtime.SubscribeOption{nil, {runtime.InGroup("old-reader")}} {
				name := "old-reader"
				if opts != nil {
					name = "member"
				}
				_, err := runtime.Subscribe(f.Bus, memoWritten, name, func(context.Context, runtime.Event[note]) error { return nil }, opts...)
				if _, ok := errors.AsType[*runtime.SubscribeError](err); !ok || !strings.Contains(err.Error(), `"reader"`) {
					t.Errorf("%v", err)
				}
			}
		})
	})
}
