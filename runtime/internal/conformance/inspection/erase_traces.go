package inspection

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// LeaveTraces leaves all traces of a person that a bus keeps, n events of each kind, and as
// many of others: in keys, payloads, metadata, errors, stacks, logs, dead letters, notices,
// idempotency keys, edited payloads, discards that can be undone, reasons and the audit. All
// of it is settled. The bus runs and is returned, with what greets people from then on.
func (env *Env) LeaveTraces(t *testing.T, path string, n int) (bus *runtime.Bus, greeted *Handled) {
	t.Helper()
	f := env.openPeople(t, path)
	greeted = &Handled{}
	f.register("greeter", func(r Registered) error { return runtime.Permanent(greetInVain(r)) })
	f.register("panicker", panicWith)
	f.register("newsletter", func(r Registered) error { return greeted.Handle(r.Age, 0) })
	_, err := runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[Registered]]) error { return nil })
	Must(t, err)
	f.MustStart()
	var ids []event.Key
	for i := range n {
		for _, who := range []string{Zeb, "ann@example.org"} {
			receipt, err := runtime.Publish(t.Context(), f.Bus, registeredType,
				Registered{Number: "key of " + who, Email: who, Age: 1000 + i, Plan: "gold", Note: "written by " + who},
				runtime.WithMetadata(map[string]string{"asked-by": who}), runtime.WithDedupeKey(fmt.Sprint(i, " for ", who)), runtime.WithCorrelationID("of "+who))
			Must(t, err)
			ids = append(ids, event.Key{EventID: receipt.ID, Subscription: "greeter"})
		}
	}
	f.settle()
	edits, err := env.OpenFile(t.Context(), path, inspect.WithActor("ada"), inspect.WithEditing(func(string, int, []byte) error { return nil }))
	Must(t, err)
	defer edits.Close()
	// One that is edited, and edited again into an event that names nobody; one that is
	// discarded, and one whose discard can be undone.
	Must(t, Second(edits.Edit(t.Context(), ids[0], []byte(`{"number":"c","email":"second-`+Zeb+`","age":1,"plan":"gold","note":""}`))))
	f.settle()
	Must(t, Second(edits.DiscardDeadLetters(t.Context(), inspect.Only(ids[2]), "as "+Zeb+" wished")))
	Must(t, Second(edits.DiscardDeadLetters(t.Context(), inspect.Only(ids[3]), "as "+Zeb+" wished")))
	Must(t, Second(edits.Retry(t.Context(), inspect.Selection{Filter: event.Filter{Text: Zeb}, Limit: 5})))
	f.settle()
	Must(t, edits.PauseTypes(t.Context(), "order.*", "asked by "+Zeb))
	Must(t, edits.ResumeTypes(t.Context(), "order.*"))
	return f.Bus, greeted
}

// Emails subscribes to all events about people that the log has, and returns the addresses of
// those that are handled until nothing is pending.
func Emails(t *testing.T, bus *runtime.Bus, name string) string {
	t.Helper()
	var all Handled
	var emails sync.Map
	_, err := runtime.Subscribe(bus, registeredType, name, func(_ context.Context, e runtime.Event[Registered]) error {
		emails.Store(e.Payload.Email, true)
		return all.Handle(e.Payload.Age, 0)
	}, runtime.FromBeginning())
	Must(t, err)
	Must(t, bus.WaitIdle(t.Context()))
	text := ""
	for _, email := range []string{"[erased]", "ann@example.org", Zeb} {
		if _, seen := emails.Load(email); seen {
			text += email + " "
		}
	}
	return text
}

// Greeting opens a bus that greets the person, and returns it.
func (env *Env) Greeting(t *testing.T, path string, greet func()) *runtime.Bus {
	t.Helper()
	f := env.openPeople(t, path)
	f.register("greeter", func(Registered) error {
		greet()
		return nil
	})
	f.MustStart()
	Must(t, Second(runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-1", Email: Zeb})))
	return f.Bus
}

// settle waits until nothing is pending, in real time. How long that takes is not ours to say:
// a machine may be busy, and the limit of the test ends it.
func (f *peopleFixture) settle() {
	f.t.Helper()
	Must(f.t, f.WaitIdle(f.t.Context()))
}

// ErasingZeb is the erasure of all of it.
func ErasingZeb() inspect.Erasure {
	return inspect.Erasure{Values: []string{Zeb, "key of " + Zeb, "second-" + Zeb}}
}
