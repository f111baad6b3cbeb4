package engine

import (
	"time"

	"github.com/google/uuid"
)

// AuditEntry is one action of an operator, or of the bus by itself (redrive,
// rename). The log keeps its entries for as long as it exists.
type AuditEntry struct {
	ID           int64     `json:"id"` // grows
	At           time.Time `json:"at"` // UTC; of an action in steps: when it began
	Actor        string    `json:"actor"`
	Action       string    `json:"action"`                 // one of [Actions]
	EventID      uuid.UUID `json:"event_id,omitzero"`      // zero for an action on several events
	Subscription string    `json:"subscription,omitempty"` // empty for an action on several subscriptions
	Count        int       `json:"count"`                  // how many deliveries it changed
	Detail       string    `json:"detail,omitempty"`       // in words: the filter, the reason
}

// Actions returns the actions that an audit can have.
func Actions() []string {
	return []string{"retry", "edit", "discard", "cancel", "undiscard", "replay", "purge", "import", "pause", "resume", "remove", "rename", "redrive", "close breaker", "move", "erase"}
}

// AuditFilter chooses entries of the audit: those to which everything that is set
// applies. The zero value chooses all.
type AuditFilter struct {
	Actor        string    // exactly
	Actions      []string  // one of which it is: see [Actions]
	Subscription string    // by any of its names
	Event        uuid.UUID // that the action has changed, alone or with others
	Since, Until time.Time // at Since or later, before Until
}
