package admin

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// ActionNames returns what [Action].Action can be.
func ActionNames() []string {
	return []string{"retry", "edit", "discard", "undiscard", "replay", "purge", "import", "pause", "resume", "remove", "rename", "redrive", "close breaker"}
}

// AuditFilter chooses actions: those to which everything that is set applies. Its
// zero value chooses all.
type AuditFilter struct {
	Actor        string    // who, exactly
	Actions      []string  // one of which it is: see [ActionNames]
	Subscription string    // by any of its names
	Event        uuid.UUID // which it has changed, alone or with others
	Since, Until time.Time // at Since or later, before Until
}

// Actions is a page of a list.
type Actions struct {
	Actions []Action
	Next    string // for [Page].After; empty if there are no more
}

// Audit returns what operators have done to the file, and the bus by itself
// (redrive, rename), the newest first.
func (f *File) Audit(ctx context.Context, filter AuditFilter, page Page) (Actions, error) {
	limit, before, err := page.numbers()
	if err != nil {
		return Actions{}, fmt.Errorf("read the audit: %w", err)
	}
	for _, action := range filter.Actions {
		if !slices.Contains(ActionNames(), action) {
			return Actions{}, fmt.Errorf("read the audit: there is no action %q: use one of %s", action, strings.Join(ActionNames(), ", "))
		}
	}
	var actions Actions
	err = f.use(func(a *sqlite.Admin) error {
		found, err := a.Audit(ctx, sqlite.AuditFilter{
			Actor: filter.Actor, Subscription: filter.Subscription, Actions: filter.Actions, Event: filter.Event,
			Since: filter.Since, Until: filter.Until, Before: before, Limit: limit + 1,
		})
		if len(found) > limit {
			found = found[:limit]
			actions.Next = strconv.FormatInt(found[limit-1].ID, 36)
		}
		for _, one := range found {
			actions.Actions = append(actions.Actions, actionOf(one))
		}
		return err
	})
	return actions, err
}

// numbers returns how many a page holds, and before which number it begins; 0 for
// the first page.
func (p Page) numbers() (limit int, before int64, err error) {
	switch {
	case p.Limit < 0:
		return 0, 0, fmt.Errorf("the limit is %d: it must not be negative", p.Limit)
	case p.Limit == 0:
		p.Limit = DefaultLimit
	}
	if p.After != "" {
		before, err = strconv.ParseInt(p.After, 36, 64)
		if err != nil || before <= 0 {
			return 0, 0, fmt.Errorf("%q is not the end of a page: use what the page before has returned as Next", p.After)
		}
	}
	return p.Limit, before, nil
}
