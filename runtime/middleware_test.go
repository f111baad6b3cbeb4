package runtime

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/dispatch"
)

// A field that is new must reach the handler through middleware, too.
func TestAnEventWithAnotherPayloadHasAllOtherFields(t *testing.T) {
	e := Event[string]{
		ID: uuid.New(), Type: "order.placed", Version: 2, Payload: "old", Metadata: map[string]string{"k": "v"},
		CorrelationID: "c", ParentID: uuid.New(), PublishedBy: "p", Hops: 3, PublishedAt: time.Unix(4, 0),
		Schedule: "nightly", ScheduledFor: time.Unix(7, 0),
		Subscription: "s", Attempt: 5, MaxAttempts: 6, Replayed: true, attempt: new(dispatch.Attempt),
	}
	before, after := reflect.ValueOf(e), reflect.ValueOf(withPayload(e, 7))
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
			if before.Field(i).Pointer() != after.Field(i).Pointer() {
				t.Error("it belongs to no attempt")
			}
		case !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()):
			t.Errorf("%s is %v, want %v", name, after.Field(i), before.Field(i))
		}
	}
}
