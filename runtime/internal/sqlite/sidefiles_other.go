//go:build !unix

package sqlite

// createBeside does nothing where files have no owner and mode of that kind.
func createBeside(path, suffix string) error { return nil }
