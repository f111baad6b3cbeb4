//go:build !unix

package sqlite

import "errors"

func makePipe(string) error { return errors.ErrUnsupported }
