package conformance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/inspect"
	"github.com/busgen/busgen/runtime/retry"
)

// Three programs that were deployed one after the other. The first had an order
// number as a text, the second as a number, the third has a currency beside it.

type billV1 struct {
	Number string `json:"number"`
}

type billV2 struct {
	Number int `json:"number"`
}

type billV3 struct {
	Number   int    `json:"number"`
	Currency string `json:"currency"`
}

func (billV1) Validate() error { return nil }

func (billV2) Validate() error { return nil }

func (billV3) Validate() error { return nil }

var errNoNumber = errors.New("there was no number")

func upcastBillV1(old billV1) (billV2, error) {
	switch old.Number {
	case "":
		return billV2{}, errNoNumber
	case "panic":
		panic("what is this?")
	}
	n, err := strconv.Atoi(old.Number)
	return billV2{Number: n}, err
}

func upcastBillV2(old billV2) (billV3, error) {
	return billV3{Number: old.Number, Currency: "EUR"}, nil
}

// notHeld makes an event of a newer version a dead letter at once: the seven days of the default are long
// in virtual time, too.
func notHeld(s declare.Settings) declare.Settings {
	s.HoldUnknown = 0
	return s
}

var (
	BillSettings = notHeld(Within(30*time.Second, Exact(retry.MaxAttempts(2))))
	billType1    = runtime.Define(runtime.Spec[billV1]{Name: "bill.sent", Settings: BillSettings,
		Subscriptions: []declare.Subscription{{Name: "book", Settings: BillSettings}}})
	billType2 = runtime.Define(runtime.Spec[billV2]{Name: "bill.sent", Settings: BillSettings, Version: 2,
		Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, upcastBillV1)}})
	billType3 = runtime.Define(runtime.Spec[billV3]{Name: "bill.sent", Settings: BillSettings, Version: 3,
		Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, upcastBillV1), runtime.UpcastFrom(2, upcastBillV2)}})
	bills1 = runtime.NewCatalogue(billType1)
	bills2 = runtime.NewCatalogue(billType2)
	bills3 = runtime.NewCatalogue(billType3)
)

// program opens a bus with a catalogue of some program, and shuts it down when do is done.
func (env *Env) program(t *testing.T, path string, catalogue *runtime.Catalogue, do func(f *Fixture)) {
	t.Helper()
	f := env.ReopenWith(t, path, catalogue)
	do(f)
	f.Stop()
}

func publishAs[T runtime.Payload](f *Fixture, eventType *runtime.EventType[T], payloads ...T) {
	f.T.Helper()
	for _, payload := range payloads {
		if _, err := runtime.Publish(f.T.Context(), f.Bus, eventType, payload); err != nil {
			f.T.Fatal(err)
		}
	}
}

func (env *Env) TestEventsOfAllVersionsAreHandledAsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, bills1, func(f *Fixture) { publishAs(f, billType1, billV1{"1"}, billV1{"2"}) })
		env.program(t, path, bills2, func(f *Fixture) { publishAs(f, billType2, billV2{3}) })
		env.program(t, path, bills3, func(f *Fixture) {
			publishAs(f, billType3, billV3{4, "USD"})
			var typed, other, raw Journal[string]
			book := func(j *Journal[string]) runtime.Handler[billV3] {
				return func(_ context.Context, e runtime.Event[billV3]) error {
					j.Add(fmt.Sprintf("%d: %d %s", e.Version, e.Payload.Number, e.Payload.Currency))
					if e.Payload.Number == 2 && e.Attempt == 1 {
						return ErrBoom // what is retried is read from the file
					}
					return nil
				}
			}
			_, err := runtime.Subscribe(f.Bus, billType3, "book", book(&typed))
			Must(t, err)
			_, err = runtime.Subscribe(f.Bus, billType3, "count", book(&other), runtime.FromBeginning())
			Must(t, err)
			_, err = runtime.SubscribePattern(f.Bus, "bill.*", "archive", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
				raw.Add(fmt.Sprintf("%d: %s", e.Version, e.Payload))
				return nil
			}, runtime.FromBeginning())
			Must(t, err)
			f.MustStart()
			f.Idle()
			want := []string{"1: 1 EUR", "1: 2 EUR", "2: 3 EUR", "3: 4 USD", "1: 2 EUR"}
			if diff := cmp.Diff(want, typed.All()) + cmp.Diff(want, other.All()); diff != "" {
				t.Error(diff)
			}
			want = []string{`1: {"number":"1"}`, `1: {"number":"2"}`, `2: {"number":3}`, `3: {"number":4,"currency":"USD"}`}
			if diff := cmp.Diff(want, raw.All()); diff != "" {
				t.Error("by pattern: ", diff)
			}
		})
	})
}

func (env *Env) TestAnEventThatCannotBeUpcastIsADeadLetterAfterOneAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, bills1, func(f *Fixture) { publishAs(f, billType1, billV1{""}, billV1{"panic"}, billV1{"5"}) })
		env.program(t, path, bills3, func(f *Fixture) {
			var seen Journal[int]
			for _, name := range []string{"book", "count"} {
				_, err := runtime.Subscribe(f.Bus, billType3, name, func(_ context.Context, e runtime.Event[billV3]) error {
					seen.Add(e.Payload.Number)
					return nil
				}, runtime.FromBeginning())
				Must(t, err)
			}
			f.MustStart()
			f.Idle()
			if diff := cmp.Diff([]int{5, 5}, seen.All()); diff != "" {
				t.Error(diff)
			}
		})
		letters := env.Dead(t, path)
		if len(letters) != 4 {
			t.Fatalf("%d dead letters, want two for each subscription", len(letters))
		}
		for i, want := range []string{errNoNumber.Error(), "what is this?"} {
			for _, l := range letters {
				if string(l.Payload) != []string{`{"number":""}`, `{"number":"panic"}`}[i] {
					continue
				}
				if l.Reason != "decode" || l.Failures != 1 || l.Version != 1 || !strings.Contains(l.LastAttempt().Error, want) ||
					!strings.Contains(l.LastAttempt().Error, "version 1 cannot be made one of version 2") {
					t.Errorf("%s %s after %d: %s", l.Payload, l.Reason, l.Failures, l.LastAttempt().Error)
				}
			}
		}
	})
}

func (env *Env) TestADeadLetterOfANewerProgramIsRetriedWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		handled := func(f *Fixture, seen *Journal[int]) {
			_, err := runtime.Subscribe(f.Bus, billType3, "book", func(_ context.Context, e runtime.Event[billV3]) error {
				seen.Add(e.Payload.Number)
				return nil
			})
			Must(t, err)
			f.MustStart()
			f.Idle()
		}
		env.program(t, path, bills1, func(f *Fixture) {}) // declares book
		env.program(t, path, bills3, func(f *Fixture) { publishAs(f, billType3, billV3{7, "EUR"}) })
		env.program(t, path, bills2, func(f *Fixture) {
			_, err := runtime.Subscribe(f.Bus, billType2, "book", func(context.Context, runtime.Event[billV2]) error { return nil })
			Must(t, err)
			f.MustStart()
			f.Idle()
		})
		letters := env.Dead(t, path)
		if len(letters) != 1 || letters[0].Reason != "decode" || letters[0].Version != 3 || string(letters[0].Payload) != `{"number":7,"currency":"EUR"}` ||
			!strings.Contains(letters[0].LastAttempt().Error, "published as version 3, and this program knows versions up to 2") {
			t.Fatalf("dead letters: %v", letters)
		}
		inspector, err := env.OpenFile(t.Context(), path)
		Must(t, err)
		defer inspector.Close()
		_, err = inspector.Retry(t.Context(), inspect.Only(letters[0].Key))
		Must(t, err)
		var seen Journal[int]
		env.program(t, path, bills3, func(f *Fixture) { handled(f, &seen) })
		if diff := cmp.Diff([]int{7}, seen.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAVersionThatWasDroppedIsNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, bills1, func(f *Fixture) { publishAs(f, billType1, billV1{"1"}) })
		dropped := runtime.Define(runtime.Spec[billV3]{Name: "bill.sent", Settings: BillSettings, Version: 3,
			Upcasts: []runtime.Upcast{runtime.UpcastFrom(2, upcastBillV2)}})
		env.program(t, path, runtime.NewCatalogue(dropped), func(f *Fixture) {
			_, err := runtime.Subscribe(f.Bus, dropped, "book", func(context.Context, runtime.Event[billV3]) error { return nil })
			Must(t, err)
			f.MustStart()
			f.Idle()
		})
		if letters := env.Dead(t, path); len(letters) != 1 || !strings.Contains(letters[0].LastAttempt().Error, "version 1, which this program no longer reads") {
			t.Errorf("dead letters: %v", letters)
		}
	})
}

func (env *Env) TestADeadLetterOfAnOldVersionIsAnnouncedAsTheNewest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		env.program(t, path, bills1, func(*Fixture) {}) // declares book
		env.program(t, path, bills2, func(f *Fixture) { publishAs(f, billType2, billV2{8}) })
		env.program(t, path, bills3, func(f *Fixture) {
			var seen Journal[string]
			_, err := runtime.SubscribeDead(f.Bus, billType3, "morgue", func(_ context.Context, e runtime.Event[runtime.DeadLetter[billV3]]) error {
				letter := e.Payload.Event
				seen.Add(fmt.Sprintf("%d %+v %v %s", letter.Version, letter.Payload, e.Payload.Undecodable, e.Payload.Raw))
				return nil
			})
			Must(t, err)
			_, err = runtime.Subscribe(f.Bus, billType3, "book", func(context.Context, runtime.Event[billV3]) error { return runtime.Permanent(ErrBoom) })
			Must(t, err)
			f.MustStart()
			f.Idle()
			if diff := cmp.Diff([]string{`2 {Number:8 Currency:EUR} <nil> {"number":8}`}, seen.All()); diff != "" {
				t.Error(diff)
			}
		})
	})
}

func (env *Env) TestAnEditedDeadLetterKeepsItsVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var seen Journal[string]
		env.program(t, path, bills1, func(*Fixture) {}) // declares book
		env.program(t, path, bills2, func(f *Fixture) { publishAs(f, billType2, billV2{8}) })
		env.program(t, path, bills3, func(f *Fixture) {
			_, err := runtime.Subscribe(f.Bus, billType3, "book", func(_ context.Context, e runtime.Event[billV3]) error {
				seen.Add(fmt.Sprintf("%d %+v", e.Version, e.Payload))
				return runtime.Permanent(ErrBoom)
			})
			Must(t, err)
			f.MustStart()
			f.Idle()
			inspector, err := env.OpenFile(t.Context(), path, inspect.WithEditing(bills3.Check))
			Must(t, err)
			defer inspector.Close()
			_, err = inspector.Edit(t.Context(), env.Dead(t, path)[0].Key, []byte(`{"number":9}`))
			Must(t, err)
			time.Sleep(time.Second) // until the bus has looked
			f.Idle()
		})
		if diff := cmp.Diff([]string{"2 {Number:8 Currency:EUR}", "2 {Number:9 Currency:EUR}"}, seen.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAPayloadIsCheckedAsTheTypeItWasPublishedAs(t *testing.T) {
	tests := map[string]struct {
		version int
		payload string
		says    string
	}{
		"the newest":                      {3, `{"number":1,"currency":"EUR"}`, ""},
		"an old one":                      {1, `{"number":"1"}`, ""},
		"an old one with a new payload":   {1, `{"number":1}`, "number"},
		"an old one that no upcast takes": {1, `{"number":""}`, errNoNumber.Error()},
		"an old one without its field":    {2, `{}`, "number is missing"},
		"one of the future":               {4, `{}`, "knows versions up to 3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := bills3.Check("bill.sent", test.version, []byte(test.payload))
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(strings.ReplaceAll(err.Error(), "number: is", "number is"), test.says) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

func (env *Env) TestUpcastsThatDoNotLeadToTheVersionAreRefused(t *testing.T) {
	for name, spec := range map[string]runtime.Spec[billV3]{
		"a gap":           {Version: 4, Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, upcastBillV1), runtime.UpcastFrom(3, upcastBillV2)}},
		"too short":       {Version: 4, Upcasts: []runtime.Upcast{runtime.UpcastFrom(2, upcastBillV2)}},
		"too many":        {Version: 1, Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, upcastBillV2)}},
		"of another type": {Version: 2, Upcasts: []runtime.Upcast{runtime.UpcastFrom(1, upcastBillV1)}},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("Define has not panicked")
				}
			}()
			spec.Name, spec.Settings = "bill.sent", BillSettings
			runtime.Define(spec)
		})
	}
}

// The bytes do not tell whether two payloads of different versions are the same.
func (env *Env) TestAnIdempotencyKeyHoldsForAllVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := env.Target(t)
		var first, again *runtime.Receipt
		var err error
		env.program(t, path, bills1, func(f *Fixture) {
			first, err = runtime.Publish(t.Context(), f.Bus, billType1, billV1{"1"}, runtime.WithDedupeKey("one"))
			Must(t, err)
		})
		env.program(t, path, bills3, func(f *Fixture) {
			again, err = runtime.Publish(t.Context(), f.Bus, billType3, billV3{1, "EUR"}, runtime.WithDedupeKey("one"))
			if err != nil || !again.Duplicate || again.ID != first.ID {
				t.Errorf("%+v, %v, want the duplicate of %v", again, err, first.ID)
			}
		})
	})
}
