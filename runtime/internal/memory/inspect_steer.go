package memory

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// Pause implements [engine.SubscriptionSteerer].
func (in *inspection) Pause(ctx context.Context, p engine.Pause) error {
	p.Actor = in.actor
	err := (&Log{store: in.store}).Pause(ctx, p)
	if errors.Is(err, engine.ErrUnknownConsumer) {
		in.mu.Lock()
		defer in.mu.Unlock()
		return &engine.NotFoundError{Thing: "subscription", Name: p.Target, Known: in.names()}
	}
	return err
}

// Resume implements [engine.SubscriptionSteerer].
func (in *inspection) Resume(ctx context.Context, p engine.Pause) error {
	found, err := (&Log{store: in.store}).Resume(ctx, p)
	if err == nil && !found {
		return &engine.NotFoundError{Thing: "pause", Name: p.Target}
	}
	return err
}

// RemoveConsumer implements [engine.Remover].
func (in *inspection) RemoveConsumer(ctx context.Context, name, actor string) (engine.Removed, error) {
	return (&Log{store: in.store}).RemoveConsumer(ctx, name, actor)
}

// RequestBreaker implements [engine.SubscriptionSteerer]. The process that dispatches is this
// one, and hears of the request at once.
func (in *inspection) RequestBreaker(_ context.Context, subscription string) (engine.BreakerRequest, error) {
	in.telling.Lock()
	defer in.telling.Unlock()
	in.mu.Lock()
	r := engine.BreakerRequest{Subscription: subscription, Actor: in.actor, At: time.Now().UTC()}
	in.requests = slices.DeleteFunc(in.requests, func(other engine.BreakerRequest) bool { return other.Subscription == subscription })
	in.requests = append(in.requests, r)
	in.note(engine.AuditEntry{Actor: in.actor, Action: "close breaker", Subscription: subscription, Count: 1})
	owner, all := in.owner, slices.Clone(in.requests)
	in.mu.Unlock()
	if owner != nil && owner.asked != nil {
		owner.asked(all)
	}
	return r, nil
}

// BreakerAnswered implements [engine.SubscriptionSteerer].
func (in *inspection) BreakerAnswered(_ context.Context, r engine.BreakerRequest) (bool, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return !slices.Contains(in.requests, r), nil
}

// WithdrawBreaker implements [engine.SubscriptionSteerer].
func (in *inspection) WithdrawBreaker(_ context.Context, r engine.BreakerRequest) (bool, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	before := len(in.requests)
	in.requests = slices.DeleteFunc(in.requests, func(other engine.BreakerRequest) bool { return other == r })
	return len(in.requests) < before, nil
}
