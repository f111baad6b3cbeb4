package dlq

import (
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Key identifies a dead letter: an event can be dead for several subscriptions.
type Key struct {
	EventID      uuid.UUID `json:"event_id"`
	Subscription string    `json:"subscription"`
}

// String formats the key as event-id/subscription.
func (k Key) String() string { return k.EventID.String() + "/" + k.Subscription }

// ParseKey reads what [Key.String] prints.
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

func (k Key) stored() sqlite.LetterKey {
	return sqlite.LetterKey{Event: k.EventID, Subscription: k.Subscription}
}

func keyOf(k sqlite.LetterKey) Key { return Key{EventID: k.Event, Subscription: k.Subscription} }

func keysOf(stored []sqlite.LetterKey) (keys []Key) {
	for _, k := range stored {
		keys = append(keys, keyOf(k))
	}
	return keys
}
