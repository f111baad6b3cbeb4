package runtime

import (
	"context"
	"reflect"
	"time"

	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/testhook"
)

func init() {
	testhook.WithIntercept = func(intercept testhook.Intercept) any {
		return Option(func(c *config) error {
			c.intercept = intercept
			return nil
		})
	}
	testhook.WithStepPoint = func(point func(subscription, step string, stored bool)) any {
		return Option(func(c *config) error {
			c.stepPoint = point
			return nil
		})
	}
	testhook.WithWallClock = func(now func() time.Time) any {
		return Option(func(c *config) error {
			c.wall = now
			return nil
		})
	}
	testhook.Publish = func(ctx context.Context, bus, eventType, payload any) (any, error) {
		receipt, err := typeOf(eventType.(Definition)).publish(ctx, bus.(*Bus), payload)
		if receipt == nil {
			return nil, err
		}
		return receipt, err
	}
	testhook.PayloadType = func(eventType any) reflect.Type { return typeOf(eventType.(Definition)).of }
	testhook.WithSchedules = func() any {
		return Option(func(c *config) error {
			c.unscheduled = false
			return nil
		})
	}
	testhook.Fire = func(ctx context.Context, bus any, name string) (any, error) { return busOf(bus.(*Bus)).fire(ctx, name) }
	testhook.Flush = func(bus any) error { return busOf(bus.(*Bus)).log.Flush(context.Background()) }
	testhook.Append = func(ctx context.Context, bus any, eventType string, version int, payload []byte) (any, error) {
		batch, err := newBatch(ctx, busOf(bus.(*Bus)), nil, eventType, version, 1, nil)
		if err != nil {
			return nil, err
		}
		defer batch.free()
		batch.records[0].Payload = payload
		if err := batch.append(ctx); err != nil {
			return nil, err
		}
		receipt := batch.receipt(0)
		return &receipt, nil
	}
	testhook.Decode = func(catalogue any, eventType string, version int, payload []byte) (any, error) {
		t := catalogue.(*Catalogue).Lookup(eventType)
		if t == nil {
			return nil, &UnknownTypeError{EventType: eventType}
		}
		decoded, err := typeOf(t).decode(&engine.Record{Type: eventType, Version: version, Payload: payload})
		if err != nil {
			return nil, err
		}
		return reflect.ValueOf(decoded).Elem().Interface(), nil
	}
}

// publish returns nil for a payload of another type.
func (t *eventType) publish(ctx context.Context, bus *Bus, value any) (*Receipt, error) {
	if reflect.TypeOf(value) != t.of {
		return nil, nil
	}
	payload := take(t)
	reflect.ValueOf(payload).Elem().Set(reflect.ValueOf(value))
	return publishOne(ctx, bus, t, payload, nil)
}

// interceptedBatch is intercepted for a handler of batches; nil stays nil.
func interceptedBatch(intercept testhook.Intercept, subscription string, handle func(b *dispatch.Batch) error) func(b *dispatch.Batch) error {
	if handle == nil {
		return nil
	}
	return func(b *dispatch.Batch) error {
		return intercept(b.Context(), subscription, func() error { return handle(b) })
	}
}

// intercepted lets package runtimetest stand between a delivery and its handler. Unlike a
// [Middleware] it is called before the payload is decoded, and before a handler that answers
// takes its turn.
func intercepted(intercept testhook.Intercept, subscription string, handle func(a *dispatch.Attempt) error) func(a *dispatch.Attempt) error {
	return func(a *dispatch.Attempt) error {
		return intercept(context.Context(a), subscription, func() error { return handle(a) })
	}
}
