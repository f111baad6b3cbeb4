package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/observe"
)

// allTypes subscribes to everything, and notes type, payload and a key of the metadata.
func (f *Fixture) allTypes() *Journal[string] {
	f.T.Helper()
	seen := &Journal[string]{}
	_, err := runtime.SubscribePattern(f.Bus, "*", "all", func(_ context.Context, e runtime.Event[runtime.Raw]) error {
		seen.Add(fmt.Sprintf("%s %s %s", e.Type, e.Payload, e.Metadata["from"]))
		return nil
	})
	Must(f.T, err)
	return seen
}

func (f *Fixture) wantSeen(seen *Journal[string], want ...string) {
	f.T.Helper()
	f.Idle()
	if got := seen.All(); !slices.Equal(got, want) {
		f.T.Errorf("handled were %q, want %q", got, want)
	}
}

func (env *Env) TestEventsOfSeveralTypesAreStoredTogetherInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		seen := f.allTypes()
		f.MustStart()
		events := []runtime.JSONEvent{
			{Type: "order.paid", Payload: []byte(` {"order_id" : "A"}`), Metadata: map[string]string{"from": "x"}, DedupeKey: "1"},
			{Type: "user.created", Payload: []byte(`{"name":"Ada"}`), DedupeKey: "1"},
			{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), Metadata: map[string]string{"from": "y"}, DedupeKey: "1"},
			{Type: "order.paid", Payload: []byte(`{"order_id":"B"}`)},
		}
		receipts, err := runtime.PublishJSON(t.Context(), f.Bus, events)
		Must(t, err)
		if len(receipts) != 4 || !receipts[2].Duplicate || receipts[2].ID != receipts[0].ID || receipts[1].Duplicate || receipts[1].ID == receipts[0].ID {
			t.Errorf("the receipts are %+v", receipts)
		}
		for _, r := range receipts {
			if outcome, err := r.Wait(t.Context()); err != nil || len(outcome.Deliveries) == 0 {
				t.Errorf("the outcome is %+v with error %v", outcome, err)
			}
		}
		again, err := runtime.PublishJSON(t.Context(), f.Bus, events[:2])
		Must(t, err)
		if !again[0].Duplicate || !again[1].Duplicate || again[1].ID != receipts[1].ID {
			t.Errorf("published again they are %+v", again)
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} x`, `user.created {"name":"Ada"} `, `order.paid {"order_id":"B"} `)
		f.wantPublished(2, 2)
	})
}

func (env *Env) TestOneJSONEventThatIsRefusedKeepsOutAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t, runtime.WithPayloadLimit(200))
		seen := f.allTypes()
		f.MustStart()
		first := runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), DedupeKey: "k"}
		_, err := runtime.PublishJSON(t.Context(), f.Bus, []runtime.JSONEvent{first})
		Must(t, err)
		long := slices.Repeat([]byte(" "), 300)
		for what, refused := range map[string]struct {
			event runtime.JSONEvent
			as    any
		}{
			"an unknown type":          {runtime.JSONEvent{Type: "order.lost", Payload: []byte(`{}`)}, new(*runtime.UnknownTypeError)},
			"no JSON":                  {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{`)}, new(*runtime.InvalidPayloadError)},
			"an unknown field":         {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A","odd":1}`)}, new(*runtime.InvalidPayloadError)},
			"a missing field":          {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{}`)}, new(*runtime.InvalidPayloadError)},
			"a field twice":            {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A","order_id":"B"}`)}, new(*runtime.InvalidPayloadError)},
			"a version of the future":  {runtime.JSONEvent{Type: "order.paid", Version: 7, Payload: []byte(`{"order_id":"A"}`)}, new(*runtime.InvalidPayloadError)},
			"a negative version":       {runtime.JSONEvent{Type: "order.paid", Version: -1, Payload: []byte(`{"order_id":"A"}`)}, new(*runtime.InvalidPayloadError)},
			"the bus's own metadata":   {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), Metadata: map[string]string{"hops": "1"}}, new(*runtime.OptionError)},
			"a payload that is large":  {runtime.JSONEvent{Type: "order.paid", Payload: append([]byte(`{"order_id":"A"}`), long...)}, new(*runtime.PayloadTooLargeError)},
			"metadata that is large":   {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), Metadata: map[string]string{"from": string(long)}}, new(*runtime.PayloadTooLargeError)},
			"a key that is too long":   {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), DedupeKey: string(long)}, new(*runtime.OptionError)},
			"a scope without a key":    {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), DedupeScope: "s"}, new(*runtime.OptionError)},
			"a scope that is too long": {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), DedupeKey: "k", DedupeScope: string(long)}, new(*runtime.OptionError)},
			"the key of another event": {runtime.JSONEvent{Type: "order.paid", Payload: []byte(`{"order_id":"B"}`), DedupeKey: "k"}, new(*event.ConflictError)},
		} {
			_, err := runtime.PublishJSON(t.Context(), f.Bus, []runtime.JSONEvent{{Type: "user.created", Payload: []byte(`{"name":"Ada"}`)}, refused.event})
			var item *runtime.ItemError
			if !errors.As(err, &item) || item.Index != 1 || item.Of != 2 || !errors.As(err, refused.as) {
				t.Errorf("%s: %v", what, err)
			}
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} `)
		if _, err := runtime.PublishJSON(t.Context(), nil, nil); err == nil {
			t.Error("published to nothing")
		}
		f.Stop()
		for _, events := range [][]runtime.JSONEvent{nil, {first}} {
			if _, err := runtime.PublishJSON(t.Context(), f.Bus, events); !errors.Is(err, runtime.ErrShutdown) {
				t.Errorf("%d events after a shutdown: %v", len(events), err)
			}
		}
	})
}

func (env *Env) TestJSONEventsOfAHandlerAreStoredWithItsSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := env.Open(t)
		seen := f.allTypes()
		f.Handle("parent", func(ctx context.Context, e runtime.Event[OrderPlaced]) error {
			_, err := runtime.PublishJSON(ctx, f.Bus, []runtime.JSONEvent{
				{Type: "order.paid", Payload: fmt.Appendf(nil, `{"order_id":"%d"}`, e.Attempt), Metadata: map[string]string{"from": e.ID.String()}},
				{Type: "user.created", Payload: []byte(`{"name":"Ada"}`)},
			})
			if err == nil && e.Attempt == 1 {
				err = errors.New("not yet")
			}
			return err
		})
		f.MustStart()
		r := f.Publish(1)[0]
		f.Idle()
		if got := seen.All(); len(got) != 3 || got[1] != `order.paid {"order_id":"2"} `+r.ID.String() || got[2] != `user.created {"name":"Ada"} ` {
			t.Errorf("handled were %q", got)
		}
	})
}

func (env *Env) TestPublishMiddlewareAndObserversSeeEachJSONEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := &Journal[string]{}
		f := env.Open(t,
			runtime.WithObserver(observe.Observer{Publishing: func(_ context.Context, i observe.PublishingInfo) observe.Publishing {
				return observe.Publishing{Ended: func(e observe.PublishEnd) {
					ended.Add(fmt.Sprintf("%s %d %d %v", i.Type, i.Size, e.Duplicates, e.Err != nil))
				}}
			}}),
			runtime.WithPublishMiddleware(func(_ context.Context, p *runtime.Publication) error {
				if user, ok := p.Payload.(UserCreated); ok && user.Name == "" {
					panic("nobody")
				}
				p.Metadata["from"] = p.DedupeKey
				return nil
			}))
		seen := f.allTypes()
		f.MustStart()
		events := []runtime.JSONEvent{{Type: "order.paid", Payload: []byte(`{"order_id":"A"}`), DedupeKey: "k"}, {Type: "user.created", Payload: []byte(`{"name":""}`)}}
		_, err := runtime.PublishJSON(t.Context(), f.Bus, events)
		var refused *runtime.RefusedError
		var panicked *runtime.PanicError
		if !errors.As(err, &refused) || !errors.As(err, &panicked) {
			t.Errorf("of a middleware that panics: %v", err)
		}
		events[1].Payload = []byte(`{"name":"Ada"}`)
		for range 2 {
			_, err = runtime.PublishJSON(t.Context(), f.Bus, events[:1])
			Must(t, err)
		}
		f.wantSeen(seen, `order.paid {"order_id":"A"} k`)
		want := []string{"user.created 1 0 true", "order.paid 1 0 true", "order.paid 1 0 false", "order.paid 1 1 false"}
		if got := ended.All(); !slices.Equal(got, want) {
			t.Errorf("the observer saw %q, want %q", got, want)
		}
	})
}
