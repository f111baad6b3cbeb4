package runtime

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/busgen/busgen/runtime/breaker"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// closeBreaker does what an operator has asked for.
func (b *innerBus) closeBreaker(r engine.BreakerRequest) {
	b.mu.Lock()
	subscriptions := slices.Clone(b.subscriptions)
	b.mu.Unlock()
	for _, s := range subscriptions {
		if s.name == r.Subscription && s.closeBreaker(r.Key) {
			b.config.logger.Info("circuit breaker is closed on request", s.breakerNamed(r.Key, "actor", r.Actor)...)
		}
	}
}

// CloseBreaker closes the circuit breaker of the subscription, because what its
// handler needs works again. Deliveries go on at once; in a group, those that the
// member was passed over for come back when the next one would have been tried. It
// reports false if the breaker is closed already. If the subscription has a breaker for each
// key, it closes all of them. "busgen breakers close" does it from another process.
func (s *Subscription) CloseBreaker() bool { return subscriptionOf(s).closeBreaker("") }

// CloseBreakerOf is [Subscription.CloseBreaker] for the circuit breaker of one key.
func (s *Subscription) CloseBreakerOf(key string) bool { return subscriptionOf(s).closeBreaker(key) }

// closeBreaker closes the breaker of a key, or with an empty one all.
func (s *innerSubscription) closeBreaker(key string) (closed bool) {
	if key != "" {
		return s.breakers.Reset(key)
	}
	closed = s.breakers.ResetAll() > 0
	return s.breaker.Reset() || closed
}

// breakerProblem says why the breaker for an event type cannot be by its field, or "".
func (s *innerSubscription) breakerProblem(t AnyEventType, p breaker.Policy) string {
	problem := pathProblem(t, p.By)
	switch {
	case p.By == "" || p.Off:
		return ""
	case s.dead:
		problem = "the payload of a dead-letter notice is not that of the event; leave By out"
	case s.config.group != "":
		problem = "a member of a group has one breaker; write by for the subscriptions that are in no group"
	case s.batched != nil:
		problem = "a batch has events of several values; leave By out, or use Subscribe"
	case problem != "":
		problem += "; name the path in a breaker of the catalogue, so that busgen generates it"
	default:
		return ""
	}
	return fmt.Sprintf("the breaker by %s: %s", p.By, problem)
}

// openBreakers are the breakers of a subscription that are not closed. It is safe for concurrent use.
type openBreakers struct {
	mu    sync.Mutex
	byKey map[string]breaker.Status // as they last changed; the key is empty for a breaker for all
}

func (o *openBreakers) put(key string, now breaker.Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.State == breaker.Closed {
		delete(o.byKey, key)
		return
	}
	if o.byKey == nil {
		o.byKey = map[string]breaker.Status{}
	}
	o.byKey[key] = now
}

// openBreaker is a breaker that is not closed.
type openBreaker struct {
	key string
	breaker.Status
}

// list returns those that opened first, and how many there are besides.
func (o *openBreakers) list() (open []openBreaker, more int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, status := range o.byKey {
		open = append(open, openBreaker{key, status})
	}
	slices.SortFunc(open, func(a, b openBreaker) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.key, b.key)) })
	more = max(len(open)-event.MaxBreakers, 0)
	return open[:len(open)-more], more
}

// breakerNamed returns attributes of a log line about a breaker.
func (s *innerSubscription) breakerNamed(key string, more ...any) []any {
	attributes := []any{"subscription_id", s.name}
	if key != "" {
		attributes = append(attributes, "key", key)
	}
	return append(attributes, more...)
}

// breakerChanged tells the log when a breaker opens or closes: that of a key, or the one for all.
func (s *innerSubscription) breakerChanged(key string, old, now breaker.Status) {
	s.open.put(key, now)
	if !s.config.ephemeral {
		s.bus.showing.Changed()
	}
	s.bus.observers.breakerChanged(s, key, old, now)
	log := s.bus.config.logger
	switch now.State {
	case breaker.Open:
		if old.State == breaker.HalfOpen {
			log.Warn("circuit breaker stays open: the event that it tried has failed",
				s.breakerNamed(key, "open_since", now.Since, "until", now.Until, "error", now.LastFailure)...)
			break
		}
		log.Warn("circuit breaker opens: the handler fails too often; its events wait",
			s.breakerNamed(key, "failures", now.Failures, "deliveries", now.Samples, "until", now.Until, "error", now.LastFailure)...)
	case breaker.HalfOpen:
		log.Info("circuit breaker tries one event", s.breakerNamed(key)...)
	case breaker.Closed:
		log.Info("circuit breaker is closed again", s.breakerNamed(key, "open_since", old.Since)...)
	}
}
