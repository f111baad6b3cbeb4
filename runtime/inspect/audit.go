package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/internal/engine"
)

// AuditEntry is one action of an operator, or of the bus by itself (redrive,
// rename): who did what, when, to which event and subscription or to how many
// deliveries. Entries are kept for as long as the file.
//
//	type AuditEntry struct {
//		ID           int64     // grows
//		At           time.Time // UTC; of an action in steps: when it began
//		Actor        string
//		Action       string    // one of Actions
//		EventID      uuid.UUID // zero for an action on several events
//		Subscription string    // empty for an action on several subscriptions
//		Count        int       // how many deliveries it changed
//		Detail       string    // in words: the filter, the reason
//	}
type AuditEntry = engine.AuditEntry

// AuditFilter chooses entries of the audit: those to which everything that is set
// applies. The zero value chooses all.
//
//	type AuditFilter struct {
//		Actor        string    // exactly
//		Actions      []string  // one of which it is: see Actions
//		Subscription string    // by any of its names
//		Event        uuid.UUID // that the action has changed, alone or with others
//		Since, Until time.Time // at Since or later, before Until
//	}
type AuditFilter = engine.AuditFilter

// Actions returns what the Action of an [AuditEntry] can be.
func Actions() []string { return engine.Actions() }

// Audit returns what was done to the file, the newest action first.
func (f *File) Audit(ctx context.Context, filter AuditFilter, page Page) (entries []AuditEntry, next string, err error) {
	if page, err = page.Complete(); err != nil {
		return nil, "", fmt.Errorf("read the audit: %w", err)
	}
	for _, action := range filter.Actions {
		if !slices.Contains(Actions(), action) {
			return nil, "", fmt.Errorf("read the audit: there is no action %q: use one of %s", action, strings.Join(Actions(), ", "))
		}
	}
	return f.log.Audit(ctx, filter, page)
}
