package runtime

import (
	"fmt"
	"time"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/dispatch"
	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/retry"
)

// resolve computes what applies to each event type of the catalogue.
func (s *Subscription) resolve(pattern glob.Pattern) error {
	s.settings = map[string]*dispatch.Settings{}
	declared, known := s.bus.catalogue.declared[s.name]
	if known && declared.eventType != s.pattern {
		return s.refuse(fmt.Sprintf("the catalogue declares this name for %s, not for %s", declared.eventType, s.pattern))
	}
	for _, t := range s.bus.catalogue.types {
		if !pattern.Match(t.Name()) {
			continue
		}
		policy, timeout := t.Retry(), t.Timeout()
		if known {
			policy, timeout = declared.Retry, declared.Timeout
		}
		settings := s.override(policy, timeout, t.Priority())
		if err := settings.Retry.Validate(); err != nil {
			return s.refuse(fmt.Sprintf("its retry policy for %s: %v", t.Name(), err))
		}
		s.settings[t.Name()] = settings
	}
	if len(s.settings) == 0 {
		if pattern.Literal() {
			return &UnknownTypeError{EventType: s.pattern}
		}
		return s.refuse(fmt.Sprintf("no event type of the catalogue matches %s", s.pattern))
	}
	return nil
}

func (s *Subscription) override(policy retry.Policy, timeout time.Duration, priority Priority) *dispatch.Settings {
	if s.config.timeout > 0 {
		timeout = s.config.timeout
	}
	return &dispatch.Settings{Retry: policy.With(s.config.retry...), Timeout: timeout, Priority: dispatch.Priority(priority)}
}

// settingsOf returns what applies to an event type. One that is not in the
// catalogue, which a newer program may have published, gets the built-in policy.
func (s *Subscription) settingsOf(eventType string) *dispatch.Settings {
	if settings, ok := s.settings[eventType]; ok {
		return settings
	}
	return s.override(retry.Default(), 30*time.Second, PriorityNormal)
}

// reorders tells whether deliveries may overtake each other, so that partition
// keys matter.
func (s *Subscription) reorders() bool {
	priorities := map[dispatch.Priority]bool{}
	for _, settings := range s.settings {
		priorities[settings.Priority] = true
	}
	return s.config.concurrency > 1 || len(priorities) > 1
}

func (s *Subscription) partitionKey(d *engine.Delivery) string {
	t := s.bus.catalogue.Lookup(d.Type)
	if t == nil {
		return ""
	}
	payload, err := t.decode(&d.Record)
	if err != nil {
		return "" // the attempt will say so
	}
	return t.partitionKey(payload)
}

// strictKey gives events without a key one in common.
func (s *Subscription) strictKey(d *engine.Delivery) string {
	return "key " + s.partitionKey(d)
}
