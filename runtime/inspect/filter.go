package inspect

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/internal/glob"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Filter chooses events or dead letters: those to which everything that is set
// applies. The zero value chooses all. The fields Types, Events, CorrelationID, Text,
// Since and Until are for both; Status and ChildOf are for events only; Subscriptions, Reasons,
// Keys and Group are for dead letters only.
//
//	type Filter struct {
//		Types         []string    // names or globs over event types, one of which matches: order.*
//		Events        []uuid.UUID // one of which it is
//		CorrelationID string      // of the event
//		// Text is in the payload, in the error of an attempt or, of an event, in the
//		// metadata, in the same case.
//		Text string
//		// Since and Until bound the time: of an event when it was published, at Since or
//		// later and before Until; of a dead letter when it died, at Since or later and at
//		// Until or earlier. An event of a publisher whose clock is an hour behind the
//		// clocks of others may be missed.
//		Since, Until time.Time
//
//		// Status is for events only: one of the Status constants.
//		Status string
//		// ChildOf is for events only: those that a handler of this event has published,
//		// and the dead-letter notices of this event. uuid.Nil for all.
//		ChildOf uuid.UUID
//
//		// The following are for dead letters only.
//		Subscriptions []string // names, one of which it is
//		Reasons       []string // max_attempts, permanent, decode, crash, expired, max_snoozes
//		Keys          []Key    // one of which it is
//		Group         string   // the fingerprint of a FailureGroup
//
//		sight Sight // see SeenThrough
//	}
//
//	func (f Filter) String() string
type Filter = engine.Filter

// Key names a delivery, and so a dead letter: the id of an event and the name of a
// subscription. An event can be dead for several subscriptions.
//
//	type Key struct {
//		EventID      uuid.UUID
//		Subscription string
//	}
//
//	func (k Key) String() string
type Key = engine.Key

// Page chooses a part of a list: where to go on (After), how many items to pass over
// (Offset) and how many to return (Limit). The zero value is the first [DefaultLimit]
// items. Every list returns, after its items, the After of the next page, which is
// empty if there are no more items.
//
//	type Page struct {
//		After  string // the cursor that the page before has returned; empty for the beginning of the list
//		Offset int    // how many items to pass over, from there
//		Limit  int    // how many items to return; 0 for DefaultLimit
//	}
type Page = engine.Page

// DefaultLimit is how many items a [Page] has if it does not say.
const DefaultLimit = engine.DefaultLimit

// ParseKey reads what the method String of a [Key] returns.
func ParseKey(text string) (Key, error) {
	id, subscription, found := strings.Cut(text, "/")
	if !found || subscription == "" {
		return Key{}, fmt.Errorf("dead letter %q: want event-id/subscription", text)
	}
	eventID, err := uuid.Parse(id)
	if err != nil {
		return Key{}, fmt.Errorf("dead letter %q: %q is not an event id", text, id)
	}
	return Key{EventID: eventID, Subscription: subscription}, nil
}

// Reasons returns the reasons of dead letters.
func Reasons() []string { return engine.Reasons() }

// Statuses returns the statuses of events.
func Statuses() []string { return engine.Statuses() }

// checkEvents refuses a filter that can match no event.
func checkEvents(f Filter) error {
	if len(f.Subscriptions) > 0 || len(f.Reasons) > 0 || len(f.Keys) > 0 || f.Group != "" {
		return fmt.Errorf("filter of events: Subscriptions, Reasons, Keys and Group choose dead letters only")
	}
	if f.Status != "" && !slices.Contains(Statuses(), f.Status) {
		return fmt.Errorf("filter of events: there is no status %q: use one of %s", f.Status, strings.Join(Statuses(), ", "))
	}
	return checkTypes("events", f.Types)
}

// checkDeadLetters refuses a filter that can match no dead letter.
func checkDeadLetters(f Filter) error {
	if f.Status != "" {
		return fmt.Errorf("filter of dead letters: Status chooses events only")
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
