package runtime

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// A field that is new must be in the head, too, and where it is in every event.
func TestAnEventBeginsWithItsHead(t *testing.T) {
	h := reflect.TypeFor[head]()
	for _, event := range []reflect.Type{
		reflect.TypeFor[Event[struct{}]](), reflect.TypeFor[Event[bool]](), reflect.TypeFor[Event[[3]byte]](), reflect.TypeFor[Event[any]](),
		reflect.TypeFor[Event[float64]](), reflect.TypeFor[Event[struct {
			A byte
			B []string
		}]](), reflect.TypeFor[Event[DeadLetter[uint64]]](),
	} {
		beginsWith(t, event, h, "Payload")
	}
	beginsWith(t, reflect.TypeFor[DeadLetter[string]](), reflect.TypeFor[letter](), "Event")
}

// beginsWith checks that a struct has the fields of another at the same places, and then one more.
func beginsWith(t *testing.T, whole, part reflect.Type, last string) {
	t.Helper()
	if n := part.NumField(); whole.NumField() != n+1 || whole.Field(n).Name != last {
		t.Fatalf("%v does not have the fields of %v and then %s", whole, part, last)
	}
	for i := range part.NumField() {
		w, p := whole.Field(i), part.Field(i)
		if w.Name != p.Name && w.Name+p.Name != "attemptHanded" || w.Type != p.Type || w.Offset != p.Offset {
			t.Errorf("field %d of %v is %s %v at %d, and that of %v is %s %v at %d", i, whole, w.Name, w.Type, w.Offset, part, p.Name, p.Type, p.Offset)
		}
	}
}

func TestAnEventWithAnotherPayloadHasAllOtherFields(t *testing.T) {
	e := Event[string]{
		ID: uuid.New(), Type: "order.placed", Version: 2, Payload: "old", Metadata: map[string]string{"k": "v"},
		CorrelationID: "c", ParentID: uuid.New(), PublishedBy: "p", Hops: 3, PublishedAt: time.Unix(4, 0),
		Schedule: "nightly", ScheduledFor: time.Unix(7, 0),
		Subscription: "s", Attempt: 5, MaxAttempts: 6, Replayed: true, attempt: new(dispatch.Handed),
	}
	before, after := reflect.ValueOf(e), reflect.ValueOf(typed[int](*headOf(&e), new(7)))
	for i := range before.NumField() {
		name := before.Type().Field(i).Name
		switch {
		case before.Field(i).IsZero():
			t.Errorf("the test does not set %s", name)
		case name == "Payload":
			if after.Field(i).Int() != 7 {
				t.Errorf("the payload is %v", after.Field(i))
			}
		case name == "attempt":
			if before.Field(i).Elem().Pointer() != after.Field(i).Elem().Pointer() {
				t.Error("it belongs to no attempt")
			}
		case !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()):
			t.Errorf("%s is %v, want %v", name, after.Field(i), before.Field(i))
		}
	}
}
