package sqlite

import (
	"bytes"
	"slices"
)

// copies are bytes of several events in one piece of memory, which is allocated once. Who keeps those of one event
// keeps the piece, so it is small.
type copies []byte

const copiesAtOnce = 4096

// of returns a copy of data, which is nil if that is empty, when there are to be copies for more events, this one
// included. A copy of much has memory of its own.
func (c *copies) of(data []byte, more int) []byte {
	switch {
	case len(data) == 0:
		return nil
	case len(data) > copiesAtOnce/4:
		return bytes.Clone(data)
	case len(data) > cap(*c)-len(*c):
		*c = make([]byte, 0, min(copiesAtOnce, more*len(data)))
	}
	start := len(*c)
	*c = append(*c, data...)
	return slices.Clip((*c)[start:])
}
