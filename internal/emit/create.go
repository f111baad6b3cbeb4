package emit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Create writes files that do not exist yet into dir, which it creates if
// there is none. If any of them exists nothing is written, and the error is an
// *[ExistsError].
func Create(dir string, files []File) error {
	var existing []string
	for _, file := range files {
		path := filepath.Join(dir, file.Name)
		if _, err := os.Lstat(path); err == nil {
			existing = append(existing, path)
		}
	}
	if existing != nil {
		return &ExistsError{existing}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cannot create the folder: %w", err)
	}
	for i, file := range files {
		// O_EXCL: a file that appeared since the check above is safe too.
		if err := writeSynced(filepath.Join(dir, file.Name), file.Content, os.O_EXCL); err != nil {
			for _, written := range files[:i] {
				err = errors.Join(err, os.Remove(filepath.Join(dir, written.Name)))
			}
			return err
		}
	}
	return nil
}

// ExistsError reports files that [Create] would have had to overwrite.
type ExistsError struct{ Paths []string }

// Error names them.
func (e *ExistsError) Error() string {
	return strings.Join(e.Paths, " and ") + plural(len(e.Paths), " exists already", " exist already") + ", so nothing was written"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
