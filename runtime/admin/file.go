package admin

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"sync"

	"github.com/busgen/busgen/runtime/internal/sqlite"
)

// ErrClosed is returned by a [File] that was closed.
var ErrClosed = errors.New("the file is closed")

// File is the file of a bus, seen from outside. It is safe for concurrent use;
// its methods run one after the other. Their errors are *runtime.StorageError
// when the file cannot be read or written, those of this package, and the cause
// of a context that ends.
type File struct {
	path  string
	actor string

	mu    sync.Mutex
	admin *sqlite.Admin // nil once closed
}

// Option tunes [Open].
type Option func(*File) error

// WithActor sets who acts, for the audit. The default is user@host, of the
// operating system.
func WithActor(name string) Option {
	return func(f *File) error {
		if name == "" {
			return errors.New("WithActor: the name is empty")
		}
		f.actor = name
		return nil
	}
}

// Open opens the event log in the file at path, which must exist. Neither Open nor
// the methods that only read change a byte of the file and of those beside it, and
// they need no permission to write. The first change opens it for writing.
func Open(path string, opts ...Option) (*File, error) {
	f := &File{path: path, actor: whoever()}
	for n, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("open %s: option %d is nil: leave it out", path, n+1)
		}
		if err := opt(f); err != nil {
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
	}
	var err error
	f.admin, err = sqlite.OpenAdmin(path)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close releases the file. A second call returns nil.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.admin == nil {
		return nil
	}
	err := f.admin.Close()
	f.admin = nil
	return err
}

// use runs one method at a time.
func (f *File) use(do func(a *sqlite.Admin) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.admin == nil {
		return ErrClosed
	}
	return do(f.admin)
}

// whoever is user@host, as far as they are known.
func whoever() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
