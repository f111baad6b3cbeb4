package deep

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep values of one type may be nested.
const MaxDepth = 1000

// Descent counts the depth of a recursive method on a value of a type that can contain
// itself. Through a pointer, a map or a slice, a Go value can be a cycle; without a
// limit the method would exhaust the stack and end the process. The zero Descent is
// ready to use, for one call and one goroutine.
type Descent struct {
	depth    int
	over     bool // the limit was exceeded
	reported bool
}

// errTooDeep is the error for a value that is deeper than MaxDepth.
var errTooDeep = errors.New("is more than " + fmt.Sprint(MaxDepth) + " deep inside of values of its type, or contains itself")

// Enter goes one level deeper. It returns false if that is too deep, and also in all
// later calls, so that the whole recursion ends.
func (d *Descent) Enter() bool {
	if d.over || d.depth == MaxDepth {
		d.over = true
		return false
	}
	d.depth++
	return true
}

// Leave goes one level up, after an Enter that returned true.
func (d *Descent) Leave() { d.depth-- }

// Err returns the error for a value that is too deep. Later calls return nil, so that
// it is reported once.
func (d *Descent) Err() error {
	if d.reported {
		return nil
	}
	d.reported = true
	return errTooDeep
}
