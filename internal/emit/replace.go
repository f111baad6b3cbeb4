package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/internal/input"
)

// Replace makes content that of the file at path, whoever wrote it before: the
// command names the file, and so it is a person's wish. A file that has the content
// already is not touched. The new bytes are on disk under another name before they
// take the file's place; its permissions stay. A symbolic link is followed ([Target]).
func Replace(path string, content []byte) (changed bool, err error) {
	b := newBatch(newSuffix)
	defer b.discard()
	if err := b.rewrite(path, content); err != nil {
		return false, err
	}
	return len(b.changes) > 0, b.commit()
}

// ReplaceAll is [Replace] for the files of a catalogue, whose names are paths: all of them are changed, or none.
// If the process is killed while it changes more than one, [Resume] changes the others.
func ReplaceAll(root string, files []File) error {
	b := newBatch(editSuffix)
	defer b.discard()
	for _, file := range files {
		if err := b.rewrite(file.Name, file.Content); err != nil {
			return fmt.Errorf("%s cannot be changed; no file was: %w", file.Name, err)
		}
	}
	if len(b.changes) < 2 {
		return b.commit()
	}
	return b.commitEdit(root)
}

// rewrite prepares new content of a file that a person may have written, unless the file has it already.
func (b *batch) rewrite(path string, content []byte) error {
	path, err := Target(path)
	if err != nil {
		return err
	}
	have, err := input.ReadFile(path, input.Unlimited)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return err // a folder that nobody meant is not made
		}
	case err != nil:
		return err
	case bytes.Equal(have, content):
		return nil
	}
	return b.replace(path, content)
}
