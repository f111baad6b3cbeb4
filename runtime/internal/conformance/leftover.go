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

// A subscription whose event was renamed without an alias.
var (
	drawn  = noteType("note.drawn", nil, declare.Subscription{Name: "reader", Settings: BillSettings})
	shaped = noteType("note.shaped", nil, declare.Subscription{Name: "reader", Settings: BillSettings})
	plain  = noteType("note.shaped", nil)
)

func (env *Env) TestDeliveriesLeftToASubscriptionForAnotherTypeBecomeDeadLetters(t *testing.T) {
	for name, after := range map[string]struct {
		catalogue *runtime.Catalogue
		subscribe func(f *Fixture, seen *Journal[string])
	}{
		"declared by the catalogue, and subscribed before the start": {runtime.NewCatalogue(shaped), func(f *Fixture, seen *Journal[string]) {
			reading(f, shaped, "reader", seen)
			f.MustStart()
		}},
		"subscribed after the start": {runtime.NewCatalogue(plain), func(f *Fixture, seen *Journal[string]) {
			f.MustStart()
			_, err := runtime.Subscribe(f.Bus, plain, "reader",
				func(_ context.Context, e runtime.Event[note]) error { seen.Add(e.Type); return nil })
			Must(f.T, err)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := env.Target(t)
				var seen Journal[string]
				env.program(t, path, runtime.NewCatalogue(drawn), func(f *Fixture) {
					publishAs(f, drawn, note{1}, note{2})
					_, err := runtime.Publish(t.Context(), f.Bus, drawn, note{3}, runtime.WithDelay(time.Hour))
					Must(t, err)
				})
				env.program(t, path, after.catalogue, func(f *Fixture) {
					after.subscribe(f, &seen)
					f.Idle()
				})
				if seen.All() != nil {
					t.Errorf("handled %q", seen.All())
				}
				var left []string
				for _, letter := range env.Dead(t, path) {
					left = append(left, letter.Subscription+" "+letter.Type+" "+letter.Reason+" "+string(letter.Payload))
				}
				want := []string{`reader note.drawn decode {"n":3}`, `reader note.drawn decode {"n":2}`, `reader note.drawn decode {"n":1}`}
				if diff := cmp.Diff(want, left); diff != "" {
					t.Errorf("dead letters (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func (env *Env) TestDeadLetterNoticesLeftForAnotherTypeAreNotDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		one, other := noteType("one.made", nil), noteType("other.made", nil)
		both := runtime.NewCatalogue(one, other)
		var seen, told Journal[string]
		env.program(t, path, both, func(f *Fixture) {
			morgue(f, one, &told)
			reading(f, one, "reader", &seen)
			Must(t, f.PauseSubscription(t.Context(), "morgue", ""))
			f.MustStart()
			publishAs(f, one, note{-1})
			synctest.Wait()
		})
		env.program(t, path, both, func(f *Fixture) {
			morgue(f, other, &told)
			f.MustStart()
			Must(t, f.ResumeSubscription(t.Context(), "morgue"))
			f.Idle()
		})
		if letters := env.Dead(t, path); !slices.ContainsFunc(letters, func(l event.DeadLetter) bool { return l.Subscription == "morgue" && l.Type == "$dead.one.made" }) {
			t.Errorf("dead letters %+v", letters)
		}
		if told.All() != nil {
			t.Errorf("told %q", told.All())
		}
	})
}

// warnings returns the warnings of a bus, without the parts that tests cannot predict.
func (f *Fixture) warnings(level string) (lines []string) {
	f.T.Helper()
	for _, line := range f.Log.Level(f.T, level) {
		text := fmt.Sprint(line["msg"])
		for _, name := range []string{"subscription_id", "pattern", "event_type", "event_types", "more", "check", "mostly", "value"} {
			if value, ok := line[name]; ok {
				text += fmt.Sprintf(" %s=%v", name, value)
			}
		}
		lines = append(lines, text)
	}
	return lines
}

// exceeded returns the names of the health checks that are exceeded.
func (f *Fixture) exceeded() (names []string) {
	for _, c := range f.Health().Checks {
		if c.Exceeded {
			names = append(names, fmt.Sprintf("%s %v %s", c.Name, c.Value, c.Mostly))
		}
	}
	return names
}

func ignore(context.Context, runtime.Event[note]) error { return nil }

const waitsInVain = "a caller waits for an event, and this program has no handler for a subscription that has to handle it"

func (env *Env) TestTheLogNamesTheSubscriptionWithoutAHandlerForWhichSomebodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taken := noteType("note.taken", nil, declare.Subscription{Name: "reader", Settings: BillSettings})
		f := env.ReopenWith(t, env.Target(t), runtime.NewCatalogue(taken, PlacedType))
		_, err := runtime.Subscribe(f.Bus, taken, "slow", func(context.Context, runtime.Event[note]) error { time.Sleep(time.Second); return nil })
		Must(t, err)
		receipts := make(chan *runtime.Receipt, 1)
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			r, err := runtime.Publish(ctx, f.Bus, taken, note{1}, runtime.Immediately())
			if err != nil {
				return err
			}
			receipts <- r
			_, err = r.Wait(ctx)
			return err
		})
		f.MustStart()
		wait := func(r *runtime.Receipt) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := r.Wait(ctx)
			return err
		}
		for range 2 { // the second time is not logged again
			r, err := runtime.Publish(t.Context(), f.Bus, taken, note{1})
			Must(t, err)
			if err := wait(r); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the wait ends with %v", err)
			}
		}
		f.Publish(1)
		again := <-receipts
		named := 0
		for _, line := range f.Log.Level(t, "WARN") {
			if line["msg"] == waitsInVain {
				named++
				if line["subscription_id"] != "reader" || line["event_type"] != "note.taken" || line["event_id"] == nil {
					t.Errorf("the log says %v", line)
				}
			}
		}
		if named != 1 {
			t.Errorf("the log names the subscription %d times, want once", named)
		}
		_, err = runtime.Subscribe(f.Bus, taken, "reader", ignore)
		Must(t, err)
		Must(t, wait(again))
		f.Idle()
	})
}

const noHandler = "a subscription has pending events, and this program has no handler for it"

func (env *Env) TestAnUnhandledBacklogIsUnhealthyAndLoggedAsAWarning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		taken := noteType("note.taken", nil)
		c := runtime.NewCatalogue(taken)
		env.program(t, path, c, func(f *Fixture) {
			for _, name := range []string{"send-receipt", "idle", "dead-only"} {
				_, err := runtime.Subscribe(f.Bus, taken, name, func(_ context.Context, e runtime.Event[note]) error {
					if name == "dead-only" {
						return runtime.Permanent(ErrBoom)
					}
					return nil
				})
				Must(t, err)
			}
			Must(t, f.PauseSubscription(t.Context(), "send-receipt", ""))
			f.MustStart()
			publishAs(f, taken, note{1}, note{2})
			time.Sleep(time.Second)
		})

		f := env.ReopenWith(t, path, c)
		_, err := runtime.Subscribe(f.Bus, taken, "mail-receipt", ignore) // the new name, without an alias
		Must(t, err)
		f.MustStart()
		want := []string{noHandler + " subscription_id=send-receipt pattern=note.taken"}
		if diff := cmp.Diff(want, f.warnings("WARN")); diff != "" {
			t.Errorf("warnings at the start (-want +got):\n%s", diff)
		}
		time.Sleep(Look + time.Second)
		if diff := cmp.Diff([]string{"unhandled 1 send-receipt"}, f.exceeded()); diff != "" || f.Health().Healthy {
			t.Errorf("health: %s", diff)
		}
		publishAs(f, taken, note{3}) // for all four: those that are not subscribed any more have a backlog now
		time.Sleep(Look)
		if diff := cmp.Diff([]string{"unhandled 3 send-receipt"}, f.exceeded()); diff != "" {
			t.Errorf("health: %s", diff)
		}
		Must(t, f.ResumeSubscription(t.Context(), "send-receipt"))
		for _, name := range []string{"send-receipt", "idle", "dead-only"} {
			_, err := runtime.Subscribe(f.Bus, taken, name, ignore)
			Must(t, err)
		}
		time.Sleep(Look)
		if !f.Health().Healthy {
			t.Errorf("health: %q", f.exceeded())
		}
		if got := f.peek().unhandled(); len(got) > 0 {
			t.Errorf("the file says that %q have no handler", got)
		}
	})
}

func (env *Env) TestAnUnsubscribedNameIsNotHandled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		s := f.Handle("reader", func(context.Context, runtime.Event[OrderPlaced]) error { return nil })
		f.MustStart()
		f.Publish(1)
		f.Idle()
		Must(t, s.Unsubscribe(t.Context()))
		f.Publish(2)
		time.Sleep(Look + time.Second)
		if diff := cmp.Diff([]string{"unhandled 1 reader"}, f.exceeded()); diff != "" {
			t.Errorf("health: %s", diff)
		}
		if got := f.peek().unhandled(); !slices.Equal(got, []string{"reader"}) {
			t.Errorf("the file says that %q have no handler, want reader", got)
		}
		f.Stop()
		if got := f.peek().unhandled(); len(got) > 0 {
			t.Errorf("after the end the file says that %q have no handler", got)
		}
	})
}

func (env *Env) TestUnhandledTypesAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		taken, gone, heard := noteType("note.taken", nil), noteType("note.gone", nil), noteType("heard.gone", nil)
		all := runtime.NewCatalogue(taken, gone, heard)
		env.program(t, path, all, func(f *Fixture) {
			_, err := runtime.SubscribePattern(f.Bus, "heard.*", "listener", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
			Must(t, err)
			publishAs(f, taken, note{1})
			publishAs(f, gone, note{2})
			publishAs(f, heard, note{3})
		})
		f := env.ReopenWith(t, path, runtime.NewCatalogue(taken, noteType("heard.still", nil)))
		_, err := runtime.SubscribePattern(f.Bus, "heard.*", "listener", func(context.Context, runtime.Event[runtime.Raw]) error { return nil })
		Must(t, err)
		f.MustStart()
		want := []string{"an event type is not in the catalogue, and no subscription is for its events event_type=note.gone"}
		if diff := cmp.Diff(want, f.warnings("WARN")); diff != "" {
			t.Errorf("warnings at the start (-want +got):\n%s", diff)
		}
		if lines := f.warnings("INFO"); !slices.Contains(lines, "no subscription is for the events of these types event_types=[note.taken]") {
			t.Errorf("the log says %q", lines)
		}
		time.Sleep(Look + time.Second)
		if !f.Health().Healthy { // those events may have been handled when the type was known
			t.Errorf("health: %q", f.exceeded())
		}
		env.program(t, path, all, func(other *Fixture) { publishAs(other, gone, note{4}); publishAs(other, heard, note{5}) })
		time.Sleep(Look)
		if diff := cmp.Diff([]string{"unknown_types 1 note.gone"}, f.exceeded()); diff != "" {
			t.Errorf("health: %s", diff)
		}
	})
}

func (env *Env) TestUnhandledTypesAreReportedInABoundedNumberOfLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		taken := noteType("note.taken", nil)
		env.program(t, path, runtime.NewCatalogue(taken), func(f *Fixture) {
			for n := range 13 {
				_, err := runtime.Subscribe(f.Bus, taken, fmt.Sprintf("reader-%02d", n), ignore)
				Must(t, err)
			}
			publishAs(f, taken, note{1})
		})
		f := env.ReopenWith(t, path, runtime.NewCatalogue(taken))
		f.MustStart()
		lines := f.warnings("WARN")
		if len(lines) != 11 || lines[10] != "more subscriptions have pending events, and this program has no handler for them more=3" {
			t.Errorf("the log says %q", lines)
		}
	})
}

func (env *Env) TestDeliveriesLeftToARemovedGroupMemberBecomeDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		taken, drawn := noteType("note.taken", nil), noteType("note.drawn", nil)
		c := runtime.NewCatalogue(taken, drawn)
		var seen Journal[string]
		env.program(t, path, c, func(f *Fixture) {
			reading(f, taken, "taker", &seen, runtime.InGroup("g"))
			reading(f, drawn, "drawer", &seen, runtime.InGroup("g"))
			publishAs(f, taken, note{1})
			publishAs(f, drawn, note{2})
		})
		f := env.ReopenWith(t, path, c)
		reading(f, taken, "taker", &seen, runtime.InGroup("g"))
		f.MustStart()
		f.Idle()
		publishAs(f, drawn, note{3}) // which is for nobody now
		publishAs(f, taken, note{4})
		f.Idle()
		f.Stop()
		if diff := cmp.Diff([]string{"note.taken 1", "note.taken 4"}, seen.All()); diff != "" {
			t.Error(diff)
		}
		letters := env.Dead(t, path)
		if len(letters) != 1 || letters[0].Subscription != "g" || letters[0].Type != "note.drawn" || letters[0].Reason != "decode" ||
			string(letters[0].Payload) != `{"n":2}` || !strings.Contains(letters[0].LastAttempt().Error, `no member of group "g" is for events of type note.drawn`) {
			t.Errorf("dead letters %+v", letters)
		}
		env.RequireSound(t, path)
	})
}

// A subscription for rare events must not make each look read a long log.
func (env *Env) TestTheSearchForUnhandledEventsIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		before, after int // events of another type
		want          []string
	}{
		"a backlog that begins soon":        {5_000, 40_000, []string{noHandler + " subscription_id=rare pattern=note.drawn"}},
		"a backlog of today":                {40_000, 5_000, []string{noHandler + " subscription_id=rare pattern=note.drawn"}},
		"one event somewhere in a long log": {20_000, 20_000, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				path := env.Target(t)
				taken, drawn := noteType("note.taken", nil), noteType("note.drawn", nil)
				c := runtime.NewCatalogue(taken, drawn)
				env.program(t, path, c, func(f *Fixture) {
					_, err := runtime.Subscribe(f.Bus, drawn, "rare", ignore)
					Must(t, err)
					_, err = runtime.Subscribe(f.Bus, taken, "reader", ignore)
					Must(t, err)
					for i, n := range []int{test.before, 0, test.after} {
						if i == 1 {
							publishAs(f, drawn, note{1})
							continue
						}
						_, err := runtime.PublishBatch(t.Context(), f.Bus, taken, make([]note, n))
						Must(t, err)
					}
				})
				f := env.ReopenWith(t, path, c)
				_, err := runtime.Subscribe(f.Bus, taken, "reader", ignore)
				Must(t, err)
				Must(t, f.PauseSubscription(t.Context(), "reader", ""))
				f.MustStart()
				if diff := cmp.Diff(test.want, f.warnings("WARN")); diff != "" {
					t.Errorf("warnings at the start (-want +got):\n%s", diff)
				}
			})
		})
	}
}
