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
type AuditEntry = engine.AuditEntry

// AuditFilter chooses entries of the audit: those to which everything that is set
// applies. The zero value chooses all.
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
