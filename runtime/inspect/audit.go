package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// Actions returns what the Action of an [event.AuditEntry] can be.
func Actions() []string { return engine.Actions() }

// Audit returns what was done to the file, the newest action first.
func (f *File) Audit(ctx context.Context, filter event.AuditFilter, page event.Page) (entries []event.AuditEntry, next string, err error) {
	if page, err = engine.CompletePage(page); err != nil {
		return nil, "", fmt.Errorf("read the audit: %w", err)
	}
	for _, action := range filter.Actions {
		if !slices.Contains(Actions(), action) {
			return nil, "", fmt.Errorf("read the audit: there is no action %q: use one of %s", action, strings.Join(Actions(), ", "))
		}
	}
	return f.log.Audit(ctx, filter, page)
}
