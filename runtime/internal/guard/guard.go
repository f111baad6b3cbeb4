// Package guard calls code of the program from goroutines of the bus, and recovers
// its panics, which would end the process there.
package guard

import "fmt"

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
