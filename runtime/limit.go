package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/runtime/declare"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/limit"
)

// UnknownLimitError says that there is no [declare.Limit] of a name: neither in the catalogue nor
// from [WithLimit].
type UnknownLimitError struct {
	Limit   string
	Closest string // the limit that may have been meant; empty for none
}

// Error names the limit, and what may have been meant.
func (e *UnknownLimitError) Error() string {
	if e.Closest != "" {
		return fmt.Sprintf("there is no limit %q; did you mean %q?", e.Limit, e.Closest)
	}
	return fmt.Sprintf("there is no limit %q: declare it in the catalogue, or open the bus with WithLimit", e.Limit)
}

// unknownLimit returns the error for a name that is not among those of the limits.
func unknownLimit(name string, limits map[string]declare.Limit) *UnknownLimitError {
	names := make([]string, 0, len(limits))
	for known := range limits {
		names = append(names, known)
	}
	slices.Sort(names)
	return &UnknownLimitError{Limit: name, Closest: diag.Closest(name, names)}
}

// WithLimits adds limits to a catalogue, and returns it. It panics if one is not valid or
// a name is there twice. Generated code calls it before anything else uses the catalogue.
func (c *Catalogue) WithLimits(limits ...declare.Limit) *Catalogue {
	for _, l := range limits {
		if err := l.Validate(); err != nil {
			panic(fmt.Sprintf("runtime.Catalogue.WithLimits: limit %q: %v", l.Name, err))
		}
		if slices.ContainsFunc(c.limits, func(other declare.Limit) bool { return other.Name == l.Name }) {
			panic(fmt.Sprintf("runtime.Catalogue.WithLimits: two limits are named %q", l.Name))
		}
		c.limits = append(c.limits, l)
	}
	return c
}

// Limits returns the limits, in the order of the catalogue file.
func (c *Catalogue) Limits() []declare.Limit { return slices.Clone(c.limits) }

// limitsWith returns the limits by name, with others that replace those of their names.
func (c *Catalogue) limitsWith(others map[string]declare.Limit) map[string]declare.Limit {
	limits := make(map[string]declare.Limit, len(c.limits)+len(others))
	for _, l := range c.limits {
		limits[l.Name] = l
	}
	maps.Copy(limits, others)
	return limits
}

// checkLimits returns an error if the catalogue uses a limit that is not one of these, or
// by a path that is not known.
func (c *Catalogue) checkLimits(limits map[string]declare.Limit) error {
	for _, t := range c.types {
		if err := checkUses(t, t.Settings().Limits, limits); err != nil {
			return fmt.Errorf("event type %s: %w", t.Name(), err)
		}
		for _, s := range t.Subscriptions() {
			if err := checkUses(t, s.Settings.Limits, limits); err != nil {
				return fmt.Errorf("subscription %q: %w", s.Name, err)
			}
		}
		for _, s := range c.patterns {
			if !s.Covers(t) {
				continue
			}
			if err := checkUses(t, s.For(t).Limits, limits); err != nil {
				return fmt.Errorf("subscription %q: %w", s.Name, err)
			}
		}
	}
	return nil
}

// checkUses returns an error if deliveries of an event type cannot use limits in this way.
func checkUses(t AnyEventType, uses []declare.LimitUse, limits map[string]declare.Limit) error {
	for _, use := range uses {
		if _, known := limits[use.Limit]; !known {
			return unknownLimit(use.Limit, limits)
		}
		if problem := pathProblem(t, use.By); problem != "" {
			return fmt.Errorf("limit %q by %s: %s; name the path in the limits of the catalogue, so that busgen generates it", use.Limit, use.By, problem)
		}
	}
	return nil
}

// pathProblem says that an event type has no function for a path by which limits or breakers are kept apart, or "".
func pathProblem(t AnyEventType, path string) string {
	paths := typeOf(t).limitPaths()
	if path == "" || slices.Contains(paths, path) {
		return ""
	}
	return fmt.Sprintf("%s has no function for this path (it has %s)", t.Name(), cmp.Or(strings.Join(paths, ", "), "none"))
}

// limitsProblem says why deliveries of an event type cannot have these settings, or "".
func (s *innerSubscription) limitsProblem(t AnyEventType, uses []declare.LimitUse) string {
	if err := checkUses(t, uses, s.bus.limits.declared); err != nil {
		return err.Error()
	}
	for _, use := range uses {
		switch {
		case s.dead && use.By != "":
			return fmt.Sprintf("limit %q by %s: the payload of a dead-letter notice is not that of the event; leave By out", use.Limit, use.By)
		case s.batched == nil:
		case use.By != "":
			return fmt.Sprintf("limit %q by %s: a batch has events of several values; leave By out, or use Subscribe", use.Limit, use.By)
		}
	}
	return ""
}

// WithLimit adds a limit to those of the catalogue, or replaces the one of its name. The
// last of several of a name holds.
func WithLimit(l declare.Limit) Option {
	return func(c *config) error {
		if err := l.Validate(); err != nil {
			return fmt.Errorf("WithLimit(%q): %w", l.Name, err)
		}
		if c.limits == nil {
			c.limits = map[string]declare.Limit{}
		}
		c.limits[l.Name] = l
		return nil
	}
}

// WithLimits says which limits the deliveries of this subscription need, instead of what
// the catalogue says for the event type or the declared subscription; without uses it needs
// none. A limit that the bus does not have, a By that the event type has no function for,
// and the same limit twice are refused with a *[SubscribeError].
//
// A delivery that needs several begins when all of them have room. In a group the members'
// limits together are needed before the first member begins, and kept until the last is
// through. A batch needs each limit once, and uses up one of a rate: a By is refused there.
func WithLimits(uses ...declare.LimitUse) SubscribeOption {
	return func(c *subscribeConfig) error {
		if err := declare.ValidateUses(uses); err != nil {
			return fmt.Errorf("WithLimits: %w", err)
		}
		c.own.Limits = append([]declare.LimitUse{}, uses...)
		return nil
	}
}

// tunedLimits returns the limits of the catalogue with the numbers of a [Tuning]. It leaves
// out those that [WithLimit] replaces.
func (c *Catalogue) tunedLimits(tuned, replaced map[string]declare.Limit) (all []declare.Limit, err error) {
	known := map[string]declare.Limit{}
	for _, l := range c.limits {
		known[l.Name] = l
	}
	for name, l := range tuned {
		built, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("the limits: %w", unknownLimit(name, known))
		}
		if err := l.Validate(); err != nil {
			return nil, fmt.Errorf("the limit %q: %w", name, err)
		}
		if problem := tuneProblem(built, l); problem != "" {
			return nil, fmt.Errorf("the limit %q: %s", name, problem)
		}
		known[name] = l
	}
	for _, l := range known {
		if _, other := replaced[l.Name]; !other {
			all = append(all, l)
		}
	}
	return all, nil
}

// tuneProblem says why a limit cannot become another one while the bus runs, or "".
func tuneProblem(l, other declare.Limit) string {
	switch {
	case l.Name != other.Name:
		return fmt.Sprintf("its name is %q", other.Name)
	case (l.AtOnce > 0) != (other.AtOnce > 0):
		return "AtOnce can be changed while the bus runs, and not added or removed"
	case (l.Rate > 0) != (other.Rate > 0):
		return "Rate can be changed while the bus runs, and not added or removed"
	}
	return ""
}

// tune makes new numbers apply, and tells deliveries of feeds that wait that they may need other limits than before.
func (l *limits) tune(all []declare.Limit, feeds []*feed) {
	if l.set == nil {
		return
	}
	l.set.Tune(all...)
	for _, f := range feeds {
		if f.scheduler != nil {
			f.scheduler.Retune()
		}
	}
}

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
