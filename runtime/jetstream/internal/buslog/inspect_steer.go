package buslog

import (
	"context"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/jetstream/internal/stream"
)

// Cancel implements [engine.Canceller].
func (in *Inspection) Cancel(ctx context.Context, spec engine.Cancellation) ([]string, error) {
	if spec.Unasked {
		return in.discard(ctx, spec)
	}
	return in.cancel(ctx, spec, func(s *sub) string { return s.Name })
}

// discard is Cancel that asks nobody. While a process dispatches it settles the delivery.
func (in *Inspection) discard(ctx context.Context, spec engine.Cancellation) (names []string, err error) {
	open, err := in.discardOpen(ctx, spec.Event, spec.Subscription, spec.Reason, func(one openDelivery) *stream.Msg {
		return in.auditMsg(event.AuditEntry{Actor: spec.Actor, Action: "discard", EventID: spec.Event, Subscription: one.sub.Name, Count: 1, Detail: spec.Reason})
	})
	for _, one := range open {
		names = append(names, one.sub.Name)
	}
	return names, err
}

// Pause implements [engine.SubscriptionSteerer].
func (in *Inspection) Pause(ctx context.Context, p engine.Pause) error {
	p.Actor = in.actor
	return in.Log.pause(ctx, p, in.noted("pause"))
}

// Resume implements [engine.SubscriptionSteerer].
func (in *Inspection) Resume(ctx context.Context, p engine.Pause) error {
	return in.Log.resume(ctx, p, in.noted("resume"))
}

// noted returns a function that returns the entry of a pause in the audit.
func (in *Inspection) noted(action string) func(engine.Pause) *stream.Msg {
	return func(p engine.Pause) *stream.Msg {
		entry := event.AuditEntry{Actor: in.actor, Action: action, Subscription: p.Target, Detail: p.Reason}
		if p.Kind == engine.PauseType {
			entry.Subscription, entry.Detail = "", "events of type "+p.Target
			if p.Reason != "" {
				entry.Detail += ": " + p.Reason
			}
		}
		return in.auditMsg(entry)
	}
}

// RequestBreaker implements [engine.SubscriptionSteerer].
func (in *Inspection) RequestBreaker(ctx context.Context, subscription string) (r engine.BreakerRequest, err error) {
	err = in.edit(ctx, func() ([]*stream.Msg, error) {
		r = engine.BreakerRequest{Subscription: subscription, Actor: in.actor, At: time.Now().UTC()}
		all := slices.DeleteFunc(slices.Clone(in.requests), func(other engine.BreakerRequest) bool { return other.Subscription == subscription })
		note := in.auditMsg(event.AuditEntry{Actor: in.actor, Action: "close breaker", Subscription: subscription, Count: 1})
		return []*stream.Msg{note, in.requestsMsg(append(all, r))}, nil
	})
	return r, err
}

// BreakerAnswered implements [engine.SubscriptionSteerer].
func (in *Inspection) BreakerAnswered(ctx context.Context, r engine.BreakerRequest, withdraw bool) (answered bool, err error) {
	if !withdraw {
		if err := in.look(ctx); err != nil {
			return false, err
		}
		defer in.mu.Unlock()
		return !slices.ContainsFunc(in.requests, sameRequest(r)), nil
	}
	err = in.edit(ctx, func() ([]*stream.Msg, error) {
		left := slices.DeleteFunc(slices.Clone(in.requests), sameRequest(r))
		if answered = len(left) == len(in.requests); answered {
			return nil, nil
		}
		return []*stream.Msg{in.requestsMsg(left)}, nil
	})
	return answered, err
}
