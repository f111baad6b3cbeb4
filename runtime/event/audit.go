package event

import (
	"time"

	"github.com/google/uuid"
)

// AuditEntry is one action of an operator, or of the bus by itself (redrive,
// rename): who did what, when, to which event and subscription or to how many
// deliveries. Entries are kept for as long as the file.
type AuditEntry struct {
	ID           int64     `json:"id"` // grows
	At           time.Time `json:"at"` // UTC; of an action in steps: when it began
	Actor        string    `json:"actor"`
	Action       string    `json:"action"`                 // retry, discard, edit, …
	EventID      uuid.UUID `json:"event_id,omitzero"`      // zero for an action on several events
	Subscription string    `json:"subscription,omitempty"` // empty for an action on several subscriptions
	Count        int       `json:"count"`                  // how many deliveries it changed
	Detail       string    `json:"detail,omitempty"`       // in words: the filter, the reason
}

// AuditFilter chooses entries of the audit: those to which everything that is set
// applies. The zero value chooses all.
type AuditFilter struct {
	Actor        string    // exactly
	Actions      []string  // one of which it is
	Subscription string    // by any of its names
	Event        uuid.UUID // that the action has changed, alone or with others
	Since, Until time.Time // at Since or later, before Until
}
