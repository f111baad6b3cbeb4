package database

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/busgen/busgen/runtime/internal/sqlite/fault"
)

// errPanicked is part of the error of a panic of the driver that is no lack of memory.
var errPanicked = errors.New("the driver of SQLite has panicked")

// Recovered makes an error of a panic of the driver. It is deferred by whatever runs a statement. A panic of other code
// goes on: it is a mistake of ours.
func (c *Conn) Recovered(err *error) {
	if became(recover(), err) && !errors.Is(*err, fault.ErrNoMemory) {
		// Nobody knows what SQLite has done.
		c.panicked = fmt.Errorf("%w; this connection cannot be used any more: start the program again", *err)
	}
}

// Recovered is [Conn.Recovered] for who has no Conn.
func Recovered(err *error) { became(recover(), err) }

// Quietly runs f, which tidies up after an error that was reported: SQLite reports it again.
func Quietly(f func()) {
	var again error
	defer Recovered(&again)
	f()
}

// became puts what the driver has panicked with into err, and tells whether it has.
func became(cause any, err *error) bool {
	if cause == nil {
		return false
	}
	if !byDriver() {
		panic(cause)
	}
	*err = driverError(cause)
	return true
}

// driverError is the error that a panic of the driver becomes.
func driverError(cause any) error {
	if err, ok := cause.(error); ok && err.Error() == "sqlite3: out of memory" {
		return fault.ErrNoMemory // SQLite has ended what it did, and goes on
	}
	return fmt.Errorf("%w: %v", errPanicked, cause)
}

// byDriver tells whether the code that has panicked is the driver's. It is called while a deferred function runs.
func byDriver() bool {
	var counters [32]uintptr
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters[:])])
	for panicked := false; ; {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic":
			panicked = true
		case panicked && !strings.HasPrefix(frame.Function, "runtime."):
			return strings.HasPrefix(frame.Function, "github.com/ncruces/go-sqlite3")
		}
		if !more {
			return false
		}
	}
}
