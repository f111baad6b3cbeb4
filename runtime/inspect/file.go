package inspect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"

	"github.com/busgen/busgen/runtime/internal/engine"
	"github.com/busgen/busgen/runtime/internal/outbox"
)

func init() {
	outbox.InspectionOf = func(file any) engine.Inspection { return file.(*File).stored() }
}

// File is the event log of a bus, opened to look into it and to steer it. It is safe
// for concurrent use; its methods run one after the other. Their errors are
// *event.StorageError when the file cannot be read or written, the error types of
// this package, and the error of a context that ends.
type File struct {
	engine engine.Inspectable
	target string // as Open got it, with the password of an address
	actor  string
	check  func(eventType string, version int, payload []byte) error // nil without WithEditing
	log    engine.Inspection
}

// Option tunes [Open].
type Option func(*File) error

// WithActor sets who acts, for the audit. The default is user@host, of the operating
// system.
func WithActor(name string) Option {
	return func(f *File) error {
		if name == "" {
			return errors.New("WithActor: the name is empty")
		}
		f.actor = name
		return nil
	}
}

// WithEditing allows [File.Edit]. Every new payload must pass check; the method Check
// of a generated catalogue fits.
func WithEditing(check func(eventType string, version int, payload []byte) error) Option {
	return func(f *File) error {
		if check == nil {
			return errors.New("WithEditing: the check is nil; unchecked payloads could become dead letters again")
		}
		f.check = check
		return nil
	}
}

// WithEngine inspects a log that is in another place than a file. Programs do not call
// it: the package of an engine has a function that returns this option. The default is
// SQLite, whose target is the path of a file.
func WithEngine(e engine.Inspectable) Option {
	return func(f *File) error {
		if e == nil {
			return errors.New("WithEngine: the engine is nil; leave the option out for a file")
		}
		f.engine = e
		return nil
	}
}

// Open opens the event log at target, which is the path of a file that exists. Neither
// Open nor the methods that only look change a byte of the file and of those beside
// it, and they need no permission to write. The first method that steers opens the
// file for writing.
func Open(ctx context.Context, target string, opts ...Option) (*File, error) {
	f := &File{engine: defaultEngine{}, target: target, actor: userAtHost()}
	for n, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("open %s: option %d is nil: leave it out", target, n+1)
		}
		if err := opt(f); err != nil {
			return nil, fmt.Errorf("open %s: %w", target, err)
		}
	}
	var err error
	if f.log, err = f.engine.Inspect(ctx, target, f.actor); err != nil {
		return nil, err
	}
	return f, nil
}

// Close releases the file. A second call returns nil, and everything else
// [ErrClosed]; a method that runs at the moment ends with its next step.
func (f *File) Close() error { return f.log.Close() }

// Release lets go of the file until the next method needs it. A program that looks for a
// long time calls it between two looks: while a File of SQLite has the file open, a
// program that ends cannot remove its write-ahead log. Opening the file again takes
// milliseconds. For other engines it does nothing.
func (f *File) Release() error {
	if holds, ok := f.stored().(engine.Releaser); ok {
		return holds.Release()
	}
	return nil
}

// Actor returns the name that the audit gets for what this File changes.
func (f *File) Actor() string { return f.actor }

// userAtHost names who runs this process, as far as the operating system knows.
func userAtHost() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
