// Package fault turns errors of the driver and of the operating system into errors of
// the engine: what failed, with which file, why, and what to do.
package fault

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/ncruces/go-sqlite3"

	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/internal/engine"
)

// ErrInDoubt is part of the error of a commit that failed and left behind what
// cannot be taken away at the moment.
var ErrInDoubt = errors.New("if the process ends before the file can be written again, the outcome is open")

// ErrNoMemory is part of the error of a statement, or a connection, for which SQLite has not enough memory.
var ErrNoMemory = errors.New("SQLite has not enough memory for this")

// Wrap returns err as an *[event.StorageError] about the file at path, with a hint for
// the person who reads it. op completes "cannot … the file". Errors of the engine and of
// contexts pass unchanged, and nil stays nil.
func Wrap(op, path string, err error) error {
	if err == nil {
		return nil // before there are variables for errors.As, which are on the heap
	}
	var known *event.StorageError
	var conflict *event.ConflictError
	var alias *event.AliasError
	var schema *event.SchemaError
	var owned *event.OwnedError
	var missing *event.NotFoundError
	var settled *event.NotOpenError
	var begun *event.BegunError
	var unanswered *event.UnansweredError
	if errors.Is(err, engine.ErrClosed) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, &known) || errors.As(err, &conflict) || errors.As(err, &alias) || errors.As(err, &schema) || errors.As(err, &owned) || errors.As(err, &missing) || errors.As(err, &settled) || errors.As(err, &begun) || errors.As(err, &unanswered) || errors.Is(err, event.ErrUnknownSubscription) || errors.Is(err, engine.ErrRestored) || errors.Is(err, engine.ErrInTx) {
		return err
	}
	fault, hint := classify(err)
	return &event.StorageError{Fault: fault, Op: op, Path: path, Hint: hint, Err: err, InDoubt: errors.Is(err, ErrInDoubt)}
}

func classify(err error) (fault event.Fault, hint string) {
	var errno syscall.Errno
	errors.As(err, &errno)
	switch {
	case errors.Is(err, sqlite3.FULL), IsOutOfSpace(errno):
		return event.DiskFull, "free some space; nothing of this operation was stored"
	case errors.Is(err, sqlite3.BUSY), errors.Is(err, sqlite3.LOCKED), errors.Is(err, sqlite3.PROTOCOL):
		return event.Busy, "another process holds a lock on the file; try again when it is done"
	case errors.Is(err, sqlite3.NOTADB):
		return event.Foreign, "choose another file; this one was left as it is"
	case errors.Is(err, sqlite3.CONSTRAINT_TRIGGER): // no trigger of the bus refuses anything otherwise
		return event.MovedAway, "open the bus that has them now"
	case errors.Is(err, sqlite3.CORRUPT), errors.Is(err, sqlite3.CONSTRAINT), errors.Is(err, sqlite3.ERROR):
		// A sound file breaks no constraint and lacks no table.
		return event.Corrupt, "restore the file from a backup, or salvage it with the .recover command of the sqlite3 shell"
	case errors.Is(err, sqlite3.READONLY), errors.Is(err, sqlite3.PERM), errors.Is(err, fs.ErrPermission), writeProtected(errno):
		return event.ReadOnly, "the file and its folder must be writable for this user"
	case errors.Is(err, ErrNoMemory), errors.Is(err, sqlite3.TOOBIG):
		return event.IO, "a value is too long, so store it elsewhere and keep a reference to it; or the system gives this process too little memory (ulimit -v)"
	case errors.Is(err, sqlite3.CANTOPEN):
		return event.IO, "check that the folder exists and that this user may create files in it"
	default:
		return event.IO, "look into the system's log for what the disk or its file system has to say"
	}
}
