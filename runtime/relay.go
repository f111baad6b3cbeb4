package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
	"github.com/busgen/busgen/runtime/observe"
)

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

// feedOf returns the feed of a name, or nil.
func (b *innerBus) feedOf(name string) *feed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.feedNamed(name)
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
	to := outbox.Bus{Target: b.log.Traits().Target, Logger: b.config.logger, Take: b.takeRelayed}
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
