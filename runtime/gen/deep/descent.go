package deep

import (
	"errors"
	"fmt"
)

// MaxDepth is how deep values of one type may be inside one another.
const MaxDepth = 1000

// Descent counts how deep a method has come on its way through a value of a type
// that can contain itself. A Go value can do so without end, by way of a pointer, a
// map or a slice; without a limit the method would exhaust the stack, which ends the
// process. The zero Descent is ready to use, for one call and one goroutine.
type Descent struct {
	depth    int
	over     bool // the limit was exceeded
	reported bool
}

// errTooDeep is the error of a value that goes on below the limit.
var errTooDeep = errors.New("is more than " + fmt.Sprint(MaxDepth) + " deep inside of values of its type, or contains itself")

// Enter goes one deeper. It returns false if that is too deep, and from then on
// always, so that the whole descent comes to an end.
func (d *Descent) Enter() bool {
	if d.over || d.depth == MaxDepth {
		d.over = true
		return false
	}
	d.depth++
	return true
}

// Leave comes back from what a successful Enter has entered.
func (d *Descent) Leave() { d.depth-- }

// Err returns the error for the value that was too deep, once.
func (d *Descent) Err() error {
	if d.reported {
		return nil
	}
	d.reported = true
	return errTooDeep
}

// MustEnter is Enter for methods that have no error to return: it panics if that
// is too deep.
func (d *Descent) MustEnter() {
	if !d.Enter() {
		panic(fmt.Sprintf("deep: the value goes on more than %d deep inside of values of its type, or contains itself", MaxDepth))
	}
}
