// Package guard calls code of the program that may panic where a panic would end the
// process, because the caller is a goroutine of the bus.
package guard

import "fmt"

// PanicText returns what a panic is about, whatever the methods of its value do.
func PanicText(cause any) (text string) {
	defer func() {
		if recover() != nil {
			text = fmt.Sprintf("(a value of type %T whose methods panic)", cause)
		}
	}()
	return fmt.Sprint(cause)
}
