package runtime

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// Limiter is a [declare.Limit] of a bus, for any code: in handlers and anywhere else. It shares the
// room with the deliveries that need the limit, first come, first served. It is safe for
// concurrent use.
type Limiter struct{ inner any } // an *innerLimiter

// innerLimiter is what is behind a [Limiter].
type innerLimiter struct {
	bus   *innerBus
	limit *limit.Limit
}

// Limiter returns the limit of a name. The error is an *[UnknownLimitError] if neither the
// catalogue nor [WithLimit] has it. It works as soon as the bus is open.
func (b *Bus) Limiter(name string) (*Limiter, error) {
	inner := busOf(b)
	if inner.limits.set != nil {
		if l := inner.limits.set.Limit(name); l != nil {
			return &Limiter{&innerLimiter{bus: inner, limit: l}}, nil
		}
	}
	return nil, unknownLimit(name, inner.limits.declared)
}

// Do calls f when the limit has room, and returns what f does. The room is free again when f
// has returned, has panicked or has ended its goroutine, and not before: also
// if the handler that has called Do returns, or is left behind after its timeout.
//
// Do waits for room as long as ctx lasts: use [context.WithTimeout] to wait for no longer. The errors of Do itself
// come before f is called: the cause of ctx ([context.Cause]) when that ends, and [ErrShutdown] after
// [Bus.Shutdown]. A Shutdown does not wait for f.
//
// f should use the context that it is given. A limit that this context holds already is not
// taken again, so calls can be nested; nor is it in the handler of a delivery that holds it. They
// share the room, and it is free when the last of them has ended. After f the context holds nothing.
// A handler that waits for another event in f ([Receipt.Wait], [Request], [Collect]) lends the room to the
// handlers of that event meanwhile, like all that it holds. If another goroutine of the handler
// calls Do for a limit that is lent, Do waits for its turn, and has the limit back until f returns. Code
// outside of handlers lends nothing: it must not wait in f for an event whose handler needs the limit.
//
// While Do waits for its turn it keeps what it holds. Calls that are nested in different
// orders, such as a limit A in B here and B in A there, can wait for each other until ctx ends. Take
// limits in the same order everywhere.
func (l *Limiter) Do(ctx context.Context, f func(ctx context.Context) error) error {
	return l.DoFor(ctx, "", f)
}

// DoFor is Do for a key, such as the id of a customer: each key has a limit of its own, the
// same as deliveries whose [declare.LimitUse].By has this value. The empty key is that of Do.
func (l *Limiter) DoFor(ctx context.Context, key string, f func(ctx context.Context) error) error {
	return l.inner.(*innerLimiter).do(ctx, key, f)
}

func (l *innerLimiter) do(ctx context.Context, key string, f func(ctx context.Context) error) error {
	if f == nil {
		return errors.New("Limiter.Do: the function is nil")
	}
	defer l.bus.keep()
	use := limit.Use{Limit: l.limit, Key: key}
	call, err := l.call(ctx, use)
	if err != nil {
		return err
	}
	defer call.End()
	outer, _ := ctx.Value(heldKey{}).(*heldLimit)
	return f(context.WithValue(ctx, heldKey{}, &heldLimit{l.bus, use, call, outer}))
}

// call returns room for a use: that which the context holds, or its delivery, or other room.
func (l *innerLimiter) call(ctx context.Context, use limit.Use) (*limit.Call, error) {
	for held, _ := ctx.Value(heldKey{}).(*heldLimit); held != nil; held = held.outer {
		if held.use == use && held.bus == l.bus {
			if call := held.call.Join(); call != nil {
				return call.Regain(ctx)
			}
		}
	}
	var grant *limit.Grant
	if a := dispatch.FromContext(ctx); a != nil && a.Owner() == any(l.bus) {
		grant = a.Limits()
	}
	if call := grant.Join(use); call != nil {
		return call.Regain(ctx)
	}
	if grant == nil {
		grant = l.bus.limits.set.NewGrant()
	}
	return l.bus.limits.set.Acquire(ctx, use, grant)
}

// heldLimit is a limit that a context holds, until the call has ended.
type heldLimit struct {
	bus   *innerBus
	use   limit.Use
	call  *limit.Call
	outer *heldLimit
}

type heldKey struct{}

// limits are those of a bus. They do not change once it is open, but for the numbers in the set.
type limits struct {
	declared map[string]declare.Limit // by the catalogue and [WithLimit], by name
	set      *limit.Set               // nil for none
}

// open makes the set.
func (l *limits) open(log engine.Log, c *config) {
	if len(l.declared) == 0 {
		return
	}
	now := time.Now
	if c.wall != nil {
		now = c.wall
	}
	l.set = limit.New(limit.Config{Wall: now, Lease: log.LeaseLimits, Logger: c.logger}, slices.Collect(maps.Values(l.declared))...)
}

// close gives back what is not used of rates, and ends the waits of [Limiter.Do].
func (l *limits) close(log engine.Log, logger *slog.Logger) {
	if l.set == nil {
		return
	}
	unused := l.set.Close(ErrShutdown)
	if len(unused) == 0 {
		return
	}
	if err := log.ReturnLimits(context.Background(), unused); err != nil {
		logger.Warn("what is left of rate limits could not be given back; it is lost", "error", err)
	}
}

// limitKey returns the value of the field at a path, for the limits of a delivery. One that
// does not decode has none: its attempt says so.
func (f *feed) limitKey(d *engine.Delivery, by string) (string, error) {
	t := f.bus.catalogue.Lookup(d.Type)
	if t == nil {
		return "", nil
	}
	payload, err := typeOf(t).decode(d.Record)
	if err != nil {
		return "", nil
	}
	return typeOf(t).limitKey(payload, by), nil
}
