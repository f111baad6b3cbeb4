package dispatch

import (
	"fmt"

	"github.com/busgen/busgen/runtime/internal/guard"
)

// panicked is the error of an attempt whose handler has panicked. It does not
// wrap the value, even if that is an error: nobody has returned it, so it steers
// nothing.
type panicked struct {
	text string
	kind string // the Go type of the value
}

func newPanicked(cause any) *panicked {
	return &panicked{"panic: " + guard.PanicText(cause), fmt.Sprintf("%T", cause)}
}

// Error says what the panic was about.
func (p *panicked) Error() string { return p.text }

// typeName names the Go type that says most about an error: that of what a handler
// has panicked with, or of the first one that is not merely a wrapper.
func typeName(err error) string {
	if p, ok := err.(*panicked); ok {
		return p.kind
	}
	return fmt.Sprintf("%T", core(err))
}
