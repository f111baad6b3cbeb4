package conformance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
)

func (env *Env) TestAnObserverAddsMetadataToWhatIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ends Journal[observe.PublishEnd]
		var infos Journal[string]
		added := map[string]string{"trace": "mine", "tenant": "mine", "hops": "7"}
		f := env.Open(t, runtime.WithPayloadLimit(1000), runtime.WithObserver(observe.Observer{
			Publishing: func(_ context.Context, i observe.PublishingInfo) observe.Publishing {
				infos.Add(fmt.Sprintf("%s %d %v %v %v", i.Type, i.Size, i.Staged, i.ParentID != [16]byte{}, i.Metadata))
				return observe.Publishing{Metadata: added, Ended: ends.Add}
			},
		}))
		f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			if e.Payload.Number > 1 {
				return nil
			}
			_, err := runtime.Publish(ctx, f.Bus, PaidType, OrderPaid{})
			return err
		})
		f.MustStart()
		given := runtime.WithMetadata(map[string]string{"tenant": "acme"})
		receipt, err := runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 1}, given)
		Must(t, err)
		f.Idle()
		_, err = runtime.PublishBatch(t.Context(), f.Bus, PlacedType, []OrderPlaced{{Number: 2}, {Number: 3}}, given)
		Must(t, err)
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{OrderID: strings.Repeat("x", 2000)})
		if !errors.As(err, new(*runtime.PayloadTooLargeError)) {
			t.Errorf("the error is %v", err)
		}
		long := strings.Repeat("x", 970)
		_, err = runtime.Publish(t.Context(), f.Bus, PlacedType, OrderPlaced{Number: 4}, runtime.WithMetadata(map[string]string{"long": long}))
		Must(t, err) // without what the observer adds, for which there is no room
		f.Idle()

		var stored []string
		for event, err := range runtime.Find(t.Context(), f.Bus, PlacedType, runtime.Query{}) {
			Must(t, err)
			stored = append(stored, fmt.Sprint(event.Type, " ", event.Metadata))
		}
		for one, err := range runtime.Find(t.Context(), f.Bus, PaidType, runtime.Query{}) {
			Must(t, err)
			delete(one.Metadata, event.CorrelationKey)
			stored = append(stored, fmt.Sprint(one.Type, " ", one.Hops, " ", one.Metadata))
		}
		slices.Sort(stored)
		want := []string{
			"order.paid 1 map[tenant:mine trace:mine]", "order.placed map[long:" + long + "]",
			"order.placed map[tenant:acme trace:mine]", "order.placed map[tenant:acme trace:mine]", "order.placed map[tenant:acme trace:mine]",
		}
		if diff := cmp.Diff(want, stored); diff != "" {
			t.Error(diff)
		}
		all := ends.All()
		first := all[:min(2, len(all))] // the handler may be done before the call that woke it
		if len(all) != 5 || !slices.ContainsFunc(first, func(e observe.PublishEnd) bool { return e.ID == receipt.ID }) || !errors.As(all[3].Err, new(*runtime.PayloadTooLargeError)) {
			t.Errorf("the calls have ended with %+v", all)
		}
		want = []string{
			"order.placed 1 false false map[tenant:acme]", "order.paid 1 true true map[]", "order.placed 2 false false map[tenant:acme]",
			"order.placed 1 false false map[]", "order.placed 1 false false map[long:" + long + "]",
		}
		if diff := cmp.Diff(want, infos.All()); diff != "" {
			t.Error(diff)
		}
	})
}

func (env *Env) TestAnObserverThatPanicsAtTheStartOrEndOfAnAttemptHarmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var typedNil *slog.Logger
		f := env.Open(t,
			runtime.WithObserver(observe.Observer{
				Handling: func(context.Context, observe.HandlingInfo) observe.Handling { panic("oh") },
				Publishing: func(context.Context, observe.PublishingInfo) observe.Publishing {
					typedNil.Info("oh")
					return observe.Publishing{}
				},
			}),
			runtime.WithObserver(observe.Observer{
				Handling: func(context.Context, observe.HandlingInfo) observe.Handling {
					return observe.Handling{Context: (*nilContext)(nil), Ended: func(observe.EndedInfo) { panic("oh") }}
				},
				Publishing: func(context.Context, observe.PublishingInfo) observe.Publishing {
					return observe.Publishing{Ended: func(observe.PublishEnd) { panic("oh") }}
				},
			}))
		var handled Journal[int]
		f.Handle("reader", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			handled.Add(e.Payload.Number)
			return nil
		})
		f.MustStart()
		f.Publish(1, 2)
		f.Idle()
		if got := handled.All(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("handled %v", got)
		}
		if lines := f.saying("an observer has panicked; this is logged once for each of its functions"); len(lines) != 5 {
			t.Errorf("%d panics are logged, want 5: %v", len(lines), lines)
		}
	})
}

// nilContext is a context that panics when it is nil.
type nilContext struct{ context.Context }
