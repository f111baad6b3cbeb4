package bind_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"

	events "github.com/busgen/busgen/examples/generated"
	"github.com/busgen/busgen/examples/generated/eventstest"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/ask"
	"github.com/busgen/busgen/runtime/gen/bind"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/retry"
)

// meddling is a context of a program that does something while an event is published.
type meddling struct {
	context.Context
	do func()
}

func (m meddling) Value(key any) any {
	m.do()
	return m.Context.Value(key)
}

// grow makes the stack larger, so that it moves.
func grow(n int) int {
	var room [256]byte
	if n == 0 {
		return int(room[0])
	}
	return grow(n-1) + int(room[n%len(room)])
}

// Generated functions have it on their stack, which moves.
func TestAPayloadIsCopiedBeforeCodeOfTheProgramRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := openCatalogue(t, events.Catalogue)
		want := eventstest.SampleOrderShipped()
		done := make(chan error)
		for range 20 { // new goroutines have small stacks
			go func() {
				payload := want
				times := 0
				ctx := meddling{t.Context(), func() {
					times++
					grow(100)
					payload = events.OrderShipped{TrackingCode: "not published"}
				}}
				_, err := bind.Publish(ctx, bus, events.OrderShippedType, &payload, nil)
				if times == 0 {
					err = errors.Join(err, errors.New("the context was not asked"))
				}
				done <- err
			}()
			conformance.Must(t, <-done)
		}
		n := 0
		for e, err := range runtime.Find(t.Context(), bus, events.OrderShippedType, runtime.Query{}) {
			conformance.Must(t, err)
			if n++; e.Payload != want {
				t.Fatalf("event %d has %v, want %v", n, e.Payload, want)
			}
		}
		if n != 20 {
			t.Errorf("there are %d events", n)
		}
	})
}

// keeper is a payload with a method that a person wrote, which keeps its pointer.
type keeper struct{ N int }

var keptPayloads []*keeper

func (k *keeper) MarshalJSON() ([]byte, error) {
	keptPayloads = append(keptPayloads, k)
	return json.Marshal(k.N)
}

func (k *keeper) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &k.N) }

func (keeper) Validate() error { return nil }

func TestAMethodMayKeepThePayloadThatIsPublished(t *testing.T) {
	kept := (*runtime.EventType[keeper])(bind.Describe((*keeper)(nil), &bind.Description{Name: "kept"}))
	bus := openCatalogue(t, runtime.NewCatalogue(kept))
	keptPayloads = nil
	var payload keeper
	for payload.N = range 3 {
		_, err := bind.Publish(t.Context(), bus, kept, &payload, nil)
		conformance.Must(t, err)
	}
	if len(keptPayloads) < 3 {
		t.Fatalf("the method was called %d times", len(keptPayloads))
	}
	seen := map[int]bool{}
	for _, p := range keptPayloads {
		if p == &payload {
			t.Error("a method was given the pointer of the caller")
		}
		seen[p.N] = true
	}
	if len(seen) != 3 {
		t.Errorf("what was kept are payloads %v, want 0, 1 and 2", seen)
	}
}

// named is a payload whose text somebody keeps.
type named struct{ Name string }

var keptNames []string

func (n named) Validate() error {
	keptNames = append(keptNames, n.Name)
	return nil
}

// The compiler leaves short texts on the stack of who makes them, if it can tell that nobody keeps them. The bus does.
func TestATextOfAPayloadThatIsPublishedIsNotOnTheStackOfItsPublisher(t *testing.T) {
	kept := (*runtime.EventType[named])(bind.Describe((*named)(nil), &bind.Description{Name: "named"}))
	bus := openCatalogue(t, runtime.NewCatalogue(kept))
	publishers := map[string]func(letter byte) error{
		"Publish": func(letter byte) error {
			text := [6]byte{letter, letter, letter}
			_, err := runtime.Publish(t.Context(), bus, kept, named{string(text[:3])})
			return err
		},
		"bind.Publish": func(letter byte) error {
			text := [6]byte{letter, letter, letter}
			payload := named{string(text[:3])}
			_, err := bind.Publish(t.Context(), bus, kept, &payload, nil)
			return err
		},
		"bind.Request": func(letter byte) error {
			text := [6]byte{letter, letter, letter}
			payload := named{string(text[:3])}
			bind.Request(t.Context(), bus, kept, &payload, (*int)(nil), nil) // there is nobody to answer
			return nil
		},
		"bind.Collect": func(letter byte) error {
			text := [6]byte{letter, letter, letter}
			payload := named{string(text[:3])}
			var answers []ask.Answer[int]
			bind.Collect(t.Context(), bus, kept, &payload, &answers, nil)
			return nil
		},
	}
	for function, publish := range publishers {
		keptNames = nil
		want := ""
		for letter := byte('a'); letter < 'k'; letter++ {
			conformance.Must(t, publish(letter))
			want += strings.Repeat(string(letter), 3)
		}
		grow(100)
		if got := strings.Join(keptNames, ""); got != want {
			t.Errorf("%s: the texts that were kept are %q, want %q", function, got, want)
		}
	}
}

// What generated code asks, and what answers it, is as with the generic functions, also after a panic.
func TestAnswersOfGeneratedCodeSurviveAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := openCatalogue(t, events.Catalogue)
		day := eventstest.SampleOrderShipped().ExpectedOn
		var mu sync.Mutex
		var asked []*runtime.Event[events.ParcelPickup]
		for _, name := range []string{"one", "two"} {
			_, err := events.AnswerParcelPickup(bus, name, func(_ context.Context, e runtime.Event[events.ParcelPickup]) (events.Pickup, error) {
				mu.Lock()
				asked = append(asked, &e)
				mu.Unlock()
				if e.Payload.OrderID == (uuid.UUID{15: 1}) {
					panic("not today")
				}
				return events.Pickup{Carrier: events.CarrierDHL, TrackingCode: name + e.Payload.OrderID.String()[35:], ExpectedOn: day}, nil
			}, runtime.WithRetry(retry.MaxAttempts(1)), runtime.WithConcurrency(1))
			conformance.Must(t, err)
			if name == "one" {
				conformance.Must(t, bus.Start(t.Context()))
				_, err = events.RequestParcelPickup(t.Context(), bus, events.ParcelPickup{OrderID: uuid.UUID{15: 1}})
				if failed := new(ask.AllFailedError); !errors.As(err, &failed) || !strings.Contains(err.Error(), "panic: not today") {
					t.Errorf("the request ends with %v, want the panic", err)
				}
				answer, err := events.RequestParcelPickup(t.Context(), bus, events.ParcelPickup{OrderID: uuid.UUID{15: 2}})
				if err != nil || answer.TrackingCode != "one2" {
					t.Errorf("the answer is %v, %v", answer, err)
				}
			}
		}
		answers, err := events.CollectParcelPickup(t.Context(), bus, events.ParcelPickup{OrderID: uuid.UUID{15: 3}})
		got := map[string]string{}
		for _, a := range answers {
			got[a.Subscription] = a.Value.TrackingCode
		}
		if err != nil || len(got) != 2 || got["one"] != "one3" || got["two"] != "two3" {
			t.Errorf("the answers are %v, %v", answers, err)
		}
		if asked[0].Payload.OrderID != (uuid.UUID{15: 1}) || asked[1].Payload.OrderID != (uuid.UUID{15: 2}) {
			t.Errorf("kept events have changed: %v, %v", asked[0].Payload, asked[1].Payload)
		}
		answers, err = events.CollectParcelPickup(t.Context(), bus, events.ParcelPickup{OrderID: uuid.UUID{15: 1}})
		if answers == nil || len(answers) > 0 || !errors.As(err, new(*ask.AnswerError)) {
			t.Errorf("without an answer there are %#v, %v, want an empty list and why", answers, err)
		}
	})
}
