package emit

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace makes content that of the file at path, whoever wrote it before: the
// command names the file, and so it is a person's wish. A file that has the content
// already is not touched. The new bytes are on disk under another name before they
// take the file's place; its permissions stay.
func Replace(path string, content []byte) (changed bool, err error) {
	if path, err = target(path); err != nil {
		return false, err
	}
	have, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return false, err
	case bytes.Equal(have, content):
		return false, nil
	}
	temporary, err := stage(path, content)
	if err != nil {
		return false, err
	}
	if info, statErr := os.Stat(path); statErr == nil {
		err = os.Chmod(temporary, info.Mode().Perm())
	}
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return false, errors.Join(err, os.Remove(temporary))
	}
	return true, nil
}

// target follows symbolic links, so that the link stays one.
func target(path string) (string, error) {
	followed, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return followed, err
}
