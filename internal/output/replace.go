package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/internal/input"
)

// Replace writes content to the file at path, whatever wrote it before, because the user named it on the
// command line. It does not touch a file that has the content already. The new bytes are on disk under a
// temporary name before the file is replaced; its permissions stay. A symbolic link stays, and the file that
// it leads to is replaced.
func Replace(path string, content []byte) (changed bool, err error) {
	b := newBatch()
	defer b.discard()
	if err := b.rewrite(path, content); err != nil {
		return false, err
	}
	return len(b.changes) > 0, b.commit()
}

// ReplaceAll is [Replace] for several files, whose names are paths: it changes all of them, or none.
func ReplaceAll(files []File) error {
	b := newBatch()
	defer b.discard()
	for _, file := range files {
		if err := b.rewrite(file.Name, file.Content); err != nil {
			return fmt.Errorf("%s cannot be changed; no file was: %w", file.Name, err)
		}
	}
	return b.commit()
}

// rewrite prepares new content of a file, unless the file has it already. A person may have written the file.
func (b *batch) rewrite(path string, content []byte) error {
	path, err := target(path)
	if err != nil {
		return err
	}
	have, err := input.ReadFile(path, input.Unlimited)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return err // a missing folder is probably a typo, so it is not created
		}
	case err != nil:
		return err
	case bytes.Equal(have, content):
		return nil
	}
	return b.replace(path, content)
}
