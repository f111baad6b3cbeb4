// Package guard calls code of the program from goroutines of the bus, and recovers
// its panics, which would end the process there.
package guard

import (
	"fmt"
	"time"
)

// InTime calls code of the program on a goroutine of its own, and does not wait for it for longer than Patience. It
// reports whether the code is through. The code must not panic.
func InTime(f func()) (through bool) {
	done := make(chan struct{})
	go func() {
		defer close(done) // also if it ends its goroutine
		f()
	}()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// PanicText returns the value of a panic as text. It does not panic, even if the
// methods of the value do.
func PanicText(cause any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(a value of type %T whose methods panic)", cause)
		}
	}()
	return fmt.Sprint(cause)
}
