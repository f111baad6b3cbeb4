package output

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Create writes new files into dir, and creates dir if there is none. If one of the files exists,
// nothing is written and the error is an *[ExistsError]. It writes all of them, or none.
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
	b := newBatch()
	defer b.discard()
	for _, file := range files {
		if err := b.createNew(filepath.Join(dir, file.Name), file.Content); err != nil {
			return err
		}
	}
	return b.commit()
}

// CreateFrom creates a file that only its owner can read, with the content that write produces. The file
// gets its name when it is complete. If it exists already, the error is an *[ExistsError].
func CreateFrom(path string, write func(io.Writer) error) error {
	if _, err := os.Lstat(path); err == nil {
		return &ExistsError{[]string{path}}
	}
	if _, err := os.Stat(filepath.Dir(path)); err != nil {
		return err // a missing folder is probably a typo, so it is not created
	}
	b := newBatch()
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

// ExistsError reports files that [Create] would have to overwrite.
type ExistsError struct{ Paths []string }

// Error names the files.
func (e *ExistsError) Error() string {
	return strings.Join(e.Paths, " and ") + plural(len(e.Paths), " exists already", " exist already") + ", so nothing was written"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
