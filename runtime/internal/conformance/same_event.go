package conformance

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
)

// differing are the fields of the head of an event that are of the attempt.
var differing = map[string]bool{"Subscription": true, "Attempt": true, "MaxAttempts": true, "Replayed": true, "attempt": true}

// looks compares what handlers are given with what the first of them was given, field by field and to the byte.
type looks struct {
	t *testing.T

	mu    sync.Mutex
	first map[string]reflect.Value
	seen  map[string]int
}

// at is called by a handler: where says how it came to the event.
func (l *looks) at(where string, payload string, event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := reflect.ValueOf(event).FieldByName("Head")
	id := e.FieldByName("ID").Interface().(uuid.UUID).String()
	l.seen[where]++
	for i := range e.NumField() {
		name := e.Type().Field(i).Name
		if differing[name] {
			continue
		}
		// The text shows what == of a time compares: its monotonic clock and its zone.
		if now := fmt.Sprintf("%#v", e.Field(i).Interface()); !l.known(id+name, now) {
			l.t.Errorf("%s: %s is %s, and was %v at first", where, name, now, l.first[id+name])
		}
	}
	if !l.known(id+where[:3], payload) { // typed and raw payloads have texts of their own
		l.t.Errorf("%s: the payload is %s, and was %v at first", where, payload, l.first[id+where[:3]])
	}
}

func (l *looks) known(key, now string) bool {
	if _, known := l.first[key]; !known {
		l.first[key] = reflect.ValueOf(now)
	}
	return l.first[key].String() == now
}

// What a handler is given is what the log gives back, also in the first attempt, when the event
// comes from memory: a body that is made of it, and its signature, are the same in each attempt.
func (env *Env) TestAnEventLooksTheSameInEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &looks{t: t, first: map[string]reflect.Value{}, seen: map[string]int{}}
		target, again := env.Target(t), "live"
		open := func() *Fixture {
			f := env.Reopen(t, target)
			fails := func(attempt int) error {
				if again == "live" && attempt == 1 {
					return runtime.RetryAfter(time.Second, ErrBoom)
				}
				if again == "live" && attempt == 2 {
					return runtime.RetryAfter(time.Hour, ErrBoom) // for the one that opens the log again
				}
				return nil
			}
			place := func(how string, attempt int) string { return fmt.Sprintf("%s, %s, attempt %d", how, again, attempt) }
			typed := func(how string) runtime.Handler[OrderPlaced] {
				return func(_ context.Context, e runtime.Event[OrderPlaced]) error {
					l.at(place(how, e.Attempt), fmt.Sprintf("%#v", e.Payload), e)
					return fails(e.Attempt)
				}
			}
			raw := func(how string) runtime.Handler[runtime.Raw] {
				return func(_ context.Context, e runtime.Event[runtime.Raw]) error {
					l.at(place(how, e.Attempt), string(e.Payload), e)
					return fails(e.Attempt)
				}
			}
			f.Handle("one by one", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
				if err := typed("typed")(ctx, e); err != nil {
					return err
				}
				_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{OrderID: "child"})
				return err
			})
			f.Handle("in a group", typed("typed in a group"), runtime.InGroup("group"))
			f.Handle("in order", typed("typed in order"), runtime.WithStrictOrder())
			f.Batches("batches", func(_ context.Context, events []runtime.Event[OrderPlaced]) error {
				for _, e := range events {
					l.at(place("typed batch", e.Attempt), fmt.Sprintf("%#v", e.Payload), e)
				}
				return fails(events[0].Attempt)
			})
			_, err := runtime.SubscribePattern(f.Bus, "*", "raw", raw("raw"))
			Must(t, err)
			_, err = runtime.SubscribeDead(f.Bus, PlacedType, "letters", func(_ context.Context, e runtime.Event[runtime.DeadLetter[OrderPlaced]]) error {
				letter := e.Payload
				l.at(place("letter", e.Attempt), fmt.Sprintf("%s %#v %s", letter.Raw, letter.DeadAt, letter.LastError), e)
				l.at(place("typed in a letter", e.Attempt), fmt.Sprintf("%#v", letter.Event.Payload), letter.Event)
				return fails(e.Attempt)
			})
			Must(t, err)
			f.Handle("dies", func(_ context.Context, e runtime.Event[OrderPlaced]) error {
				l.at(place("typed and dead", e.Attempt), fmt.Sprintf("%#v", e.Payload), e)
				return runtime.Permanent(ErrBoom)
			})
			if again == "live" {
				_, err := runtime.Subscribe(f.Bus, PlacedType, "", typed("typed and ephemeral"), runtime.Ephemeral())
				Must(t, err)
			}
			f.MustStart()
			return f
		}
		f := open()
		time.Sleep(123_456_789 * time.Nanosecond) // no whole microseconds
		_, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: "<ü>", Number: 1, Weight: 1e21},
			runtime.WithMetadata(map[string]string{"tenant": "a<b", "trace": "1"}), runtime.WithCorrelationID("trip"))
		Must(t, err)
		f.Publish(2)
		_, err = runtime.PublishJSON(t.Context(), f.Bus, []runtime.JSONEvent{{Type: "order.placed", Payload: []byte(`{ "number": 3, "order_id": "\u00fc", "weight": 1.50 }`)}})
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 4}, runtime.WithDelay(777))
		Must(t, err)
		time.Sleep(time.Minute)
		f.Stop()
		again = "after a restart"
		f = open()
		f.Idle()
		again = "replayed"
		for _, name := range []string{"one by one", "group", "in order", "batches", "raw"} {
			n, err := f.Replay(t.Context(), name, event.ReplayFilter{})
			Must(t, err)
			if n < 4 {
				t.Errorf("replayed %d events to %s, want at least 4", n, name)
			}
		}
		f.Idle()
		for _, where := range []string{
			"typed, live, attempt 1", "typed, live, attempt 2", "typed, after a restart, attempt 3", "typed, replayed, attempt 4", "typed in order, live, attempt 1",
			"typed in a group, live, attempt 1", "typed and ephemeral, live, attempt 1", "typed and dead, live, attempt 1",
			"typed batch, live, attempt 1", "typed batch, live, attempt 2", "typed batch, after a restart, attempt 3",
			"raw, live, attempt 1", "raw, live, attempt 2", "raw, after a restart, attempt 3", "raw, after a restart, attempt 1",
			"letter, live, attempt 1", "letter, live, attempt 2", "letter, after a restart, attempt 3",
		} {
			if l.seen[where] == 0 {
				t.Errorf("no event was seen %s; seen were %v", where, l.seen)
			}
		}
	})
}
