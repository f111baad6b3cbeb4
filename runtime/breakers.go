package runtime

import (
	"slices"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// closeBreaker does what an operator has asked for.
func (b *innerBus) closeBreaker(r engine.BreakerRequest) {
	b.mu.Lock()
	subscriptions := slices.Clone(b.subscriptions)
	b.mu.Unlock()
	for _, s := range subscriptions {
		if s.name == r.Subscription && s.breaker.Reset() {
			b.config.logger.Info("circuit breaker is closed on request", "subscription_id", s.name, "actor", r.Actor)
		}
	}
}

// CloseBreaker closes the circuit breaker of the subscription, because what its
// handler needs works again. Deliveries go on at once; in a group, those that the
// member was passed over for come back when the next one would have been tried. It
// reports false if the breaker is closed already. "busgen breakers close" does it
// from another process.
func (s *Subscription) CloseBreaker() bool { return subscriptionOf(s).breaker.Reset() }

// breakerChanged tells the log when a breaker opens or closes.
func (s *innerSubscription) breakerChanged(old, now breaker.Status) {
	if now.State == breaker.Closed {
		s.notClosed.Store(nil)
	} else {
		s.notClosed.Store(&now)
	}
	if !s.config.ephemeral {
		s.bus.showing.Changed()
	}
	s.bus.observers.breakerChanged(s, old, now)
	log := s.bus.config.logger
	switch now.State {
	case breaker.Open:
		if old.State == breaker.HalfOpen {
			log.Warn("circuit breaker stays open: the event that it tried has failed", "subscription_id", s.name,
				"open_since", now.Since, "until", now.Until, "error", now.LastFailure)
			break
		}
		log.Warn("circuit breaker opens: the handler fails too often; its events wait", "subscription_id", s.name,
			"failures", now.Failures, "deliveries", now.Samples, "until", now.Until, "error", now.LastFailure)
	case breaker.HalfOpen:
		log.Info("circuit breaker tries one event", "subscription_id", s.name)
	case breaker.Closed:
		log.Info("circuit breaker is closed again", "subscription_id", s.name, "open_since", old.Since)
	}
}
