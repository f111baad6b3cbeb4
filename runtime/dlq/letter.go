package dlq

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// ErrClosed is returned by an [Inspector] that was closed.
var ErrClosed = errors.New("the inspector is closed")

// Key identifies a dead letter: an event can be dead for several subscriptions.
type Key struct {
	EventID      uuid.UUID
	Subscription string
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

// NotFoundError says that there is no such dead letter: there never was, or it
// was retried or purged.
type NotFoundError struct{ Key Key }

// Error names the event and the subscription.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("event %s is not dead for subscription %q", e.Key.EventID, e.Key.Subscription)
}

// Letter is a dead letter with everything that is known about it.
type Letter struct {
	Key
	Type        string          // of the event: order.placed
	Payload     json.RawMessage // as stored
	Metadata    json.RawMessage // a JSON object of strings; nil without
	PublishedAt time.Time       // UTC
	DeadAt      time.Time       // UTC
	Reason      string          // max_attempts, decode or crash
	Attempts    []Attempt       // failed executions, oldest first, including those before a Retry
}

// LastError returns the error of the last attempt.
func (l Letter) LastError() string {
	if len(l.Attempts) == 0 {
		return ""
	}
	return l.Attempts[len(l.Attempts)-1].Error
}

// Attempt is a failed execution of a handler.
type Attempt struct {
	// Kind is error, panic, goexit, timeout, decode or crash.
	Kind    string
	Started time.Time // UTC; zero for a crash
	Ended   time.Time // UTC; of a crash: when it was noticed
	Error   string
	Stack   string // of a panic or goexit
}

func lettersOf(found []sqlite.DeadLetter) []Letter {
	letters := make([]Letter, len(found))
	for i, f := range found {
		letter := Letter{
			Key:  Key{EventID: f.ID, Subscription: f.Subscription},
			Type: f.Type, Payload: f.Payload, Metadata: f.Metadata,
			PublishedAt: f.CreatedAt, DeadAt: f.DeadAt, Reason: f.Reason,
		}
		for _, a := range f.Attempts {
			letter.Attempts = append(letter.Attempts, Attempt{
				Kind: a.Kind, Started: a.Started, Ended: a.Ended, Error: a.Error, Stack: a.Stack,
			})
		}
		letters[i] = letter
	}
	return letters
}
