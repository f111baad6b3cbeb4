package cloudevents

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Forward subscribes to the events whose types match pattern, and posts each to a webhook as a
// CloudEvent. It is a subscription as [runtime.SubscribePattern] makes them: durable, in the order
// of the log, with the retries of the catalogue, dead letters, and all options. An event is sent at
// least once; a receiver knows those that come twice by source and id.
//
// What is sent is the stored payload as it is, with the values of sensitive fields. Metadata under
// ce-NAME is sent as the extension NAME, and no other metadata. An event that [Receive] has stored
// is sent with the attributes that it came with, so it stays the same event.
//
// Status 2xx means handled. Otherwise the attempt has failed with a *[StatusError]:
//
//   - 429 and 503 with a Retry-After that is not over: the next attempt is then, as with [runtime.RetryAfter]
//   - 410: the receiver wants nothing more. The event becomes a dead letter, as with
//     [runtime.Permanent], and the subscription (or its group) is paused, so that the others wait until an
//     operator resumes it. The pause says why.
//   - 400, 405, 406, 409, 411, 413, 414, 415, 417, 422, 426, 431 and 501: another attempt is in
//     vain, so the event becomes a dead letter
//   - all others, among them redirects, 401, 403 and 404: the next attempt is by the retry policy
//
// The catalogue needs a source ([runtime.CloudEvents]). The errors are a *[WebhookError], and those of
// [runtime.SubscribePattern].
func Forward(bus *runtime.Bus, pattern, name string, to Webhook, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	f, err := newForwarder(bus, name, to)
	if err != nil {
		return nil, err
	}
	return f.made(runtime.SubscribePattern(bus, pattern, name, func(ctx context.Context, e runtime.Event[runtime.Raw]) error {
		event, err := f.event(ctx)
		if err != nil {
			return err
		}
		return f.post(ctx, event)
	}, opts...))
}

// ForwardBatches is [Forward] for the events of one type, with several of them in a request: the
// batched mode, which the receiver must have agreed to. [runtime.WithBatch] says how many, 100 and
// 100 ms by default. It is a subscription as [runtime.SubscribeBatch] makes them. The Webhook cannot be
// Binary.
//
// A request that fails has failed for all of its events. If the status says that another attempt
// is in vain because of what was sent (400, 409, 413, 415, 422, 431), the events are sent again at once in
// two halves, and so on: in the end only those that the receiver refuses alone become dead
// letters.
func ForwardBatches[T runtime.Payload](bus *runtime.Bus, t *runtime.EventType[T], name string, to Webhook, opts ...runtime.SubscribeOption) (*runtime.Subscription, error) {
	f, err := newForwarder(bus, name, to)
	if err != nil {
		return nil, err
	}
	if to.Binary {
		return nil, &WebhookError{URL: f.shown, Problem: "Binary is one event in a request: use Forward, or leave it out"}
	}
	return f.made(runtime.SubscribeBatch(bus, t, name, func(ctx context.Context, all []runtime.Event[T]) error {
		return f.batch(ctx, len(all))
	}, opts...))
}

// made notes the subscription.
func (f *forwarder) made(s *runtime.Subscription, err error) (*runtime.Subscription, error) {
	f.sub.Store(s)
	return s, err
}

// event returns the event that a handler with ctx handles.
func (f *forwarder) event(ctx context.Context) (Event, error) {
	a := dispatch.FromContext(ctx)
	if a == nil {
		return Event{}, errors.New("forward: a middleware has replaced the context of the attempt: derive it from the given one")
	}
	return f.outgoing(a.Record), nil
}

func (f *forwarder) outgoing(r *engine.Record) Event {
	s := stored{id: r.ID, seq: r.Seq, eventType: r.Type, version: r.Version, publishedAt: r.CreatedAt, payload: slices.Clone(r.Payload)}
	json.Unmarshal(r.Metadata, &s.metadata) // written by the bus
	lineage := engine.LineageIn(s.metadata)
	s.correlationID, s.parentID = lineage.CorrelationID, lineage.ParentID
	s.partitionKey = keyIn(f.keys[r.Type], r.Payload)
	return outgoing(f.names, s)
}

// batch sends the events of a batch handler with ctx.
func (f *forwarder) batch(ctx context.Context, n int) error {
	var failed runtime.BatchError
	events := make([]item, 0, n)
	for i := range n {
		event, err := f.event(runtime.ItemContext(ctx, i))
		var text []byte
		if err == nil {
			if text, err = event.MarshalJSON(); err != nil {
				err = runtime.Permanent(err)
			}
		}
		if err != nil {
			failed.Set(i, err)
			continue
		}
		events = append(events, item{at: i, source: event.Source, id: event.ID, text: text})
	}
	f.postAll(ctx, events, &failed)
	return failed.Err()
}

// item is an event of a batch.
type item struct {
	at         int // its place there
	source, id string
	text       json.RawMessage
}

// postAll sends events in one request, and those of a request that is refused because of one of them in
// two. It notes the errors.
func (f *forwarder) postAll(ctx context.Context, events []item, failed *runtime.BatchError) {
	if len(events) == 0 {
		return
	}
	err := f.postBatch(ctx, events)
	refused, ok := errors.AsType[*StatusError](err)
	if ok && len(events) > 1 && slices.Contains(ofContent, refused.Status) && ctx.Err() == nil {
		f.postAll(ctx, events[:len(events)/2], failed)
		f.postAll(ctx, events[len(events)/2:], failed)
		return
	}
	for _, e := range events {
		failed.Set(e.at, err)
	}
}
