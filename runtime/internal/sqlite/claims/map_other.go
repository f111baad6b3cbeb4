//go:build !unix

package claims

import (
	"errors"
	"os"
)

// mapFile has no mapping to offer; claims are written to the file instead.
func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmapFile([]byte) error { return nil }
