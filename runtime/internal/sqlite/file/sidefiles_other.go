//go:build !unix

package file

// CreateBeside does nothing where files have no owner and mode of that kind.
func CreateBeside(path, suffix string) error { return nil }
