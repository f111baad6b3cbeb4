package runtime

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/observe"
)

// Events can wait for ever without any failure: a subscription was renamed without an
// alias, or the program no longer makes it, or another program publishes event types
// that this one does not know. Only the bus that dispatches can tell, because only it
// has the handlers.

// unhandledLogged is how many subscriptions, and event types, have a line of their own
// in the log when the bus is started.
const unhandledLogged = 10

// findUnhandled asks the file what no subscription of this bus handles.
func (b *innerBus) findUnhandled(ctx context.Context, after int64, relevant func(eventType string) bool) (engine.Unhandled, error) {
	b.mu.Lock()
	var handled []engine.Consumer
	for _, f := range b.feeds {
		if f.detached == nil {
			handled = append(handled, f.consumer)
		}
	}
	b.mu.Unlock()
	return b.log.Unhandled(ctx, handled, after, relevant)
}

// unknown tells whether the catalogue lacks an event type.
func (b *innerBus) unknown(eventType string) bool { return b.catalogue.Lookup(eventType) == nil }

// reportUnhandled logs the subscriptions and event types without a handler, when the bus
// begins to dispatch.
func (b *innerBus) reportUnhandled(ctx context.Context) {
	log := b.config.logger
	found, err := b.findUnhandled(ctx, 0, func(string) bool { return true })
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, engine.ErrClosed) {
			logUnreadable(log, err)
		}
		return
	}
	for i, one := range found.Consumers {
		if i == unhandledLogged {
			log.Warn("more subscriptions have pending events, and this program has no handler for them", "more", len(found.Consumers)-i)
			break
		}
		log.Warn("a subscription has pending events, and this program has no handler for it",
			"subscription_id", one.Name, "pattern", one.Pattern, "oldest", one.Oldest)
	}
	var unknown, known []string
	for _, eventType := range found.Types {
		if b.unknown(eventType) {
			unknown = append(unknown, eventType)
		} else {
			known = append(known, eventType)
		}
	}
	for i, eventType := range unknown {
		if i == unhandledLogged {
			log.Warn("more event types are not in the catalogue, and no subscription is for their events", "more", len(unknown)-i)
			break
		}
		log.Warn("an event type is not in the catalogue, and no subscription is for its events", "event_type", eventType)
	}
	if len(known) > 0 {
		log.Info("no subscription is for the events of these types", "event_types", known)
	}
	b.health.begin(found)
}

// outcome waits until every delivery of an event is settled. If that lasts because this program has no handler for a
// subscription, the log names it.
func (b *innerBus) outcome(ctx context.Context, id uuid.UUID, seq int64) ([]engine.Settlement, error) {
	if b.began.Load() != nil {
		soon := time.AfterFunc(logPatience, func() { b.reportAwaited(ctx, id) })
		defer soon.Stop()
	}
	return b.log.Outcome(ctx, seq)
}

// reportAwaited logs, once each, the subscriptions for which an event waits and this program has no handler.
func (b *innerBus) reportAwaited(ctx context.Context, id uuid.UUID) {
	found, err := b.findUnhandled(ctx, math.MaxInt64, func(string) bool { return false })
	if err != nil || len(found.Consumers) == 0 {
		return
	}
	history, err := b.history(ctx)
	if err != nil {
		return
	}
	e, err := history.Event(ctx, id)
	if err != nil {
		return
	}
	for _, one := range e.Deliveries {
		handled := !slices.ContainsFunc(found.Consumers, func(c engine.Backlog) bool { return c.Name == one.Subscription })
		if handled || one.State != event.StatePending && one.State != event.StateWaiting {
			continue
		}
		b.mu.Lock()
		known := b.awaited[one.Subscription]
		if b.awaited == nil {
			b.awaited = map[string]bool{}
		}
		b.awaited[one.Subscription] = true
		b.mu.Unlock()
		if !known {
			b.config.logger.Warn("a caller waits for an event, and this program has no handler for a subscription that has to handle it",
				"subscription_id", one.Subscription, "event_id", id, "event_type", e.Type)
		}
	}
}

// logUnreadable says that the file cannot be asked.
func logUnreadable(log *slog.Logger, err error) {
	log.Error("events without a handler cannot be counted; trying again", "error", err)
}

// unhandledWatch counts what no subscription of this bus handles.
type unhandledWatch struct {
	backlogs, types observe.HealthCheck
	rest            time.Time // the file is not asked again before
	failing         bool      // it could not be asked the last time
}

// begin takes in what was found when the bus began to dispatch. Later only the types of
// newer events count: the others may have been handled before they left the catalogue.
func (h *healthWatch) begin(found engine.Unhandled) {
	if h.policy.Off {
		return
	}
	h.mu.Lock()
	h.started = found.Last
	h.mu.Unlock()
	h.showUnhandled(found.Consumers)
}

// showUnhandled makes other processes see which subscriptions have no handler.
func (h *healthWatch) showUnhandled(backlogs []engine.Backlog) {
	var names []string
	for _, one := range backlogs {
		names = append(names, one.Name)
	}
	h.mu.Lock()
	h.noHandler = names
	h.mu.Unlock()
	h.bus.showing.Changed()
}

// withoutHandler returns what showUnhandled was given.
func (h *healthWatch) withoutHandler() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.noHandler
}

// checkUnhandled asks the file again. That takes a hundredth of the time at most.
func (h *healthWatch) checkUnhandled(ctx context.Context) {
	u, began := &h.unhandled, time.Now()
	if began.Before(u.rest) {
		return
	}
	h.mu.Lock()
	started := h.started
	h.mu.Unlock()
	found, err := h.bus.findUnhandled(ctx, started, h.bus.unknown)
	u.rest = began.Add(100 * time.Since(began))
	if err != nil {
		if ctx.Err() == nil && !u.failing {
			logUnreadable(h.bus.config.logger, err)
		}
		u.failing = true
		return
	}
	u.failing = false
	count(&u.backlogs, len(found.Consumers), h.policy.Unhandled)
	var oldest time.Time
	for _, one := range found.Consumers {
		if oldest.IsZero() || one.Oldest.Before(oldest) {
			oldest, u.backlogs.Mostly = one.Oldest, one.Name
		}
	}
	count(&u.types, len(found.Types), h.policy.UnknownTypes)
	if len(found.Types) > 0 {
		u.types.Mostly = found.Types[0]
	}
	h.showUnhandled(found.Consumers)
}

// count sets what was found, of which there may be so much.
func count(c *observe.HealthCheck, n, threshold int) {
	c.Value, c.Threshold, c.Exceeded, c.Mostly = float64(n), float64(threshold), n > threshold, ""
}
