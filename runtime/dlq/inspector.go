package dlq

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// DefaultLimit is how many dead letters [Inspector.List] returns when the page
// does not say.
const DefaultLimit = 100

// Inspector reads and changes the dead letters of one file. It is safe for
// concurrent use. Its errors are *runtime.StorageError when the file cannot be
// read or written, [NotFoundError], and those of contexts that end.
type Inspector struct {
	mu      sync.Mutex
	letters *sqlite.DeadLetters // nil once closed
}

// Open opens the event log in the file at path, which must exist.
func Open(path string) (*Inspector, error) {
	letters, err := sqlite.OpenDeadLetters(path)
	if err != nil {
		return nil, err
	}
	return &Inspector{letters: letters}, nil
}

// Close releases the file. A second call returns nil.
func (i *Inspector) Close() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.letters == nil {
		return nil
	}
	err := i.letters.Close()
	i.letters = nil
	return err
}

// Page chooses a part of the list. The zero value is the newest [DefaultLimit].
type Page struct {
	Offset int // how many of the newest to pass over
	Limit  int // how many to return; 0 for DefaultLimit
}

// List returns dead letters, the one that died last first.
func (i *Inspector) List(ctx context.Context, page Page) ([]Letter, error) {
	if page.Offset < 0 || page.Limit < 0 {
		return nil, fmt.Errorf("list dead letters: offset %d and limit %d must not be negative", page.Offset, page.Limit)
	}
	if page.Limit == 0 {
		page.Limit = DefaultLimit
	}
	var letters []Letter
	err := i.use(func(d *sqlite.DeadLetters) error {
		found, err := d.List(ctx, page.Offset, page.Limit)
		letters = lettersOf(found)
		return err
	})
	return letters, err
}

// Count returns how many dead letters there are.
func (i *Inspector) Count(ctx context.Context) (n int, err error) {
	err = i.use(func(d *sqlite.DeadLetters) error {
		n, err = d.Count(ctx)
		return err
	})
	return n, err
}

// Get returns one dead letter, or a *[NotFoundError].
func (i *Inspector) Get(ctx context.Context, key Key) (Letter, error) {
	var letter Letter
	err := i.use(func(d *sqlite.DeadLetters) error {
		found, err := d.Get(ctx, key.EventID)
		if err != nil {
			return err
		}
		for _, one := range lettersOf(found) {
			if one.Key == key {
				letter = one
				return nil
			}
		}
		return &NotFoundError{Key: key}
	})
	return letter, err
}

// Retry gives a dead letter back to its subscription, due now and with a fresh
// count of attempts. The attempts it has behind it stay on record. When it is
// not dead, or no longer, the error is a *[NotFoundError].
func (i *Inspector) Retry(ctx context.Context, key Key) error {
	return i.use(func(d *sqlite.DeadLetters) error {
		found, err := d.Retry(ctx, key.EventID, key.Subscription)
		if err == nil && !found {
			err = &NotFoundError{Key: key}
		}
		return err
	})
}

// Purge deletes the dead letters that died at cutoff or before, and returns how
// many. Their events stay in the log; only the deliveries that were given up are
// forgotten. It can be interrupted by ctx and called again.
func (i *Inspector) Purge(ctx context.Context, cutoff time.Time) (n int, err error) {
	err = i.use(func(d *sqlite.DeadLetters) error {
		n, err = d.Purge(ctx, cutoff)
		return err
	})
	return n, err
}

func (i *Inspector) use(f func(d *sqlite.DeadLetters) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.letters == nil {
		return ErrClosed
	}
	return f(i.letters)
}
