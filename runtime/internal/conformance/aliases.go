package conformance

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// note is the payload of one event type, which the older program of these tests calls
// note.taken and the newer one memo.written.
type note struct {
	N int `json:"n"`
}

func (note) Validate() error { return nil }

func noteType(name string, aliases []string, subscriptions ...declare.Subscription) *runtime.EventType[note] {
	return runtime.Define(runtime.Spec[note]{Name: name, Aliases: aliases, Settings: BillSettings, Subscriptions: subscriptions})
}

var (
	noteTaken   = noteType("note.taken", nil, declare.Subscription{Name: "old-reader", Settings: BillSettings})
	memoWritten = noteType("memo.written", []string{"note.taken"},
		declare.Subscription{Name: "reader", Settings: BillSettings, Aliases: []string{"older-reader", "old-reader"}})
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
			if n, err := inspector.CountDeadLetters(t.Context(), event.Filter{Types: []string{"memo.*"}, Subscriptions: []string{"reader"}}); n != 1 || err != nil {
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
		here, there := env.Target(t), env.Target(t)
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
			_, err = inspector.Export(t.Context(), &exported, event.Filter{})
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

func (env *Env) TestARenamedSubscriptionKeepsItsPendingDeliveries(t *testing.T) {
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
			Must(t, f.PauseSubscription(t.Context(), "printer", ""))
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

// A deployment is rolled back and forth.
func (env *Env) TestAnOlderProgramFindsTheNamesItKnows(t *testing.T) {
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
func (env *Env) TestAnOlderProgramHandlesEventsOfANewerOneBesideIt(t *testing.T) {
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
func (env *Env) TestANewerProgramHandlesEventsOfAnOlderOneBesideIt(t *testing.T) {
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
