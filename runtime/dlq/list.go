package dlq

import (
	"context"

	"github.com/google/uuid"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// List returns dead letters, the one that died last first. If there are more,
// next is what the [Page] after this one begins with, and otherwise empty. What
// dies meanwhile does not move what comes after a page.
func (i *Inspector) List(ctx context.Context, f Filter, page Page) (letters []Letter, next string, err error) {
	filter, err := f.stored()
	if err != nil {
		return nil, "", err
	}
	page, err = page.complete()
	if err != nil {
		return nil, "", err
	}
	mark, err := markOf(page.After)
	if err != nil {
		return nil, "", err
	}
	var found []sqlite.DeadLetter
	err = i.use(func(d *sqlite.DeadLetters) error {
		found, err = d.List(ctx, filter, sqlite.LetterPage{After: mark, Offset: page.Offset, Limit: page.Limit + 1})
		return err
	})
	if len(found) > page.Limit {
		found = found[:page.Limit]
		next = cursorOf(found[page.Limit-1].Mark)
	}
	return lettersOf(found), next, err
}

// Count returns how many dead letters there are.
func (i *Inspector) Count(ctx context.Context, f Filter) (n int, err error) {
	filter, err := f.stored()
	if err != nil {
		return 0, err
	}
	err = i.use(func(d *sqlite.DeadLetters) error {
		n, err = d.Count(ctx, filter)
		return err
	})
	return n, err
}

// Detail is a dead letter with its history.
type Detail struct {
	Letter
	MadeFrom   []uuid.UUID // the events that it was made from by [Inspector.Edit], the nearest first
	EditedInto []Key       // what was made from its event, for other subscriptions
	Audit      []AuditEntry
}

// Get returns one dead letter, or a *[NotFoundError]. Its audit is what was done
// to it alone; what was done to many has an entry without an event.
func (i *Inspector) Get(ctx context.Context, key Key) (Detail, error) {
	found, err := i.find(ctx, key)
	if err != nil {
		return Detail{}, err
	}
	return Detail{
		Letter: letterOf(found.DeadLetter), MadeFrom: found.MadeFrom, EditedInto: keysOf(found.EditedInto), Audit: entriesOf(found.Audit),
	}, nil
}
