package dlq

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// AuditEntry is something an operator has done to a file, with this package or
// another one, or that the bus has done for them. Entries are kept for as long
// as the file.
type AuditEntry struct {
	At           time.Time `json:"at"`                    // UTC; of an action in steps: when it began
	Actor        string    `json:"actor"`                 // who: see [WithActor]
	Action       string    `json:"action"`                // retry, edit, discard, purge, import, redrive, pause, resume or remove
	EventID      uuid.UUID `json:"event_id,omitzero"`     // zero for an action on many
	Subscription string    `json:"subscription,omitzero"` // empty for an action on several
	Count        int       `json:"count"`                 // how many deliveries it concerned
	Detail       string    `json:"detail,omitzero"`       // in words: the filter, the reason
}

// Audit returns what was done, newest first. If there is more, next is what the
// [Page] after this one begins with, and otherwise empty.
func (i *Inspector) Audit(ctx context.Context, page Page) (entries []AuditEntry, next string, err error) {
	page, err = page.complete()
	if err != nil {
		return nil, "", err
	}
	before, err := parseCursor(page.After, 1)
	if err != nil {
		return nil, "", err
	}
	var found []sqlite.AuditEntry
	err = i.use(func(d *sqlite.DeadLetters) error {
		found, err = d.Audit(ctx, before[0], page.Offset, page.Limit+1)
		return err
	})
	if len(found) > page.Limit {
		found = found[:page.Limit]
		next = cursor(found[page.Limit-1].ID)
	}
	return entriesOf(found), next, err
}

func entriesOf(found []sqlite.AuditEntry) []AuditEntry {
	entries := make([]AuditEntry, len(found))
	for i, e := range found {
		entries[i] = AuditEntry{
			At: e.At, Actor: e.Actor, Action: e.Action, EventID: e.Event, Subscription: e.Subscription, Count: e.Count, Detail: e.Detail,
		}
	}
	return entries
}
