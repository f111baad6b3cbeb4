package busfile

import (
	"errors"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/event"
)

// known returns the filter with the full name of its group. A name that the file does not have is the
// answer no.
func (c *call) known(f event.Filter) (event.Filter, error) {
	f, err := beforehand.Filter(c.context(), c.file, f)
	return f, unknownIsNo(err)
}

// unknownIsNo makes the error of a name that the file does not have the answer no.
func unknownIsNo(err error) error {
	if _, unknown := errors.AsType[*beforehand.UnknownError](err); unknown {
		return cli.No(err)
	}
	return err
}
