package inspection

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// Zeb is the person who is erased; the rest is about others.
const Zeb = "zebediah@example.org"

// erasable publishes events about a person and about others, with every trace that a
// person leaves, and returns what was published: about the person first. The bus runs.
func (env *Env) erasable(t *testing.T) (f *peopleFixture, about, other *runtime.Receipt, greeted *Handled) {
	t.Helper()
	f, greeted = env.openPeople(t, env.Target(t)), &Handled{}
	f.register("greeter", greetInVain)
	f.register("panicker", panicWith)
	f.register("newsletter", func(r Registered) error { return greeted.Handle(r.Age, 0) })
	_, err := runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[Registered]]) error { return nil })
	Must(t, err)
	f.MustStart()
	publish := func(r Registered) *runtime.Receipt {
		receipt, err := runtime.Publish(t.Context(), f.Bus, registeredType, r,
			runtime.WithMetadata(map[string]string{"asked-by": r.Email}), runtime.WithDedupeKey("registered "+r.Email), runtime.WithCorrelationID("of "+r.Email))
		Must(t, err)
		return receipt
	}
	about = publish(Registered{Number: "c-17", Email: Zeb, Age: 41, Plan: "gold", Note: "for " + Zeb})
	other = publish(Registered{Number: "c-18", Email: "ann@example.org", Age: 42, Plan: "gold"})
	publish(Registered{Number: "c-19", Email: "bob@example.org", Age: 43, Note: "a friend of " + Zeb + "!"})
	time.Sleep(time.Minute)
	_, err = f.File.DiscardDeadLetters(t.Context(), inspect.Only(event.Key{EventID: other.ID, Subscription: "greeter"}), "as "+Zeb+" wished")
	Must(t, err)
	Must(t, f.File.PauseTypes(t.Context(), "order.*", "asked by "+Zeb))
	return f, about, other, greeted
}

func (env *Env) TestAPersonIsErasedAndOthersAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, about, other, greeted := env.erasable(t)
		before := seenBy(t, f.File, other)
		plan := inspect.Erasure{Values: []string{Zeb}, DryRun: true}
		counted, err := f.File.Erase(t.Context(), plan)
		Must(t, err)
		if !strings.Contains(seenBy(t, f.File, about), Zeb) {
			t.Fatal("a dry run has erased")
		}
		plan.DryRun = false
		erased, err := f.File.Erase(t.Context(), plan)
		Must(t, err)
		// The event and its two notices; two attempts each for greeter and panicker.
		// A friend's event and its two notices mention the person.
		if erased.Events != 3 || erased.DeadLetters != 2 || erased.Attempts != 4 || erased.Open != 0 || erased.Mentions != 3 || !erased.Clean || erased.Texts == 0 {
			t.Errorf("erased %+v", erased)
		}
		if counted.Clean = true; counted.Events != erased.Events || counted.DeadLetters != erased.DeadLetters || counted.Attempts != erased.Attempts || counted.Texts != erased.Texts {
			t.Errorf("the dry run has counted %+v, want %+v", counted, erased)
		}
		seen := strings.ReplaceAll(seenBy(t, f.File, about), "a friend of "+Zeb, "") // which is counted as a mention
		entries, _, err := f.File.Audit(t.Context(), event.AuditFilter{}, event.Page{})
		Must(t, err)
		for _, e := range entries {
			seen += e.Detail + "\n"
		}
		if strings.Contains(seen, "zebediah") {
			t.Errorf("it is still seen:\n%s", seen)
		}
		if len(entries) == 0 || entries[0].Action != "erase" || entries[0].Actor != "ada" || entries[0].Count == 0 {
			t.Errorf("the audit has %+v", entries)
		}
		event, err := f.File.Event(t.Context(), about.ID)
		Must(t, err)
		if got := string(event.Payload); got != `{"number":"c-17","email":"[erased]","age":0,"plan":"gold","note":"[erased]"}` {
			t.Errorf("the payload is %s", got)
		}
		after := seenBy(t, f.File, other)
		for _, want := range []string{"no mailbox for ann@example.org", "ann@example.org", `"plan":"gold"`} {
			if strings.Count(after, want) == 0 || !strings.Contains(before, want) {
				t.Errorf("of another event %q is gone", want)
			}
		}
		// The bus goes on: the other dead letters can be retried, and the erased key is free.
		_, err = f.File.Retry(t.Context(), inspect.Selection{})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-20", Email: "cid@example.org", Age: 44}, runtime.WithDedupeKey("registered "+Zeb))
		Must(t, err)
		time.Sleep(time.Minute)
		if got := greeted.All(); len(got) != 4 || got[3] != 44 {
			t.Errorf("greeted %v", got)
		}
		again, err := f.File.Erase(t.Context(), plan)
		if err != nil || again.Events != 0 {
			t.Errorf("the second time: %+v (%v)", again, err)
		}
	})
}

func (env *Env) TestAnOpenEventIsErasedOnlyOnceItIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		var seen lines
		release := make(chan struct{})
		f.register("greeter", func(r Registered) error {
			seen.Write([]byte(r.Email + " "))
			if r.Email == Zeb {
				<-release
			}
			return nil
		})
		f.MustStart()
		for _, email := range []string{Zeb, "ann@example.org"} {
			_, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: email})
			Must(t, err)
		}
		time.Sleep(time.Second)
		for _, cancel := range []bool{false, true} { // its handler runs
			n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}, CancelOpen: cancel})
			if err != nil || n.Events != 0 || n.Open != 1 || len(n.OpenIDs) != 1 {
				t.Errorf("erased %+v (%v)", n, err)
			}
		}
		close(release)
		time.Sleep(time.Second)
		n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}})
		if err != nil || n.Events != 1 || n.Open != 0 {
			t.Errorf("erased %+v (%v)", n, err)
		}
		if got := seen.String(); got != Zeb+" ann@example.org " {
			t.Errorf("handled %s", got)
		}
	})
}

// The handler of a delivery that was discarded ends when it likes, with an error of its own.
func (env *Env) TestAnEventIsNotErasedWhileItsHandlerRunsThoughItIsDiscarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		release := make(chan struct{})
		f.register("greeter", func(r Registered) error {
			<-release
			return runtime.Permanent(greetInVain(r))
		})
		f.MustStart()
		receipt, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: Zeb})
		Must(t, err)
		time.Sleep(time.Millisecond)
		Must(t, Second(f.File.DiscardEvent(t.Context(), receipt.ID, "", "not wanted")))
		for _, cancel := range []bool{false, true} {
			n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}, CancelOpen: cancel})
			if err != nil || n.Events != 0 || n.Open != 1 {
				t.Errorf("while its handler runs: erased %+v (%v)", n, err)
			}
		}
		close(release)
		time.Sleep(time.Minute)
		n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}})
		if seen := seenBy(t, f.File, receipt); err != nil || n.Events == 0 || n.Open != 0 || strings.Contains(seen, "zebediah") {
			t.Errorf("afterwards: erased %+v (%v), seen:\n%s", n, err, seen)
		}
	})
}

func (env *Env) TestDeadLetterNoticesCanBeHandledAfterAnErasureAndNameNobody(t *testing.T) {
	env.noticesOfOthersAreErased(t)
	env.noticesOfThePersonAreHandled(t)
}

func (env *Env) noticesOfOthersAreErased(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", func(Registered) error { return runtime.Permanent(errors.New("a double of " + Zeb)) })
		Must(t, Second(runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[Registered]]) error { return nil })))
		f.MustStart()
		other, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: "ann@example.org"},
			runtime.WithMetadata(map[string]string{"like": "Zeb <" + Zeb + ">"}))
		Must(t, err)
		time.Sleep(time.Minute)
		n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}})
		if seen := seenBy(t, f.File, other); err != nil || n.Events != 0 || n.Texts == 0 || strings.Contains(seen, "zebediah") || !strings.Contains(seen, "a double of [erased]") {
			t.Errorf("erased %+v (%v), seen:\n%s", n, err, seen)
		}
	})
}

func (env *Env) noticesOfThePersonAreHandled(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", func(r Registered) error { return runtime.Permanent(greetInVain(r)) })
		var seen lines
		_, err := runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(_ context.Context, e runtime.Event[runtime.DeadLetter[Registered]]) error {
			seen.Write([]byte(e.Payload.Event.Payload.Email + " "))
			return nil
		})
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: Zeb}, runtime.WithMetadata(map[string]string{"asked-by": Zeb}))
		Must(t, err)
		time.Sleep(time.Minute)
		Must(t, Second(f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}})))
		Must(t, Second(f.File.Replay(t.Context(), "morgue", inspect.Selection{Filter: event.Filter{Types: []string{"$dead.user.registered"}}})))
		time.Sleep(time.Minute)
		if got := seen.String(); got != Zeb+" [erased] " {
			t.Errorf("handled %s", got)
		}
	})
}

func (env *Env) TestOpenEventsAreCancelledToBeErased(t *testing.T) {
	env.manyOpenAreCancelled(t)
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		var seen lines
		f.register("greeter", func(r Registered) error {
			seen.Write([]byte(r.Email + " "))
			return nil
		})
		f.MustStart()
		for _, email := range []string{Zeb, "ann@example.org"} {
			_, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: email}, runtime.WithDelay(time.Hour))
			Must(t, err)
		}
		time.Sleep(time.Second)
		n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}, CancelOpen: true})
		if err != nil || n.Events != 1 || n.Open != 0 || !n.Clean {
			t.Errorf("erased %+v (%v)", n, err)
		}
		time.Sleep(2 * time.Hour)
		if got := seen.String(); got != "ann@example.org " {
			t.Errorf("handled %s", got)
		}
	})
}

// manyOpenAreCancelled has more handlers at work than ids are returned.
func (env *Env) manyOpenAreCancelled(t *testing.T) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		release := make(chan struct{})
		f.register("greeter", func(Registered) error {
			<-release
			return nil
		}, runtime.WithConcurrency(110), runtime.WithTimeout(time.Hour))
		f.MustStart()
		publish := func(n int, opts ...runtime.PublishOption) {
			for i := range n {
				Must(t, Second(runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-" + strconv.Itoa(i), Email: Zeb}, opts...)))
			}
			time.Sleep(time.Second)
		}
		publish(110)
		publish(10, runtime.WithDelay(time.Hour))
		n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}, CancelOpen: true})
		if err != nil || n.Events != 10 || n.Open != 110 || len(n.OpenIDs) != 100 || len(n.Types) != 1 || n.Types[0].Events != 10 || n.Types[0].Open != 110 {
			t.Errorf("erased %+v (%v)", n, err)
		}
		close(release)
		time.Sleep(time.Second)
	})
}

func (env *Env) TestErasingChoosesByKeyFieldAndType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		_, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-17", Email: "a@b.example", Age: 4711, Plan: "gold"})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, Order{Number: 4711}) // has no schema
		Must(t, err)
		for _, test := range []struct {
			erasure inspect.Erasure
			want    int
		}{
			{inspect.Erasure{Values: []string{"c-17"}}, 1},
			{inspect.Erasure{Values: []string{"gold"}}, 0},
			{inspect.Erasure{Values: []string{"gold"}, Field: "plan"}, 1},
			{inspect.Erasure{Values: []string{"4711"}}, 1},
			{inspect.Erasure{Values: []string{"4711"}, Field: "number"}, 1},
			{inspect.Erasure{Values: []string{"4711", "c-17"}, Types: []string{"order.*"}}, 0},
			{inspect.Erasure{Values: []string{"c-17"}, Types: []string{"user.*"}}, 1},
		} {
			test.erasure.DryRun = true
			if n, err := f.File.Erase(t.Context(), test.erasure); err != nil || n.Events != test.want {
				t.Errorf("%+v: %+v (%v)", test.erasure, n, err)
			}
		}
		for _, wrong := range []inspect.Erasure{{}, {Values: []string{""}}, {Values: []string{"a"}, Types: []string{"a..b"}}} {
			if _, err := f.File.Erase(t.Context(), wrong); err == nil || errors.As(err, new(*event.UnsupportedError)) {
				t.Errorf("%+v: %v", wrong, err)
			}
		}
		_, err = f.File.Erase(t.Context(), inspect.Erasure{Values: []string{"4711"}, Field: "number", Whole: true})
		Must(t, err)
		events, _, err := f.File.Events(t.Context(), event.Filter{Types: []string{"order.placed"}}, event.Page{})
		if err != nil || len(events) != 1 || string(events[0].Payload) != "{}" {
			t.Errorf("the events are %+v (%v)", events, err)
		}
	})
}

// A bus has the newest events in memory, and looks at the log at times only.
func (env *Env) TestANewSubscriptionIsNotHandedWhatWasErased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", func(Registered) error { return nil })
		f.MustStart()
		for _, email := range []string{Zeb, "ann@example.org"} {
			_, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: email})
			Must(t, err)
		}
		time.Sleep(time.Second)
		n, err := f.File.Erase(t.Context(), inspect.Erasure{Values: []string{Zeb}, KeepSpace: true})
		if err != nil || n.Events != 1 {
			t.Fatalf("erased %+v (%v)", n, err)
		}
		if got := Emails(t, f.Bus, "late"); got != "[erased] ann@example.org " {
			t.Errorf("it is handed %s", got)
		}
	})
}
