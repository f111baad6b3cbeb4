package jetstream_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/conformance"
	"github.com/busgen/busgen/runtime/jetstream/internal/servertest"
)

// Who cancels stores a wish, which the owner replaces when it answers. That may be so soon that the server never sends
// the wish to who has stored it, and half of the answer. Its view has neither then.
func TestWhoCancelsIsToldThatTheHandlerRunsHoweverSoonThatIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := servertest.Start(t, t.TempDir())
		owner, _ := process(t, server, nil)
		_, err := runtime.Subscribe(owner, conformance.PlacedType, "orders", func(context.Context, runtime.Event[conformance.OrderPlaced]) error {
			time.Sleep(time.Second)
			return nil
		})
		conformance.Must(t, err)
		conformance.Must(t, owner.Start(t.Context()))
		other, _ := process(t, server, nil)
		for n := range 500 {
			r, err := runtime.Publish(t.Context(), other, conformance.PlacedType, conformance.OrderPlaced{Number: n})
			conformance.Must(t, err)
			time.Sleep(500 * time.Millisecond)
			var begun *event.BegunError
			if err := r.Cancel(t.Context()); !errors.As(err, &begun) {
				t.Fatalf("the error of cancel %d is %v, want one that says that the handler runs", n, err)
			}
			time.Sleep(time.Second)
		}
	})
}
