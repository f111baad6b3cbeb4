package engine

import (
	"errors"

	"github.com/busgen/busgen/runtime/event"
)

// ErrClosed is returned by every method of a closed log.
var ErrClosed = errors.New("the event log is closed")

// ErrOpen is returned for a delivery that would have to be settled, and is not.
var ErrOpen = errors.New("open: cancel it first")

// ErrMoved is returned by Source.Poll when this process has other parts of the
// subscription than before.
var ErrMoved = errors.New("the deliveries of this subscription have moved between processes")

// ErrAwaited is returned by StepKeeper.StoreStep instead of storing that no event came.
var ErrAwaited = errors.New("an event that was waited for is stored, or may be")

// ErrRestored says that another state of the log was put in the place of the one
// that was opened. The consumers of the old state have ended: they hand out and record
// nothing.
var ErrRestored = event.ErrRestored

// ErrNotOwner is returned by what only the process that dispatches may do.
var ErrNotOwner = errors.New("this process does not dispatch from the file")
