package conformance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// note is published as note.taken by a program that was deployed before, and as
// memo.written by one of today.
type note struct {
	N int `json:"n"`
}

func (note) Validate() error { return nil }

func noteType(name string, aliases []string, subscriptions ...runtime.DeclaredSubscription) *runtime.EventType[note] {
	return runtime.Define(runtime.Spec[note]{Name: name, Aliases: aliases, Settings: BillSettings, Subscriptions: subscriptions})
}

var (
	noteTaken   = noteType("note.taken", nil, runtime.DeclaredSubscription{Name: "old-reader", Settings: BillSettings})
	memoWritten = noteType("memo.written", []string{"note.taken"},
		runtime.DeclaredSubscription{Name: "reader", Settings: BillSettings, Aliases: []string{"older-reader", "old-reader"}})
	yesterday = runtime.NewCatalogue(noteTaken)
	today     = runtime.NewCatalogue(memoWritten)
)

// reading subscribes with a handler that fails for numbers below 0, for good.
func reading(f *Fixture, eventType *runtime.EventType[note], name string, seen *Journal[string], opts ...runtime.SubscribeOption) {
	f.T.Helper()
	_, err := runtime.Subscribe(f.Bus, eventType, name, func(_ context.Context, e runtime.Event[note]) error {
		seen.Add(fmt.Sprint(e.Type, " ", e.Payload.N))
		if e.Payload.N < 0 {
			return runtime.Permanent(ErrBoom)
		}
		return nil
	}, opts...)
	Must(f.T, err)
}

func (env *Env) TestEventsOfAFormerNameAreDeliveredUnderTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, yesterday, func(f *Fixture) {
			publishAs(f, noteTaken, note{1}, note{2})
			_, err := runtime.Publish(t.Context(), f.Bus, noteTaken, note{3}, runtime.WithDedupeKey("three"))
			Must(t, err)
			_, err = runtime.Publish(t.Context(), f.Bus, noteTaken, note{4}, runtime.WithDelay(time.Hour))
			Must(t, err)
		})
		env.program(t, path, today, func(f *Fixture) {
			publishAs(f, memoWritten, note{5})
			again, err := runtime.Publish(t.Context(), f.Bus, memoWritten, note{3}, runtime.WithDedupeKey("three"))
			if err != nil || !again.Duplicate {
				t.Errorf("an idempotency key of the former name: %v, duplicate: %v", err, again.Duplicate)
			}
			var typed, all Journal[string]
			reading(f, memoWritten, "reader", &typed)
			_, err = runtime.SubscribePattern(f.Bus, "memo.*", "archive", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				all.Add(fmt.Sprint(e.Type, " ", string(e.Payload)))
				return nil
			}, runtime.FromBeginning())
			Must(t, err)
			f.MustStart()
			f.Idle()
			if diff := cmp.Diff([]string{"memo.written 1", "memo.written 2", "memo.written 3", "memo.written 5", "memo.written 4"}, typed.All()); diff != "" {
				t.Error(diff)
			}
			want := []string{`memo.written {"n":1}`, `memo.written {"n":2}`, `memo.written {"n":3}`, `memo.written {"n":5}`, `memo.written {"n":4}`}
			if diff := cmp.Diff(want, all.All()); diff != "" {
				t.Errorf("by pattern: %s", diff)
			}
			if f.Catalogue().Lookup("note.taken") != f.Catalogue().Lookup("memo.written") {
				t.Error("the former name is not looked up")
			}
		})
		if n := len(env.peekAt(t, path).events("memo.written")); n != 5 {
			t.Errorf("the file has %d events of the new name, want 5", n)
		}
		env.RequireSound(t, path)
	})
}

func (env *Env) TestDeadLettersOfAFormerNameAreFoundUnderTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			_, err := runtime.SubscribeDead(f.Bus, noteTaken, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[note]]) error { return ErrBoom })
			Must(t, err)
			publishAs(f, noteTaken, note{-1})
			f.MustStart()
			time.Sleep(time.Millisecond)
			synctest.Wait()
		})
		env.program(t, path, today, func(f *Fixture) {
			letters := env.Dead(t, path)
			if len(letters) != 1 || letters[0].Type != "memo.written" || letters[0].Subscription != "reader" {
				t.Fatalf("dead letters: %v", letters)
			}
			inspector, err := env.OpenFile(t.Context(), path)
			Must(t, err)
			defer inspector.Close()
			if n, err := inspector.CountDeadLetters(t.Context(), inspect.Filter{Types: []string{"memo.*"}, Subscriptions: []string{"reader"}}); n != 1 || err != nil {
				t.Errorf("found %d by the new names (%v), want 1", n, err)
			}
			var announced Journal[string]
			_, err = runtime.SubscribeDead(f.Bus, memoWritten, "morgue", func(_ context.Context, e runtime.Event[runtime.DeadLetter[note]]) error {
				announced.Add(fmt.Sprint(e.Type, " ", e.Payload.Event.Payload.N))
				return nil
			})
			Must(t, err)
			reading(f, memoWritten, "reader", &seen)
			f.MustStart()
			f.Idle()
			if diff := cmp.Diff([]string{"$dead.memo.written -1"}, announced.All()); diff != "" {
				t.Error(diff)
			}
			counts, err := inspector.Retry(t.Context(), inspect.Only(letters[0].Key))
			Must(t, err)
			f.Idle()
			if diff := cmp.Diff([]string{"note.taken -1", "memo.written -1"}, seen.All()); diff != "" || counts.Moved != 1 {
				t.Error(counts, diff)
			}
		})
	})
}

func (env *Env) TestDeadLettersThatWereExportedUnderAFormerNameAreImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := filepath.Join(t.TempDir(), "here.db"), filepath.Join(t.TempDir(), "there.db")
		var seen Journal[string]
		var exported strings.Builder
		env.program(t, here, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			publishAs(f, noteTaken, note{-1})
			f.MustStart()
			f.Idle()
			inspector, err := env.OpenFile(t.Context(), here)
			Must(t, err)
			defer inspector.Close()
			_, err = inspector.Export(t.Context(), &exported, inspect.Filter{})
			Must(t, err)
		})
		for path, want := range map[string]inspect.Counts{here: {Matched: 1, Skipped: 1}, there: {Matched: 1, Moved: 1}} {
			env.program(t, path, today, func(*Fixture) {})
			inspector, err := env.OpenFile(t.Context(), path)
			Must(t, err)
			defer inspector.Close()
			got, err := inspector.Import(t.Context(), strings.NewReader(exported.String()))
			if err != nil || got != want {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
			if letters := env.Dead(t, path); len(letters) != 1 || letters[0].Type != "memo.written" || letters[0].Subscription != "reader" {
				t.Errorf("dead letters: %v", letters)
			}
		}
	})
}

func (env *Env) TestASubscriptionTakesOverWhatWasLeftToItsFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		env.program(t, path, yesterday, func(f *Fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			reading(f, noteTaken, "printer", &seen)
			f.MustStart()
			publishAs(f, noteTaken, note{1})
			f.Idle()
		})
		env.program(t, path, yesterday, func(f *Fixture) {
			publishAs(f, noteTaken, note{2})
			Must(t, f.PauseSubscription(t.Context(), "printer"))
		})
		seen = Journal[string]{}
		env.program(t, path, today, func(f *Fixture) {
			reading(f, memoWritten, "reader", &seen)
			reading(f, memoWritten, "plotter", &seen, runtime.WithAliases("printer"))
			f.MustStart()
			synctest.Wait()
			if diff := cmp.Diff([]string{"memo.written 2"}, seen.All()); diff != "" {
				t.Errorf("while the pause of the former name holds: %s", diff)
			}
			Must(t, f.ResumeSubscription(t.Context(), "plotter"))
			f.Idle()
			if diff := cmp.Diff([]string{"memo.written 2", "memo.written 2"}, seen.All()); diff != "" {
				t.Error(diff)
			}
		})
		if names := strings.Join(env.peekAt(t, path).subscriptions(), ","); names != "plotter,reader" {
			t.Errorf("the file has subscriptions %s", names)
		}
		env.RequireSound(t, path)
	})
}

// A deployment that is rolled back and forth.
func (env *Env) TestAProgramOfBeforeFindsItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var before, after Journal[string]
		for n := 1; n <= 5; n += 2 {
			env.program(t, path, yesterday, func(f *Fixture) {
				reading(f, noteTaken, "old-reader", &before)
				f.MustStart()
				publishAs(f, noteTaken, note{n})
				f.Idle()
			})
			env.program(t, path, yesterday, func(f *Fixture) { publishAs(f, noteTaken, note{10 * n}) }) // left over
			env.program(t, path, today, func(f *Fixture) {
				reading(f, memoWritten, "reader", &after)
				f.MustStart()
				publishAs(f, memoWritten, note{n + 1})
				f.Idle()
			})
			env.program(t, path, today, func(f *Fixture) { publishAs(f, memoWritten, note{100 * n}) }) // left over
		}
		wantBefore := []string{"note.taken 1", "note.taken 100", "note.taken 3", "note.taken 300", "note.taken 5"}
		wantAfter := []string{"memo.written 10", "memo.written 2", "memo.written 30", "memo.written 4", "memo.written 50", "memo.written 6"}
		if diff := cmp.Diff(wantBefore, before.All()) + cmp.Diff(wantAfter, after.All()); diff != "" {
			t.Error(diff)
		}
		env.RequireSound(t, path)
	})
}

// A new program publishes while an older one still dispatches.
func (env *Env) TestAProgramOfBeforeHandlesWhatOneOfTodayPublishesBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		old := env.ReopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		old.MustStart()
		publishAs(old, noteTaken, note{1})
		old.Idle()
		env.program(t, path, today, func(f *Fixture) { publishAs(f, memoWritten, note{2}, note{3}) })
		time.Sleep(time.Minute) // until it has looked
		old.Idle()
		publishAs(old, noteTaken, note{4})
		old.Idle()
		if diff := cmp.Diff([]string{"note.taken 1", "note.taken 2", "note.taken 3", "note.taken 4"}, seen.All()); diff != "" {
			t.Error(diff)
		}
		old.Stop()
		env.RequireSound(t, path)
	})
}

// Nothing was ever published under the former name before the new program came.
func (env *Env) TestWhatAProgramOfBeforePublishesBesideOneOfTodayIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		now := env.ReopenWith(t, path, today)
		reading(now, memoWritten, "reader", &seen)
		now.MustStart()
		publishAs(now, memoWritten, note{1})
		now.Idle()
		env.program(t, path, yesterday, func(f *Fixture) {
			publishAs(f, noteTaken, note{2})
			_, err := runtime.Publish(t.Context(), f.Bus, noteTaken, note{3}, runtime.WithDedupeKey("three"))
			Must(t, err)
			again, err := runtime.Publish(t.Context(), f.Bus, noteTaken, note{3}, runtime.WithDedupeKey("three"))
			if err != nil || !again.Duplicate {
				t.Errorf("the same idempotency key: %v, duplicate: %v", err, again.Duplicate)
			}
		})
		next := runtime.Define(runtime.Spec[note]{Name: "note.taken", Settings: BillSettings, Version: 2,
			Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(n note) (note, error) { return n, nil })}})
		env.program(t, path, runtime.NewCatalogue(next), func(f *Fixture) { publishAs(f, next, note{4}) })
		time.Sleep(time.Second) // until it has looked
		now.Idle()
		if diff := cmp.Diff([]string{"memo.written 1", "memo.written 2", "memo.written 3"}, seen.All()); diff != "" {
			t.Error(diff)
		}
		if letters := env.Dead(t, path); len(letters) != 1 || letters[0].Type != "memo.written" || letters[0].Version != 2 {
			t.Errorf("of a version that it does not know: %v", letters)
		}
		now.Stop()
		env.RequireSound(t, path)
	})
}

// While a program of before runs, one of today gives its subscription another name.
func (env *Env) TestAProgramOfBeforeKeepsItsNameForASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		old := env.ReopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		old.MustStart()
		Must(t, old.PauseSubscription(t.Context(), "old-reader"))
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
			conflict, ok := errors.AsType[*runtime.AliasError](err)
			if !ok || conflict.Name != "left" || conflict.Alias != "right" || !strings.Contains(err.Error(), "busgen subscriptions remove") {
				t.Errorf("%v", err)
			}
		})
		if names := strings.Join(env.peekAt(t, path).subscriptions(), ","); names != "left,old-reader,right" {
			t.Errorf("the file has subscriptions %s", names)
		}
	})
}

func (env *Env) TestANameThatWasGivenAwayCanBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, yesterday, func(f *Fixture) { publishAs(f, noteTaken, note{1}) })
		env.program(t, path, today, func(*Fixture) {})
		// The aliases are gone, and both names stand for something else.
		memos := noteType("memo.written", nil, runtime.DeclaredSubscription{Name: "reader", Settings: BillSettings})
		notes := noteType("note.taken", nil, runtime.DeclaredSubscription{Name: "old-reader", Settings: BillSettings})
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

func (env *Env) TestAMemberOfAGroupThatIsRenamedIsNotAskedAgain(t *testing.T) {
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

// handledBy runs a program that handles what is there, and returns what it saw.
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

func (env *Env) TestATypeCanBeRenamedBackAndForth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		back := noteType("note.taken", []string{"memo.written"}, runtime.DeclaredSubscription{Name: "old-reader", Settings: BillSettings, Aliases: []string{"reader"}})
		third := noteType("remark.made", []string{"memo.written"}, runtime.DeclaredSubscription{Name: "remarks", Settings: BillSettings, Aliases: []string{"reader"}})
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

func (env *Env) TestAPauseOfTypesHoldsUnderAllTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		old := env.ReopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		_, err := runtime.SubscribePattern(old.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		Must(t, err)
		old.MustStart()
		env.program(t, path, today, func(f *Fixture) { Must(t, f.PauseTypes(t.Context(), "memo.*")) })
		time.Sleep(time.Second) // until it has looked
		publishAs(old, noteTaken, note{1})
		synctest.Wait()
		Must(t, old.PauseTypes(t.Context(), "note.taken"))
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

func (env *Env) TestNothingIsHeldByAPauseThatIsForAnotherTypeNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		memos := noteType("memo.written", nil, runtime.DeclaredSubscription{Name: "reader", Settings: BillSettings})
		notes := noteType("note.taken", nil)
		apart := runtime.NewCatalogue(memos, notes)
		var seen Journal[string]
		env.program(t, path, today, func(f *Fixture) {
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return ErrBoom })
			Must(t, err)
			reading(f, memoWritten, "reader", &seen)
			f.MustStart()
			publishAs(f, memoWritten, note{1})
			Must(t, f.PauseTypes(t.Context(), "note.*"))
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

// The program that is rolled back to has never heard of the newest name.
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

// A pattern is for a type by each of its names, those that another program gives it included.
func (env *Env) TestAPatternIsForATypeByAllItsNames(t *testing.T) {
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
		filter := inspect.Filter{Types: []string{"note.taken"}, Subscriptions: []string{"old-reader"}}
		if n, err := inspector.CountDeadLetters(t.Context(), filter); n != 1 || err != nil {
			t.Errorf("found %d (%v), want 1", n, err)
		}
		if counts, err := inspector.Retry(t.Context(), inspect.Only(key)); counts.Moved != 1 || err != nil {
			t.Errorf("retried %+v (%v), want 1", counts, err)
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

func (env *Env) TestSettingsAreTunedByAFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env.program(t, env.Target(t), today, func(f *Fixture) {
			var seen Journal[int]
			_, err := runtime.Subscribe(f.Bus, memoWritten, "other", func(_ context.Context, e runtime.Event[note]) error {
				seen.Add(e.MaxAttempts)
				return nil
			})
			Must(t, err)
			Must(t, f.Tune(runtime.Tuning{Types: map[string]runtime.Settings{"note.taken": Within(time.Second, Exact(retry.MaxAttempts(7)))}}))
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

// RequireSound checks the file with all its rules.
func (env *Env) RequireSound(t *testing.T, path string) {
	t.Helper()
	file, err := env.OpenFile(t.Context(), path)
	Must(t, err)
	defer file.Close()
	if report, err := file.Check(t.Context(), nil); err != nil || !report.OK() {
		t.Errorf("the file is not sound: %+v, %v", report, err)
	}
}
