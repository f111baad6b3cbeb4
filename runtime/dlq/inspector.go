package dlq

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"sync"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// Inspector reads and changes the dead letters of one file. It is safe for
// concurrent use. Its errors are *runtime.StorageError when the file cannot be
// read or written, those of contexts that end, and the types of this package.
//
// What it changes is on disk when a call returns, and a bus that runs on the
// file, in this process or another, notices within 200 ms.
type Inspector struct {
	actor string
	check func(eventType string, version int, payload []byte) error // nil without WithEditing

	mu      sync.Mutex
	letters *sqlite.DeadLetters // nil once closed
}

// Option tunes an [Inspector].
type Option func(*Inspector) error

// WithActor sets who acts, for the audit. The default is user@host, of the
// operating system.
func WithActor(name string) Option {
	return func(i *Inspector) error {
		if name == "" {
			return fmt.Errorf("WithActor: the name is empty")
		}
		i.actor = name
		return nil
	}
}

// WithEditing allows [Inspector.Edit]. Every new payload must pass check; the
// method Check of a generated catalogue fits.
func WithEditing(check func(eventType string, version int, payload []byte) error) Option {
	return func(i *Inspector) error {
		if check == nil {
			return fmt.Errorf("WithEditing: the check is nil; payloads that nobody checks are the next dead letters")
		}
		i.check = check
		return nil
	}
}

// Open opens the event log in the file at path, which must exist. Neither Open nor
// the methods that only read change a byte of the file and of those beside it, and
// they need no permission to write. The first change opens it for writing.
func Open(path string, opts ...Option) (*Inspector, error) {
	i := &Inspector{actor: whoever()}
	for n, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("open %s: option %d is nil: leave it out", path, n+1)
		}
		if err := opt(i); err != nil {
			return nil, err
		}
	}
	var err error
	i.letters, err = sqlite.OpenDeadLetters(path)
	if err != nil {
		return nil, err
	}
	return i, nil
}

// whoever is who runs this process.
func whoever() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// Close releases the file. A second call returns nil, and everything else
// [ErrClosed]; what runs at the moment ends with its next step.
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

func (i *Inspector) use(f func(d *sqlite.DeadLetters) error) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.letters == nil {
		return ErrClosed
	}
	return f(i.letters)
}

// find looks one letter up.
func (i *Inspector) find(ctx context.Context, key Key) (detail sqlite.LetterDetail, err error) {
	err = i.use(func(d *sqlite.DeadLetters) error {
		found, missing, err := d.Get(ctx, key.stored())
		if err == nil && missing != "" {
			err = &NotFoundError{Key: key, State: missing}
		}
		detail = found
		return err
	})
	return detail, err
}
