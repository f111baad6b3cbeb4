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
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

func (env *Env) TestATypeCanBeRenamedBackAndForth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		back := noteType("note.taken", []string{"memo.written"}, declare.Subscription{Name: "old-reader", Settings: BillSettings, Aliases: []string{"reader"}})
		third := noteType("remark.made", []string{"memo.written"}, declare.Subscription{Name: "remarks", Settings: BillSettings, Aliases: []string{"reader"}})
		published := 0
		for i, one := range []struct {
			eventType    *runtime.EventType[note]
			subscription string
		}{
			{noteTaken, "old-reader"}, {memoWritten, "reader"}, {back, "old-reader"}, // renamed back
			{memoWritten, "reader"}, {third, "remarks"}, {memoWritten, "reader"}, // the second of two renamings is rolled back
			{third, "remarks"}, {noteTaken, "old-reader"}, {third, "remarks"}, // both are
		} {
			catalogue := runtime.NewCatalogue(one.eventType)
			env.program(t, path, catalogue, func(f *Fixture) { publishAs(f, one.eventType, note{published}) })
			var want []string
			for n := max(published-1, 0); n <= published; n++ { // one was left over by the program before
				want = append(want, fmt.Sprint(one.eventType.Name(), " ", n))
			}
			if diff := cmp.Diff(want, env.handledBy(t, path, catalogue, one.eventType, one.subscription)); diff != "" {
				t.Errorf("program %d: %s", i, diff)
			}
			published++
			env.program(t, path, catalogue, func(f *Fixture) { publishAs(f, one.eventType, note{published}) })
			published++
			env.RequireSound(t, path)
		}
	})
}

func (env *Env) TestAPauseOfATypeHoldsUnderAllItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		old := env.ReopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		_, err := runtime.SubscribePattern(old.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		Must(t, err)
		old.MustStart()
		env.program(t, path, today, func(f *Fixture) { Must(t, f.PauseTypes(t.Context(), "memo.*", "")) })
		time.Sleep(time.Second) // until it has looked
		publishAs(old, noteTaken, note{1})
		synctest.Wait()
		Must(t, old.PauseTypes(t.Context(), "note.taken", ""))
		env.program(t, path, today, func(f *Fixture) { Must(t, f.ResumeTypes(t.Context(), "memo.*")) })
		time.Sleep(time.Second)
		old.Stop()
		now := env.ReopenWith(t, path, today)
		reading(now, memoWritten, "reader", &seen)
		now.MustStart()
		publishAs(now, memoWritten, note{2})
		synctest.Wait()
		if seen.All() != nil {
			t.Errorf("although it is paused: %v", seen.All())
		}
		Must(t, now.ResumeTypes(t.Context(), "note.taken"))
		now.Idle()
		if diff := cmp.Diff([]string{"memo.written 1", "memo.written 2"}, seen.All()); diff != "" {
			t.Error(diff)
		}
		now.Stop()
		env.RequireSound(t, path)
	})
}

func (env *Env) TestAPauseHoldsNothingOfATypeThatItNoLongerMatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		memos := noteType("memo.written", nil, declare.Subscription{Name: "reader", Settings: BillSettings})
		notes := noteType("note.taken", nil)
		apart := runtime.NewCatalogue(memos, notes)
		var seen Journal[string]
		env.program(t, path, today, func(f *Fixture) {
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return ErrBoom })
			Must(t, err)
			reading(f, memoWritten, "reader", &seen)
			f.MustStart()
			publishAs(f, memoWritten, note{1})
			Must(t, f.PauseTypes(t.Context(), "note.*", ""))
			time.Sleep(time.Hour) // the retry is held
			synctest.Wait()
		})
		env.program(t, path, apart, func(f *Fixture) {
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				seen.Add(e.Type + " again")
				return nil
			})
			Must(t, err)
			reading(f, memos, "reader", &seen)
			f.MustStart()
			f.Idle()
		})
		if diff := cmp.Diff([]string{"memo.written 1", "memo.written again"}, slices.Sorted(slices.Values(seen.All()))); diff != "" {
			t.Error(diff)
		}
	})
}

// A pattern matches a type by each of its names, also by the names that another program
// gives it.
func (env *Env) TestAPatternMatchesATypeByAllItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		old := env.ReopenWith(t, path, runtime.NewCatalogue(noteTaken, noteType("memo.filed", nil)))
		_, err := runtime.SubscribePattern(old.Bus, "memo.*", "memos", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.Add(fmt.Sprint(e.Type, " ", string(e.Payload)))
			return nil
		})
		Must(t, err)
		old.MustStart()
		publishAs(old, noteTaken, note{1})
		old.Idle()
		env.program(t, path, today, func(f *Fixture) {})
		time.Sleep(time.Second) // until it has looked
		publishAs(old, noteTaken, note{2})
		old.Idle()
		if diff := cmp.Diff([]string{`note.taken {"n":2}`}, seen.All()); diff != "" {
			t.Error(diff)
		}
		old.Stop()
		env.RequireSound(t, path)
	})
}

// morgue subscribes to dead letters.
func morgue(f *Fixture, eventType *runtime.EventType[note], seen *Journal[string]) {
	f.T.Helper()
	_, err := runtime.SubscribeDead(f.Bus, eventType, "morgue", func(_ context.Context, e runtime.Event[runtime.DeadLetter[note]]) error {
		seen.Add(fmt.Sprint(e.Type, " ", e.Payload.Event.Type, " ", e.Payload.Event.Payload.N))
		return nil
	})
	Must(f.T, err)
}

func (env *Env) TestASubscriptionToDeadLettersFollowsItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen, told Journal[string]
		env.program(t, path, today, func(f *Fixture) { morgue(f, memoWritten, &told) })
		// It is rolled back to a program without this subscription, which still gets dead-letter notices.
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			f.MustStart()
			publishAs(f, noteTaken, note{-1})
			f.Idle()
		})
		env.program(t, path, today, func(f *Fixture) {
			morgue(f, memoWritten, &told)
			f.MustStart()
			f.Idle()
		})
		env.program(t, path, yesterday, func(f *Fixture) {
			morgue(f, noteTaken, &told)
			reading(f, noteTaken, "old-reader", &seen)
			f.MustStart()
			publishAs(f, noteTaken, note{-2})
			f.Idle()
		})
		if diff := cmp.Diff([]string{"$dead.memo.written memo.written -1", "$dead.note.taken note.taken -2"}, told.All()); diff != "" {
			t.Error(diff)
		}
		env.RequireSound(t, path)
	})
}

func (env *Env) TestASubscriptionToDeadLettersCanBeForAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		one, other := noteType("one.made", nil), noteType("other.made", nil)
		both := runtime.NewCatalogue(one, other)
		var seen, told Journal[string]
		env.program(t, path, both, func(f *Fixture) { morgue(f, one, &told) })
		env.program(t, path, both, func(f *Fixture) {
			morgue(f, other, &told)
			reading(f, other, "reader", &seen)
			f.MustStart()
			publishAs(f, other, note{-1})
			f.Idle()
		})
		if diff := cmp.Diff([]string{"$dead.other.made other.made -1"}, told.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestDeadLettersAreFoundByFormerNamesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			f.MustStart()
			publishAs(f, noteTaken, note{-1})
			f.Idle()
		})
		key := env.Dead(t, path)[0].Key
		env.program(t, path, today, func(*Fixture) {})
		inspector, err := env.OpenFile(t.Context(), path)
		Must(t, err)
		defer inspector.Close()
		filter := event.Filter{Types: []string{"note.taken"}, Subscriptions: []string{"old-reader"}}
		if n, err := inspector.CountDeadLetters(t.Context(), filter); n != 1 || err != nil {
			t.Errorf("found %d (%v), want 1", n, err)
		}
		if counts, err := inspector.Retry(t.Context(), inspect.Only(key)); counts.Moved != 1 || err != nil {
			t.Errorf("retried %+v (%v), want 1", counts, err)
		}
	})
}

func (env *Env) TestSettingsAreTunedByAFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env.program(t, env.Target(t), today, func(f *Fixture) {
			var seen Journal[int]
			_, err := runtime.Subscribe(f.Bus, memoWritten, "other", func(_ context.Context, e runtime.Event[note]) error {
				seen.Add(e.MaxAttempts)
				return nil
			})
			Must(t, err)
			Must(t, f.Tune(runtime.Tuning{Types: map[string]declare.Settings{"note.taken": Within(time.Second, Exact(retry.MaxAttempts(7)))}}))
			f.MustStart()
			publishAs(f, memoWritten, note{1})
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if diff := cmp.Diff([]int{7}, seen.All()); diff != "" {
				t.Error(diff)
			}
		})
	})
}

func (env *Env) TestTwoTypesOfOneNameAreRefused(t *testing.T) {
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "two event types are named note.taken") {
			t.Error(said)
		}
	}()
	runtime.NewCatalogue(memoWritten, noteTaken)
}
