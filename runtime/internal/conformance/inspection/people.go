package inspection

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

// Registered is about a person.
type Registered struct {
	Number string `json:"number"`
	Email  string `json:"email"`
	Age    int    `json:"age"`
	Plan   string `json:"plan"`
	Note   string `json:"note"`
}

func (Registered) Validate() error { return nil }

// RegisteredSchema is the schema of Registered, as generated code has it.
const RegisteredSchema = `{"event":"user.registered","version":1,"partition_by":"number","payload":{"number":"string",` +
	`"email":{"type":"string","sensitive":true,"personal":true},"age":{"type":"int","sensitive":true,"personal":true},"plan":"string","note":"string"}}`

var (
	registeredType = runtime.Define(runtime.Spec[Registered]{Name: "user.registered", Settings: settings(), Schema: RegisteredSchema,
		PartitionBy: func(r Registered) string { return r.Number }})
	people = runtime.NewCatalogue(registeredType, PlacedType)
)

// lines collects what is logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// peopleFixture is a bus of events about people, with its log.
type peopleFixture struct {
	*Fixture
	logged *lines
}

func (env *Env) openPeople(t *testing.T, path string) *peopleFixture {
	t.Helper()
	log := &lines{}
	bus, err := env.OpenBus(t.Context(), path, people, runtime.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	Must(t, err)
	t.Cleanup(func() { bus.Shutdown(context.Background()) })
	return &peopleFixture{&Fixture{Bus: bus, env: env, t: t, Path: path, File: env.Outside(t, path)}, log}
}

// register subscribes to registrations.
func (f *peopleFixture) register(name string, handle func(r Registered) error, opts ...runtime.SubscribeOption) {
	f.t.Helper()
	_, err := runtime.Subscribe(f.Bus, registeredType, name, func(_ context.Context, e runtime.Event[Registered]) error {
		runtime.Logger(e).Info("greeting", "email", e.Payload.Email)
		return handle(e.Payload)
	}, opts...)
	Must(f.t, err)
}

// greetInVain fails with an error that quotes the address.
func greetInVain(r Registered) error {
	return fmt.Errorf("no mailbox for %s", r.Email)
}

// panicWith quotes the address in a stack as well.
func panicWith(r Registered) error { panic("cannot greet " + r.Email) }

// seenBy is what the methods that look return of an event, as one text.
func seenBy(t *testing.T, file *inspect.File, id *runtime.Receipt) string {
	t.Helper()
	var b bytes.Buffer
	see := func(value any, err error) {
		Must(t, err)
		fmt.Fprintf(&b, "%+v\n", value)
	}
	it, err := file.Event(t.Context(), id.ID)
	see(it, err)
	fmt.Fprintf(&b, "%s %s\n", it.Payload, it.Metadata)
	search, err := file.SearchEvents(t.Context(), event.Filter{}, event.Page{}, 100)
	see(search, err)
	events, _, err := file.Events(t.Context(), event.Filter{Types: []string{"*", "$dead.user.registered"}}, event.Page{})
	see(events, err)
	for _, e := range append(events, search.Events...) {
		fmt.Fprintf(&b, "%s %s\n", e.Payload, e.Metadata)
	}
	letters, _, err := file.DeadLetters(t.Context(), event.Filter{}, event.Page{})
	see(letters, err)
	for _, l := range letters {
		one, err := file.DeadLetter(t.Context(), l.Key)
		see(one, err)
		fmt.Fprintf(&b, "%s %s %s\n", l.Payload, one.Payload, l.Metadata)
	}
	groups, err := file.FailureGroups(t.Context(), event.Filter{})
	see(groups, err)
	status, err := file.Status(t.Context())
	see(status, err)
	return b.String()
}

func (env *Env) TestSensitiveValuesAreHiddenFromThoseWhoLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", greetInVain)
		f.register("panicker", panicWith)
		_, err := runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[Registered]]) error { return nil })
		Must(t, err)
		f.MustStart()
		const zeb = "zebediah@example.org"
		receipt, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-17", Email: zeb, Age: 41, Plan: "gold"},
			runtime.WithMetadata(map[string]string{"asked-by": zeb}))
		Must(t, err)
		time.Sleep(time.Minute)
		shown := seenBy(t, f.File, receipt)
		if strings.Count(shown, zeb) < 5 {
			t.Fatalf("there is little to hide:\n%s", shown)
		}
		hidden := seenBy(t, f.File.Hiding(), receipt)
		if strings.Contains(hidden, "zebediah") || !strings.Contains(hidden, "no mailbox for [hidden]") || !strings.Contains(hidden, `"plan":"gold"`) {
			t.Errorf("it is seen:\n%s", hidden)
		}
		if got := f.logged.String(); strings.Contains(strings.ReplaceAll(got, "msg=greeting", ""), "no mailbox for zeb") || !strings.Contains(got, "no mailbox for [hidden]") {
			t.Errorf("it is in the log:\n%s", got)
		}
		one, err := f.File.Hide(t.Context(), "user.registered", 1, []byte(`{"email":"a@b.example"}`))
		if err != nil || string(one) != `{"email":"[hidden]"}` {
			t.Errorf("a payload is shown as %s (%v)", one, err)
		}
	})
}

func (env *Env) TestALetterIsCorrectedByWhoDoesNotSeeItsSensitiveValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", greetInVain)
		f.MustStart()
		const zeb = "zebediah@example.org"
		receipt, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-17", Email: zeb, Age: 41, Plan: "gold"})
		Must(t, err)
		time.Sleep(time.Minute)
		file, err := env.OpenFile(t.Context(), f.Path, inspect.WithEditing(func(_ string, _ int, payload []byte) error {
			if strings.Contains(string(payload), "tin") {
				return fmt.Errorf("it is wrong: %s", payload)
			}
			return nil
		}))
		Must(t, err)
		defer file.Close()
		hiding := file.Hiding()
		key := event.Key{EventID: receipt.ID, Subscription: "greeter"}
		letter, err := hiding.DeadLetter(t.Context(), key)
		Must(t, err)
		edit := func(old, new string) (uuid.UUID, error) {
			return hiding.Edit(t.Context(), key, []byte(strings.Replace(string(letter.Payload), old, new, 1)))
		}
		var invalid *inspect.InvalidPayloadError
		if _, err := edit("gold", "tin"); !errors.As(err, &invalid) || strings.Contains(err.Error(), "zebediah") || !strings.Contains(err.Error(), "tin") {
			t.Errorf("what is wrong is refused with %v", err)
		}
		if _, err := edit(`"gold"`, `"`+inspect.HiddenValue+`"`); !errors.As(err, &invalid) {
			t.Errorf("a hidden value at another place is refused with %v", err)
		}
		id, err := edit("gold", "silver")
		Must(t, err)
		made, err := file.Event(t.Context(), id)
		Must(t, err)
		if got := string(made.Payload); !strings.Contains(got, zeb) || !strings.Contains(got, "silver") || strings.Contains(got, inspect.HiddenValue) {
			t.Errorf("the new event has %s", got)
		}
	})
}

// found is how much each method that searches finds with a filter.
func found(t *testing.T, file *inspect.File, filter event.Filter) map[string]int {
	t.Helper()
	all, ctx := map[string]int{}, t.Context()
	note := func(method string, n int, err error) {
		Must(t, err)
		all[method] = n
	}
	filter.Types = []string{"*", "$dead.user.registered"}
	events, _, err := file.Events(ctx, filter, event.Page{})
	note("Events", len(events), err)
	search, err := file.SearchEvents(ctx, filter, event.Page{}, 100)
	note("SearchEvents", len(search.Events), err)
	newest, err := file.Newest(ctx, filter, 10)
	note("Newest", len(newest.Events), err)
	part, err := file.Follow(ctx, filter, event.Page{})
	note("Follow", len(part.Events), err)
	letters, _, err := file.DeadLetters(ctx, filter, event.Page{})
	note("DeadLetters", len(letters), err)
	n, err := file.CountDeadLetters(ctx, filter)
	note("CountDeadLetters", n, err)
	groups, err := file.FailureGroups(ctx, filter)
	note("FailureGroups", len(groups), err)
	dry := inspect.Selection{Filter: filter, DryRun: true}
	counts, err := file.Retry(ctx, dry)
	note("Retry", counts.Matched, err)
	counts, err = file.DiscardDeadLetters(ctx, dry, "it is old")
	note("DiscardDeadLetters", counts.Matched, err)
	counts, err = file.Replay(ctx, "auditor", dry)
	note("Replay", counts.Matched, err)
	return all
}

func (env *Env) TestASearchFindsNothingInWhatIsHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", greetInVain)
		f.register("auditor", func(Registered) error { return nil })
		_, err := runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[Registered]]) error { return nil })
		Must(t, err)
		f.MustStart()
		const zeb = "zebediah@example.org"
		_, err = runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-17", Email: zeb, Age: 41, Plan: "gold", Note: "hi"},
			runtime.WithMetadata(map[string]string{"asked-by": zeb, "desk": "north"}), runtime.WithCorrelationID(zeb))
		Must(t, err)
		time.Sleep(time.Minute)
		hiding := f.File.Hiding()
		for _, text := range []string{zeb, "zebediah", `"email":"z`, `"email":"zebediah@example.org","age"`, "ebed", "for zeb", `"age":41`, "[hidden]", `"asked-by":"z`} {
			for method, n := range found(t, hiding, event.Filter{Text: text}) {
				if n != 0 {
					t.Errorf("%s finds %q in %d", method, text, n)
				}
			}
			if open := found(t, f.File, event.Filter{Text: text}); open["Events"] == 0 && text != "[hidden]" {
				t.Errorf("who may see everything does not find %q", text)
			}
		}
		for method, n := range found(t, hiding, event.Filter{CorrelationID: zeb}) {
			if n != 0 {
				t.Errorf("%s finds the correlation id in %d", method, n)
			}
		}
		for text, methods := range map[string]string{
			`"plan":"gold","note":"hi"`:  "Events SearchEvents Follow DeadLetters CountDeadLetters Retry DiscardDeadLetters Replay",
			`{"number":"c-17","email":"`: "Events SearchEvents Follow DeadLetters CountDeadLetters Retry DiscardDeadLetters Replay",
			"no mailbox for":             "Events SearchEvents Follow DeadLetters CountDeadLetters Retry DiscardDeadLetters",
			`"desk":"north"`:             "Events SearchEvents Follow Replay",
		} {
			got := found(t, hiding, event.Filter{Text: text})
			for _, method := range strings.Fields(methods) {
				if got[method] == 0 {
					t.Errorf("%s does not find %q, which is shown", method, text)
				}
			}
		}
	})
}

// Dead letters may be of the bus's own types: the notice of another one that a handler has refused. What retries or discards
// by a text must leave those alone that do not have it.
func (env *Env) TestATextChoosesAmongDeadLettersOfTheBusItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", greetInVain)
		_, err := runtime.SubscribeDead(f.Bus, registeredType, "morgue", func(context.Context, runtime.Event[runtime.DeadLetter[Registered]]) error {
			return runtime.Permanent(fmt.Errorf("the morgue is full"))
		})
		Must(t, err)
		f.MustStart()
		_, err = runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: "c-17", Email: "ada@example.org", Plan: "gold"})
		Must(t, err)
		time.Sleep(time.Minute)
		for text, want := range map[string]int{"": 2, "the morgue is full": 1, "nobody has said this": 0} {
			letters, _, err := f.File.DeadLetters(t.Context(), event.Filter{Text: text}, event.Page{})
			n, wrong := f.File.CountDeadLetters(t.Context(), event.Filter{Text: text})
			if err != nil || wrong != nil || len(letters) != want || n != want {
				t.Errorf("the text %q chooses %d dead letters, and counts %d, want %d (%v, %v)", text, len(letters), n, want, err, wrong)
			}
		}
	})
}

// A group that a hidden value decides would tell who guesses values, since everybody can compute it.
func (env *Env) TestHiddenValuesDoNotDecideTheGroupOfADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", greetInVain)
		f.MustStart()
		for n, email := range []string{"zebediah at home", "Ann of the shop"} {
			_, err := runtime.Publish(t.Context(), f.Bus, registeredType, Registered{Number: fmt.Sprint("c-", n), Email: email})
			Must(t, err)
		}
		time.Sleep(time.Minute)
		letters, _, err := f.File.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		if len(letters) != 2 || letters[0].Fingerprint != letters[1].Fingerprint {
			t.Errorf("the dead letters are %+v, want two of one group", letters)
		}
	})
}

func (env *Env) TestAPayloadThatCannotBeDecodedIsNotQuoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.openPeople(t, env.Target(t))
		f.register("greeter", func(Registered) error { return nil })
		f.MustStart()
		Must(t, Second(testhook.Append(t.Context(), f.Bus, "user.registered", 1, []byte(`{"number":"c-17","email":"zeb","age":271828182845904523536,"plan":"gold","note":""}`))))
		time.Sleep(time.Minute)
		letters, _, err := f.File.DeadLetters(t.Context(), event.Filter{}, event.Page{})
		Must(t, err)
		if len(letters) != 1 || !strings.Contains(letters[0].LastAttempt().Error, "number [hidden] into") || letters[0].Reason != "decode" || strings.Contains(letters[0].LastAttempt().Error, "271828182") {
			t.Errorf("the dead letters are %+v", letters)
		}
	})
}
