package engine

import (
	"bytes"
	"context"
	"encoding/json"
)

// Inbox is a [Log] to which programs without a bus can send events. What they send is stored as it is, and becomes an
// event of the type [InboxType]. Who handles that checks and publishes it.
type Inbox interface {
	// OpenInbox lets others send, if they cannot yet.
	OpenInbox(ctx context.Context) error

	// TakeIn appends an event of the type InboxType for each message that was sent, in their order and once, whatever
	// ends in between, and returns how many. It may run in several processes at once.
	TakeIn(ctx context.Context) (int, error)
}

// InboxType is the bus's own event type of messages that others have sent. The payload is a [Sent].
const InboxType = string(OwnType) + "inbox"

// RelayType is the bus's own event type of events from an outbox of the program that it cannot publish. The payload is
// a [Sent].
const RelayType = string(OwnType) + "relay"

// Sent is an event as another program has sent it. Nothing of it is checked.
type Sent struct {
	ID       string            `json:"id,omitempty"`
	Type     string            `json:"type"`
	Version  int               `json:"version,omitempty"` // 0 for the newest
	Metadata map[string]string `json:"metadata,omitempty"`
	Payload  json.RawMessage   `json:"payload,omitempty"`
	// Body is the beginning of what was sent, if it is no payload.
	Body string `json:"body,omitempty"`
	// Problem says why it can be no event; empty if nothing is known against it.
	Problem string `json:"problem,omitempty"`
}

// Encode returns the JSON of a message, with the payload as it was sent but for spaces.
func (s *Sent) Encode() ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(s)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}
