package runtime_test

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
	"github.com/busgen/busgen/runtime/admin"
	"github.com/busgen/busgen/runtime/dlq"
	"github.com/busgen/busgen/runtime/retry"
)

// note is published as note.taken by a program that was deployed before, and as
// memo.written by one of today.
type note struct {
	N int `json:"n"`
}

func (note) Validate() error { return nil }

func noteType(name string, aliases []string, subscriptions ...runtime.DeclaredSubscription) *runtime.EventType[note] {
	return runtime.Define(runtime.Spec[note]{Name: name, Aliases: aliases, Settings: billSettings, Subscriptions: subscriptions})
}

var (
	noteTaken   = noteType("note.taken", nil, runtime.DeclaredSubscription{Name: "old-reader", Settings: billSettings})
	memoWritten = noteType("memo.written", []string{"note.taken"},
		runtime.DeclaredSubscription{Name: "reader", Settings: billSettings, Aliases: []string{"older-reader", "old-reader"}})
	yesterday = runtime.NewCatalogue(noteTaken)
	today     = runtime.NewCatalogue(memoWritten)
)

// reading subscribes with a handler that fails for numbers below 0, for good.
func reading(f *fixture, eventType *runtime.EventType[note], name string, seen *journal[string], opts ...runtime.SubscribeOption) {
	f.t.Helper()
	_, err := runtime.Subscribe(f.Bus, eventType, name, func(_ context.Context, e runtime.Event[note]) error {
		seen.add(fmt.Sprint(e.Type, " ", e.Payload.N))
		if e.Payload.N < 0 {
			return runtime.Permanent(errBoom)
		}
		return nil
	}, opts...)
	must(f.t, err)
}

func TestEventsOfAFormerNameAreDeliveredUnderTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		program(t, path, yesterday, func(f *fixture) {
			publishAs(f, noteTaken, note{1}, note{2})
			_, err := runtime.Publish(t.Context(), f.Bus, noteTaken, note{3}, runtime.WithDedupeKey("three"))
			must(t, err)
			_, err = runtime.Publish(t.Context(), f.Bus, noteTaken, note{4}, runtime.WithDelay(time.Hour))
			must(t, err)
		})
		program(t, path, today, func(f *fixture) {
			publishAs(f, memoWritten, note{5})
			again, err := runtime.Publish(t.Context(), f.Bus, memoWritten, note{3}, runtime.WithDedupeKey("three"))
			if err != nil || !again.Duplicate {
				t.Errorf("an idempotency key of the former name: %v, duplicate: %v", err, again.Duplicate)
			}
			var typed, all journal[string]
			reading(f, memoWritten, "reader", &typed)
			_, err = runtime.SubscribePattern(f.Bus, "memo.*", "archive", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				all.add(fmt.Sprint(e.Type, " ", string(e.Payload)))
				return nil
			}, runtime.FromBeginning())
			must(t, err)
			f.start()
			f.idle()
			if diff := cmp.Diff([]string{"memo.written 1", "memo.written 2", "memo.written 3", "memo.written 5", "memo.written 4"}, typed.all()); diff != "" {
				t.Error(diff)
			}
			want := []string{`memo.written {"n":1}`, `memo.written {"n":2}`, `memo.written {"n":3}`, `memo.written {"n":5}`, `memo.written {"n":4}`}
			if diff := cmp.Diff(want, all.all()); diff != "" {
				t.Errorf("by pattern: %s", diff)
			}
			if f.Catalogue().Lookup("note.taken") != f.Catalogue().Lookup("memo.written") {
				t.Error("the former name is not looked up")
			}
		})
		if n := len(peekAt(t, path).events("memo.written")); n != 5 {
			t.Errorf("the file has %d events of the new name, want 5", n)
		}
		requireSound(t, path)
	})
}

func TestDeadLettersOfAFormerNameAreFoundUnderTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			_, err := runtime.SubscribeDead(f.Bus, noteTaken, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[note]]) error { return errBoom })
			must(t, err)
			publishAs(f, noteTaken, note{-1})
			f.start()
			time.Sleep(time.Millisecond)
			synctest.Wait()
		})
		program(t, path, today, func(f *fixture) {
			letters := dead(t, path)
			if len(letters) != 1 || letters[0].Type != "memo.written" || letters[0].Subscription != "reader" {
				t.Fatalf("dead letters: %v", letters)
			}
			inspector, err := dlq.Open(path)
			must(t, err)
			defer inspector.Close()
			if n, err := inspector.Count(t.Context(), dlq.Filter{Types: []string{"memo.*"}, Subscriptions: []string{"reader"}}); n != 1 || err != nil {
				t.Errorf("found %d by the new names (%v), want 1", n, err)
			}
			var announced journal[string]
			_, err = runtime.SubscribeDead(f.Bus, memoWritten, "morgue", func(_ context.Context, e runtime.Event[runtime.DeadLetter[note]]) error {
				announced.add(fmt.Sprint(e.Type, " ", e.Payload.Event.Payload.N))
				return nil
			})
			must(t, err)
			reading(f, memoWritten, "reader", &seen)
			f.start()
			f.idle()
			if diff := cmp.Diff([]string{"$dead.memo.written -1"}, announced.all()); diff != "" {
				t.Error(diff)
			}
			counts, err := inspector.Retry(t.Context(), dlq.Only(letters[0].Key))
			must(t, err)
			f.idle()
			if diff := cmp.Diff([]string{"note.taken -1", "memo.written -1"}, seen.all()); diff != "" || counts.Moved != 1 {
				t.Error(counts, diff)
			}
		})
	})
}

func TestDeadLettersThatWereExportedUnderAFormerNameAreImported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := filepath.Join(t.TempDir(), "here.db"), filepath.Join(t.TempDir(), "there.db")
		var seen journal[string]
		var exported strings.Builder
		program(t, here, yesterday, func(f *fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			publishAs(f, noteTaken, note{-1})
			f.start()
			f.idle()
			inspector, err := dlq.Open(here)
			must(t, err)
			defer inspector.Close()
			_, err = inspector.Export(t.Context(), &exported, dlq.Filter{})
			must(t, err)
		})
		for path, want := range map[string]dlq.Counts{here: {Matched: 1, Skipped: 1}, there: {Matched: 1, Moved: 1}} {
			program(t, path, today, func(*fixture) {})
			inspector, err := dlq.Open(path)
			must(t, err)
			defer inspector.Close()
			got, err := inspector.Import(t.Context(), strings.NewReader(exported.String()))
			if err != nil || got != want {
				t.Errorf("%+v, %v, want %+v", got, err, want)
			}
			if letters := dead(t, path); len(letters) != 1 || letters[0].Type != "memo.written" || letters[0].Subscription != "reader" {
				t.Errorf("dead letters: %v", letters)
			}
		}
	})
}

func TestASubscriptionTakesOverWhatWasLeftToItsFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			reading(f, noteTaken, "printer", &seen)
			f.start()
			publishAs(f, noteTaken, note{1})
			f.idle()
		})
		program(t, path, yesterday, func(f *fixture) {
			publishAs(f, noteTaken, note{2})
			must(t, f.PauseSubscription(t.Context(), "printer"))
		})
		seen = journal[string]{}
		program(t, path, today, func(f *fixture) {
			reading(f, memoWritten, "reader", &seen)
			reading(f, memoWritten, "plotter", &seen, runtime.WithAliases("printer"))
			f.start()
			synctest.Wait()
			if diff := cmp.Diff([]string{"memo.written 2"}, seen.all()); diff != "" {
				t.Errorf("while the pause of the former name holds: %s", diff)
			}
			must(t, f.ResumeSubscription(t.Context(), "plotter"))
			f.idle()
			if diff := cmp.Diff([]string{"memo.written 2", "memo.written 2"}, seen.all()); diff != "" {
				t.Error(diff)
			}
		})
		if names := strings.Join(peekAt(t, path).subscriptions(), ","); names != "plotter,reader" {
			t.Errorf("the file has subscriptions %s", names)
		}
		requireSound(t, path)
	})
}

// A deployment that is rolled back and forth.
func TestAProgramOfBeforeFindsItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var before, after journal[string]
		for n := 1; n <= 5; n += 2 {
			program(t, path, yesterday, func(f *fixture) {
				reading(f, noteTaken, "old-reader", &before)
				f.start()
				publishAs(f, noteTaken, note{n})
				f.idle()
			})
			program(t, path, yesterday, func(f *fixture) { publishAs(f, noteTaken, note{10 * n}) }) // left over
			program(t, path, today, func(f *fixture) {
				reading(f, memoWritten, "reader", &after)
				f.start()
				publishAs(f, memoWritten, note{n + 1})
				f.idle()
			})
			program(t, path, today, func(f *fixture) { publishAs(f, memoWritten, note{100 * n}) }) // left over
		}
		wantBefore := []string{"note.taken 1", "note.taken 100", "note.taken 3", "note.taken 300", "note.taken 5"}
		wantAfter := []string{"memo.written 10", "memo.written 2", "memo.written 30", "memo.written 4", "memo.written 50", "memo.written 6"}
		if diff := cmp.Diff(wantBefore, before.all()) + cmp.Diff(wantAfter, after.all()); diff != "" {
			t.Error(diff)
		}
		requireSound(t, path)
	})
}

// A new program publishes while one of before is still the one that dispatches.
func TestAProgramOfBeforeHandlesWhatOneOfTodayPublishesBesideIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		old := reopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		old.start()
		publishAs(old, noteTaken, note{1})
		old.idle()
		program(t, path, today, func(f *fixture) { publishAs(f, memoWritten, note{2}, note{3}) })
		time.Sleep(time.Minute) // until it has looked
		old.idle()
		publishAs(old, noteTaken, note{4})
		old.idle()
		if diff := cmp.Diff([]string{"note.taken 1", "note.taken 2", "note.taken 3", "note.taken 4"}, seen.all()); diff != "" {
			t.Error(diff)
		}
		old.stop()
		requireSound(t, path)
	})
}

// Nothing was ever published under the former name before the new program came.
func TestWhatAProgramOfBeforePublishesBesideOneOfTodayIsHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		now := reopenWith(t, path, today)
		reading(now, memoWritten, "reader", &seen)
		now.start()
		publishAs(now, memoWritten, note{1})
		now.idle()
		program(t, path, yesterday, func(f *fixture) {
			publishAs(f, noteTaken, note{2})
			_, err := runtime.Publish(t.Context(), f.Bus, noteTaken, note{3}, runtime.WithDedupeKey("three"))
			must(t, err)
			again, err := runtime.Publish(t.Context(), f.Bus, noteTaken, note{3}, runtime.WithDedupeKey("three"))
			if err != nil || !again.Duplicate {
				t.Errorf("the same idempotency key: %v, duplicate: %v", err, again.Duplicate)
			}
		})
		next := runtime.Define(runtime.Spec[note]{Name: "note.taken", Settings: billSettings, Version: 2,
			Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, func(n note) (note, error) { return n, nil })}})
		program(t, path, runtime.NewCatalogue(next), func(f *fixture) { publishAs(f, next, note{4}) })
		time.Sleep(time.Second) // until it has looked
		now.idle()
		if diff := cmp.Diff([]string{"memo.written 1", "memo.written 2", "memo.written 3"}, seen.all()); diff != "" {
			t.Error(diff)
		}
		if letters := dead(t, path); len(letters) != 1 || letters[0].Type != "memo.written" || letters[0].Version != 2 {
			t.Errorf("of a version that it does not know: %v", letters)
		}
		now.stop()
		requireSound(t, path)
	})
}

// While a program of before runs, one of today gives its subscription another name.
func TestAProgramOfBeforeKeepsItsNameForASubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		old := reopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		old.start()
		must(t, old.PauseSubscription(t.Context(), "old-reader"))
		program(t, path, today, func(*fixture) {})
		time.Sleep(time.Second) // until it has looked
		receipt, err := runtime.Publish(t.Context(), old.Bus, noteTaken, note{1})
		must(t, err)
		synctest.Wait()
		if seen.all() != nil {
			t.Errorf("although it is paused: %v", seen.all())
		}
		pauses, err := old.Pauses(t.Context())
		if err != nil || len(pauses) != 1 || pauses[0].Subscription != "old-reader" {
			t.Errorf("pauses: %v, %v", pauses, err)
		}
		lag, err := old.Lag(t.Context())
		if err != nil || len(lag) != 1 || lag[0].Subscription != "old-reader" || !lag[0].Here || lag[0].Backlog != 1 {
			t.Errorf("lag: %+v, %v", lag, err)
		}
		must(t, old.ResumeSubscription(t.Context(), "old-reader"))
		outcome, err := receipt.Wait(t.Context())
		if err != nil || len(outcome.Deliveries) != 1 || outcome.Deliveries[0].Subscription != "old-reader" {
			t.Errorf("outcome: %+v, %v", outcome, err)
		}
		old.stop()
	})
}

func TestTwoSubscriptionsThatExistDoNotBecomeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "left", &seen)
			reading(f, noteTaken, "right", &seen)
			f.start()
		})
		program(t, path, yesterday, func(f *fixture) {
			_, err := runtime.Subscribe(f.Bus, noteTaken, "left", func(context.Context, runtime.Event[note]) error { return nil }, runtime.WithAliases("right"))
			conflict, ok := errors.AsType[*runtime.AliasError](err)
			if !ok || conflict.Name != "left" || conflict.Alias != "right" || !strings.Contains(err.Error(), "busgen subscriptions remove") {
				t.Errorf("%v", err)
			}
		})
		if names := strings.Join(peekAt(t, path).subscriptions(), ","); names != "left,old-reader,right" {
			t.Errorf("the file has subscriptions %s", names)
		}
	})
}

func TestANameThatWasGivenAwayCanBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		program(t, path, yesterday, func(f *fixture) { publishAs(f, noteTaken, note{1}) })
		program(t, path, today, func(*fixture) {})
		// The aliases are gone, and both names stand for something else.
		memos := noteType("memo.written", nil, runtime.DeclaredSubscription{Name: "reader", Settings: billSettings})
		notes := noteType("note.taken", nil, runtime.DeclaredSubscription{Name: "old-reader", Settings: billSettings})
		var ofMemos, ofNotes journal[string]
		program(t, path, runtime.NewCatalogue(notes, memos), func(f *fixture) {
			publishAs(f, memos, note{2})
			publishAs(f, notes, note{3})
			reading(f, notes, "old-reader", &ofNotes)
			reading(f, memos, "reader", &ofMemos)
			f.start()
			f.idle()
		})
		if diff := cmp.Diff([]string{"memo.written 2"}, ofMemos.all()) + cmp.Diff([]string{"note.taken 3"}, ofNotes.all()); diff != "" {
			t.Error(diff)
		}
		requireSound(t, path)
	})
}

func TestAGroupKeepsItsPlaceWhenItIsRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "one", &seen, runtime.InGroup("pair"))
			f.start()
		})
		program(t, path, yesterday, func(f *fixture) { publishAs(f, noteTaken, note{1}) })
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "one", &seen, runtime.InGroup("couple", "pair"))
			f.start()
			f.idle()
		})
		if diff := cmp.Diff([]string{"note.taken 1"}, seen.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAMemberOfAGroupThatIsRenamedIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var first, second journal[string]
		reader := func(f *fixture, name string, seen *journal[string], fails bool, opts ...runtime.SubscribeOption) {
			_, err := runtime.Subscribe(f.Bus, noteTaken, name, func(_ context.Context, e runtime.Event[note]) error {
				seen.add(fmt.Sprint(name, " ", e.Payload.N))
				if fails {
					return runtime.RetryAfter(time.Hour, errBoom)
				}
				return nil
			}, append(opts, runtime.InGroup("pair"))...)
			must(t, err)
		}
		program(t, path, yesterday, func(f *fixture) {
			reader(f, "one", &first, false)
			reader(f, "two", &second, true)
			f.start()
			publishAs(f, noteTaken, note{1})
			time.Sleep(time.Second)
		})
		program(t, path, yesterday, func(f *fixture) {
			reader(f, "uno", &first, false, runtime.WithAliases("one"))
			reader(f, "two", &second, false)
			f.start()
			f.idle()
		})
		if diff := cmp.Diff([]string{"one 1"}, first.all()) + cmp.Diff([]string{"two 1", "two 1"}, second.all()); diff != "" {
			t.Error(diff)
		}
	})
}

// handledBy runs a program that handles what is there, and returns what it saw.
func handledBy(t *testing.T, path string, catalogue *runtime.Catalogue, eventType *runtime.EventType[note], name string, opts ...runtime.SubscribeOption) []string {
	t.Helper()
	var seen journal[string]
	program(t, path, catalogue, func(f *fixture) {
		reading(f, eventType, name, &seen, opts...)
		f.start()
		f.idle()
	})
	return seen.all()
}

func TestATypeCanBeRenamedBackAndForth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		back := noteType("note.taken", []string{"memo.written"}, runtime.DeclaredSubscription{Name: "old-reader", Settings: billSettings, Aliases: []string{"reader"}})
		third := noteType("remark.made", []string{"memo.written"}, runtime.DeclaredSubscription{Name: "remarks", Settings: billSettings, Aliases: []string{"reader"}})
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
			program(t, path, catalogue, func(f *fixture) { publishAs(f, one.eventType, note{published}) })
			var want []string
			for n := max(published-1, 0); n <= published; n++ { // one was left over by the program before
				want = append(want, fmt.Sprint(one.eventType.Name(), " ", n))
			}
			if diff := cmp.Diff(want, handledBy(t, path, catalogue, one.eventType, one.subscription)); diff != "" {
				t.Errorf("program %d: %s", i, diff)
			}
			published++
			program(t, path, catalogue, func(f *fixture) { publishAs(f, one.eventType, note{published}) })
			published++
			requireSound(t, path)
		}
	})
}

func TestAPauseOfTypesHoldsUnderAllTheirNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		old := reopenWith(t, path, yesterday)
		reading(old, noteTaken, "old-reader", &seen)
		_, err := runtime.SubscribePattern(old.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		must(t, err)
		old.start()
		program(t, path, today, func(f *fixture) { must(t, f.PauseTypes(t.Context(), "memo.*")) })
		time.Sleep(time.Second) // until it has looked
		publishAs(old, noteTaken, note{1})
		synctest.Wait()
		must(t, old.PauseTypes(t.Context(), "note.taken"))
		program(t, path, today, func(f *fixture) { must(t, f.ResumeTypes(t.Context(), "memo.*")) })
		time.Sleep(time.Second)
		old.stop()
		now := reopenWith(t, path, today)
		reading(now, memoWritten, "reader", &seen)
		now.start()
		publishAs(now, memoWritten, note{2})
		synctest.Wait()
		if seen.all() != nil {
			t.Errorf("although it is paused: %v", seen.all())
		}
		must(t, now.ResumeTypes(t.Context(), "note.taken"))
		now.idle()
		if diff := cmp.Diff([]string{"memo.written 1", "memo.written 2"}, seen.all()); diff != "" {
			t.Error(diff)
		}
		now.stop()
		requireSound(t, path)
	})
}

func TestNothingIsHeldByAPauseThatIsForAnotherTypeNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		memos := noteType("memo.written", nil, runtime.DeclaredSubscription{Name: "reader", Settings: billSettings})
		notes := noteType("note.taken", nil)
		apart := runtime.NewCatalogue(memos, notes)
		var seen journal[string]
		program(t, path, today, func(f *fixture) {
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(context.Context, runtime.Event[runtime.Raw]) error { return errBoom })
			must(t, err)
			reading(f, memoWritten, "reader", &seen)
			f.start()
			publishAs(f, memoWritten, note{1})
			must(t, f.PauseTypes(t.Context(), "note.*"))
			time.Sleep(time.Hour) // the retry is held
			synctest.Wait()
		})
		program(t, path, apart, func(f *fixture) {
			_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				seen.add(e.Type + " again")
				return nil
			})
			must(t, err)
			reading(f, memos, "reader", &seen)
			f.start()
			f.idle()
		})
		if diff := cmp.Diff([]string{"memo.written 1", "memo.written again"}, slices.Sorted(slices.Values(seen.all()))); diff != "" {
			t.Error(diff)
		}
	})
}

// The program that is rolled back to has never heard of the newest name.
func TestTheNewestNameOfASubscriptionSurvivesARollback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		for i, one := range []struct {
			name    string
			aliases []string
		}{{"a", nil}, {"b", []string{"a"}}, {"c", []string{"b"}}, {"b", []string{"a"}}, {"c", nil}, {"a", nil}} {
			seen := handledBy(t, path, yesterday, noteTaken, one.name, runtime.WithAliases(one.aliases...))
			if i > 0 && !slices.Equal(seen, []string{fmt.Sprint("note.taken ", i-1)}) {
				t.Errorf("%s %v got %v", one.name, one.aliases, seen)
			}
			program(t, path, yesterday, func(f *fixture) { publishAs(f, noteTaken, note{i}) })
		}
	})
}

// A pattern is for a type by each of its names, those that another program gives it included.
func TestAPatternIsForATypeByAllItsNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		old := reopenWith(t, path, runtime.NewCatalogue(noteTaken, noteType("memo.filed", nil)))
		_, err := runtime.SubscribePattern(old.Bus, "memo.*", "memos", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
			seen.add(fmt.Sprint(e.Type, " ", string(e.Payload)))
			return nil
		})
		must(t, err)
		old.start()
		publishAs(old, noteTaken, note{1})
		old.idle()
		program(t, path, today, func(f *fixture) {})
		time.Sleep(time.Second) // until it has looked
		publishAs(old, noteTaken, note{2})
		old.idle()
		if diff := cmp.Diff([]string{`note.taken {"n":2}`}, seen.all()); diff != "" {
			t.Error(diff)
		}
		old.stop()
		requireSound(t, path)
	})
}

// morgue subscribes to dead letters.
func morgue(f *fixture, eventType *runtime.EventType[note], seen *journal[string]) {
	f.t.Helper()
	_, err := runtime.SubscribeDead(f.Bus, eventType, "morgue", func(_ context.Context, e runtime.Event[runtime.DeadLetter[note]]) error {
		seen.add(fmt.Sprint(e.Type, " ", e.Payload.Event.Type, " ", e.Payload.Event.Payload.N))
		return nil
	})
	must(f.t, err)
}

func TestASubscriptionToDeadLettersFollowsItsType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen, told journal[string]
		program(t, path, today, func(f *fixture) { morgue(f, memoWritten, &told) })
		// Rolled back to a program that has none of it: what dies there is announced all the same.
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			f.start()
			publishAs(f, noteTaken, note{-1})
			f.idle()
		})
		program(t, path, today, func(f *fixture) {
			morgue(f, memoWritten, &told)
			f.start()
			f.idle()
		})
		program(t, path, yesterday, func(f *fixture) {
			morgue(f, noteTaken, &told)
			reading(f, noteTaken, "old-reader", &seen)
			f.start()
			publishAs(f, noteTaken, note{-2})
			f.idle()
		})
		if diff := cmp.Diff([]string{"$dead.memo.written memo.written -1", "$dead.note.taken note.taken -2"}, told.all()); diff != "" {
			t.Error(diff)
		}
		requireSound(t, path)
	})
}

func TestASubscriptionToDeadLettersCanBeForAnotherType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		one, other := noteType("one.made", nil), noteType("other.made", nil)
		both := runtime.NewCatalogue(one, other)
		var seen, told journal[string]
		program(t, path, both, func(f *fixture) { morgue(f, one, &told) })
		program(t, path, both, func(f *fixture) {
			morgue(f, other, &told)
			reading(f, other, "reader", &seen)
			f.start()
			publishAs(f, other, note{-1})
			f.idle()
		})
		if diff := cmp.Diff([]string{"$dead.other.made other.made -1"}, told.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeadLettersAreFoundByFormerNamesToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "events.db")
		var seen journal[string]
		program(t, path, yesterday, func(f *fixture) {
			reading(f, noteTaken, "old-reader", &seen)
			f.start()
			publishAs(f, noteTaken, note{-1})
			f.idle()
		})
		key := dead(t, path)[0].Key
		program(t, path, today, func(*fixture) {})
		inspector, err := dlq.Open(path)
		must(t, err)
		defer inspector.Close()
		filter := dlq.Filter{Types: []string{"note.taken"}, Subscriptions: []string{"old-reader"}}
		if n, err := inspector.Count(t.Context(), filter); n != 1 || err != nil {
			t.Errorf("found %d (%v), want 1", n, err)
		}
		if counts, err := inspector.Retry(t.Context(), dlq.Only(key)); counts.Moved != 1 || err != nil {
			t.Errorf("retried %+v (%v), want 1", counts, err)
		}
	})
}

func TestTheFormerNameOfADeclaredSubscriptionIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program(t, filepath.Join(t.TempDir(), "events.db"), today, func(f *fixture) {
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

func TestSettingsAreTunedByAFormerName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		program(t, filepath.Join(t.TempDir(), "events.db"), today, func(f *fixture) {
			var seen journal[int]
			_, err := runtime.Subscribe(f.Bus, memoWritten, "other", func(_ context.Context, e runtime.Event[note]) error {
				seen.add(e.MaxAttempts)
				return nil
			})
			must(t, err)
			must(t, f.Tune(runtime.Tuning{Types: map[string]runtime.Settings{"note.taken": within(time.Second, exact(retry.MaxAttempts(7)))}}))
			f.start()
			publishAs(f, memoWritten, note{1})
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if diff := cmp.Diff([]int{7}, seen.all()); diff != "" {
				t.Error(diff)
			}
		})
	})
}

func TestTwoTypesOfOneNameAreRefused(t *testing.T) {
	defer func() {
		if said := fmt.Sprint(recover()); !strings.Contains(said, "two event types are named note.taken") {
			t.Error(said)
		}
	}()
	runtime.NewCatalogue(memoWritten, noteTaken)
}

// requireSound checks the file with all its rules.
func requireSound(t *testing.T, path string) {
	t.Helper()
	file, err := admin.Open(path)
	must(t, err)
	defer file.Close()
	if report, err := file.Check(t.Context(), nil); err != nil || !report.OK() {
		t.Errorf("the file is not sound: %+v, %v", report, err)
	}
}
