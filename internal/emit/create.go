package emit

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Create writes files that do not exist yet into dir, which it creates if
// there is none. If any of them exists nothing is written, and the error is an
// *[ExistsError]. All of them are written, or none.
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
	b := newBatch(newSuffix)
	defer b.discard()
	for _, file := range files {
		if err := b.createNew(filepath.Join(dir, file.Name), file.Content); err != nil {
			return err
		}
	}
	return b.commit()
}

// CreateFrom writes a file that does not exist yet, for its owner alone, while its content is made. It
// has its name when it is complete. If it exists the error is an *[ExistsError].
func CreateFrom(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &ExistsError{[]string{path}}
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err // a folder that nobody meant is not made
	}
	b := newBatch(newSuffix)
	defer b.discard()
	err := b.prepare(path, func(c *change, _ fs.FileInfo) error {
		file, err := create(path, newSuffix, 0o600)
		if err != nil {
			return err
		}
		c.temporary, c.exclusive = file.Name(), true
		return finish(file, write(file))
	})
	if err != nil {
		return err
	}
	return b.commit()
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
