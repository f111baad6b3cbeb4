package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// ParseKey reads what the method String of a [event.Key] returns.
func ParseKey(text string) (event.Key, error) {
	id, subscription, found := strings.Cut(text, "/")
	if !found || subscription == "" {
		return event.Key{}, fmt.Errorf("dead letter %q: want event-id/subscription", text)
	}
	eventID, err := uuid.Parse(id)
	if err != nil {
		return event.Key{}, fmt.Errorf("dead letter %q: %q is not an event id", text, id)
	}
	return event.Key{EventID: eventID, Subscription: subscription}, nil
}

// Reasons returns the reasons of dead letters.
func Reasons() []string { return engine.Reasons() }

// Statuses returns the statuses of events.
func Statuses() []string { return engine.Statuses() }

// States returns the states of deliveries.
func States() []string { return engine.States() }

// checkEvents refuses a filter that can match no event.
func checkEvents(f event.Filter) error {
	if len(f.Reasons) > 0 || len(f.Keys) > 0 || f.Group != "" {
		return fmt.Errorf("filter of events: Reasons, Keys and Group choose dead letters only")
	}
	if f.State != "" && !slices.Contains(States(), f.State) {
		return fmt.Errorf("filter of events: there is no state %q: use one of %s", f.State, strings.Join(States(), ", "))
	}
	if f.Status != "" && !slices.Contains(Statuses(), f.Status) {
		return fmt.Errorf("filter of events: there is no status %q: use one of %s", f.Status, strings.Join(Statuses(), ", "))
	}
	return checkTypes("events", f.Types)
}

// checkWaiting refuses a filter that does not choose deliveries which wait.
func checkWaiting(f event.Filter) error {
	if f.Status != "" || f.State != "" || !f.Since.IsZero() || !f.Until.IsZero() || f.ChildOf != uuid.Nil {
		return fmt.Errorf("filter of retries: Status, State, Since, Until and ChildOf choose events only")
	}
	return checkEvents(f)
}

// checkDeadLetters refuses a filter that can match no dead letter.
func checkDeadLetters(f event.Filter) error {
	if f.Status != "" || f.State != "" {
		return fmt.Errorf("filter of dead letters: Status and State choose events only")
	}
	if f.ChildOf != uuid.Nil {
		return fmt.Errorf("filter of dead letters: ChildOf chooses events only")
	}
	for _, reason := range f.Reasons {
		if !slices.Contains(Reasons(), reason) {
			return fmt.Errorf("filter of dead letters: %q is not a reason; it is one of %s", reason, strings.Join(Reasons(), ", "))
		}
	}
	return checkTypes("dead letters", f.Types)
}

func checkTypes(of string, types []string) error {
	for _, one := range types {
		if _, err := glob.Parse(strings.TrimPrefix(one, string(engine.OwnType))); err != nil {
			return fmt.Errorf("filter of %s: type %w", of, err)
		}
	}
	return nil
}
