package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/background"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/dispatch/queue"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/guard"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/observe"
)

// SubscribeInbox publishes what programs without a bus send to this one, programs in other languages among them. How
// they do that is the matter of the engine: docs/jetstream.md has the contract. The bus takes messages over while it
// dispatches.
//
// Each message is checked as [PublishJSON] does, and published with its id as the dedupe key, within a scope of their
// own: a message that is sent twice is one event. The event is a child of the message, and is stored together with the
// success of handling it. A message that is refused is a dead letter of this subscription: its error says why, and
// retrying it checks it again, for example when the program knows the type.
//
// The subscription is durable, and has the name and the options of any other, but that it begins with the oldest message.
// All programs that subscribe to it have the event types that others send. A file has no inbox, and the view outbox
// instead: the error matches [errors.ErrUnsupported].
func SubscribeInbox(bus *Bus, name string, opts ...SubscribeOption) (*Subscription, error) {
	return busOf(bus).subscribeInbox(name, opts)
}

func (b *innerBus) subscribeInbox(name string, opts []SubscribeOption) (*Subscription, error) {
	log, ok := b.log.(engine.Inbox)
	if !ok {
		return nil, &SubscribeError{Subscription: name, Problem: errNoInbox.Error(), Err: errNoInbox}
	}
	ctx, end := b.subscribing()
	err := log.OpenInbox(ctx)
	end()
	if err != nil {
		return nil, b.notSubscribed(ctx, public(err))
	}
	subscription, err := b.subscribeSent(name, engine.InboxType, opts)
	if err == nil {
		b.inbox.subscribed()
	}
	return subscription, err
}

// subscribeSent subscribes to a type of the bus's own whose payloads are events that were sent. It publishes them.
func (b *innerBus) subscribeSent(name, eventType string, opts []SubscribeOption) (*Subscription, error) {
	s := &innerSubscription{bus: b, name: name, pattern: eventType, raw: true, inbox: true}
	s.config.fromBeginning = true
	scope := eventType[1:] // in which the ids of its events are unique
	takes := func(ctx context.Context, e Event[any]) error { return b.publishSent(ctx, e.Payload.(Raw), scope) }
	return s.subscribe(func(a *dispatch.Attempt) error {
		return call(a, s, slices.Clone(Raw(a.Payload)), takes)
	}, innermost(s, reflect.TypeFor[Raw](), takes), opts)
}

var errNoInbox = &event.UnsupportedError{
	Engine: "a bus in a file", What: "be sent events",
	Hint: "other programs publish to it with INSERT INTO outbox",
}

// publishSent publishes what was sent, as part of the success of the handler that ctx is of.
func (b *innerBus) publishSent(ctx context.Context, payload []byte, scope string) error {
	var sent engine.Sent
	if err := json.Unmarshal(payload, &sent); err != nil {
		return Permanent(fmt.Errorf("this is no message of an inbox: %w", err))
	}
	if sent.Problem != "" {
		return Permanent(errors.New(sent.Problem))
	}
	if sent.ID == "" {
		return Permanent(errors.New("the message has no id, by which one that is sent twice would be known"))
	}
	_, err := PublishJSON(ctx, &Bus{b}, []JSONEvent{{
		Type: sent.Type, Version: sent.Version, Payload: sent.Payload, Metadata: sent.Metadata, DedupeKey: sent.ID, DedupeScope: scope,
	}})
	if refusesForGood(err) {
		return Permanent(err)
	}
	return err
}

// refusesForGood reports whether an error of a publish says that the event is wrong, and not that it cannot be stored
// at the moment.
func refusesForGood(err error) bool {
	switch refusalOf(err) {
	case "middleware", "invalid", "too_large", "metadata", "option", "conflict", "unknown_type":
		return err != nil
	}
	return false
}

// sentTypes stand for what others have sent where subscriptions need an event type.
var sentTypes = map[string]AnyEventType{engine.InboxType: sentType(engine.InboxType), engine.RelayType: sentType(engine.RelayType)}

func sentType(name string) AnyEventType {
	settings := declare.DefaultSettings()
	settings.Breaker.Off = true // what one sender does wrong does not hold up the others
	t := Define(Spec[sentPayload]{Name: "sent", Settings: settings}).Any()
	typeOf(t).spec.Name = name // no catalogue may call one so
	return t
}

// sentPayload is the payload of sentTypes, which is handed over as it is stored.
type sentPayload struct{}

// Validate implements [Payload].
func (sentPayload) Validate() error { return nil }

// inbox takes over what others send, once the program has subscribed to that.
type inbox struct {
	wanted chan struct{} // closed then
	once   sync.Once
}

func newInbox() *inbox { return &inbox{wanted: make(chan struct{})} }

func (i *inbox) subscribed() { i.once.Do(func() { close(i.wanted) }) }

// run takes over what others send until ctx ends.
func (i *inbox) run(ctx context.Context, log engine.Inbox, logger *slog.Logger) {
	select {
	case <-i.wanted:
		background.TakeIn(ctx, log, logger)
	case <-ctx.Done():
	}
}

func init() {
	outbox.WithRelay = func(make func() outbox.Relay) any {
		return Option(func(c *config) error {
			if c.relay != nil {
				return errors.New("the bus has two relays: it has one outbox")
			}
			c.relay = make()
			return nil
		})
	}
	outbox.HostOf = func(bus any) outbox.Host {
		if bus.(*Bus) == nil {
			return outbox.Host{}
		}
		b := busOf(bus.(*Bus))
		return outbox.Host{Home: b.home(), Published: b.published}
	}
	outbox.Elsewhere = SubscribeOption(func(c *subscribeConfig) error {
		c.elsewhere = true
		return nil
	})
}

// subscribeRelay makes the subscription to events of the outbox that cannot be published. They are dead letters of it, and
// retrying one publishes it, if that is possible by now.
func (b *innerBus) subscribeRelay() error {
	if b.config.relay == nil || b.feedOf(outbox.Subscription) != nil {
		return nil
	}
	_, err := b.subscribeSent(outbox.Subscription, engine.RelayType, nil)
	return err
}

// home returns what knows the outbox of the bus, if it has one.
func (b *innerBus) home() any {
	if b.config.relay != nil {
		return b.config.relay
	}
	return b.log
}

// runRelay begins to bring the events of the outbox. ctx ends with the dispatching.
func (b *innerBus) runRelay(ctx context.Context) {
	relay := b.config.relay
	if relay == nil {
		return
	}
	to := outbox.Bus{Target: b.log.Traits().Target, Logger: b.config.logger, Take: b.takeRelayed, Inspect: b.history}
	b.maintenance.Go(func() { relay.Run(ctx, to) })
}

// takeRelayed is [outbox.Bus].Take.
func (b *innerBus) takeRelayed(ctx context.Context, records []engine.Record) (left []int, err error) {
	taken, at := make([]engine.Record, 0, len(records)), make([]int, 0, len(records))
	for i := range records {
		if r, ok := b.relayed(records[i]); ok {
			taken, at = append(taken, r), append(at, i)
		} else {
			left = append(left, i)
		}
	}
	if len(taken) == 0 {
		return left, nil
	}
	if err := b.makeRoom(len(taken)); err != nil {
		return nil, err
	}
	err = b.log.Append(ctx, taken)
	if _, conflict := errors.AsType[*event.ConflictError](err); !conflict {
		return left, public(err)
	}
	for i, r := range taken { // nothing is stored, and the error does not say which of them it is about
		fits, err := b.takeAlone(ctx, r)
		if err != nil {
			return nil, public(err)
		}
		if !fits {
			left = append(left, at[i])
		}
	}
	return left, nil
}

// takeAlone stores one record, or that it has the idempotency key of an event with another payload. It returns false if
// that is too large.
func (b *innerBus) takeAlone(ctx context.Context, r engine.Record) (fits bool, err error) {
	one := batch{bus: b, records: []engine.Record{r}}
	err = one.unlessSame(ctx, func() error { return b.log.Append(ctx, one.records) })
	conflict, ok := errors.AsType[*event.ConflictError](err)
	if !ok {
		return true, err
	}
	refused, fits := b.refusedByRelay(r, conflict.Error())
	if !fits {
		return false, nil
	}
	return true, b.log.Append(ctx, []engine.Record{refused})
}

// relayed returns the record that stands for an event of the outbox in the log, or false if that is too large.
func (b *innerBus) relayed(r engine.Record) (engine.Record, bool) {
	if len(r.Payload) > b.config.payloadLimit || len(r.Metadata) > b.config.metadataLimit {
		return r, false
	}
	r.Once = new(r.ID)
	t := b.catalogue.Lookup(r.Type)
	if t == nil {
		return b.refusedByRelay(r, "")
	}
	r.Type = t.Name() // the outbox has the one that its publisher knows
	r.Express = expressOf(t, queue.Own{})
	if b.storesKeys && typeOf(t).partitioned() {
		r.Keyed = true
		r.Key, _ = guard.Apart(func() string { // code of the program
			if r.Version > t.Version() {
				return typeOf(t).keyOfNewer(r.Payload)
			}
			payload, err := typeOf(t).decode(&r)
			if err != nil {
				return "" // the attempt says why
			}
			key, _ := typeOf(t).partitionKey(payload)
			return key
		})
	}
	return r, true
}

// refusedByRelay returns the record of an event that cannot be published: whoever handles it says why.
func (b *innerBus) refusedByRelay(r engine.Record, problem string) (engine.Record, bool) {
	sent := engine.Sent{ID: r.ID.String(), Type: r.Type, Version: r.Version, Payload: r.Payload, Problem: problem}
	json.Unmarshal(r.Metadata, &sent.Metadata) // nil if it is none
	maps.DeleteFunc(sent.Metadata, func(key, _ string) bool { return slices.Contains(engine.OwnKeys(), key) })
	payload, err := sent.Encode()
	if most := b.log.Traits().MaxPayload; err != nil || most > 0 && len(payload) > most {
		return r, false
	}
	r.Type, r.Version, r.Payload, r.Dedupe, r.Key, r.Keyed = engine.RelayType, 1, payload, nil, "", false
	return r, true
}

// outboxSeconds is how long events may wait in the outbox until the bus says that it is not well.
const outboxSeconds = 10

// checkOutbox says for how long events have been waiting in the outbox, or it could not be looked into.
func (b *innerBus) checkOutbox(now time.Time) observe.HealthCheck {
	o := b.config.relay.Status()
	age := o.Waiting(now).Seconds()
	return observe.HealthCheck{Name: observe.CheckOutbox, Threshold: outboxSeconds, Value: age, Exceeded: age > outboxSeconds, Mostly: o.Failing}
}

func (m *metrics) outbox(o *observe.Outbox) {
	if o == nil {
		return
	}
	m.Head("busgen_outbox_relayed_total", "counter", "Events that this bus has brought to itself from its outbox.")
	m.Count("busgen_outbox_relayed_total", o.Relayed)
	m.Head("busgen_outbox_relaying", "gauge", "1 if this process brings the events of the outbox.")
	m.Gauge("busgen_outbox_relaying", bit(o.Relaying))
	m.Head("busgen_outbox_waiting_seconds", "gauge", "For how long the oldest event has been waiting in the outbox.")
	m.Gauge("busgen_outbox_waiting_seconds", o.Waiting(time.Now()).Seconds())
}
