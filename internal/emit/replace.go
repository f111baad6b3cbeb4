package emit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace makes content that of the file at path, whoever wrote it before: the
// command names the file, and so it is a person's wish. A file that has the content
// already is not touched. The new bytes are on disk under another name before they
// take the file's place; its permissions stay.
func Replace(path string, content []byte) (changed bool, err error) {
	r, err := prepare(path, content)
	if r == nil || err != nil {
		return false, err
	}
	if err := r.commit(); err != nil {
		return false, err
	}
	return true, nil
}

// ReplaceAll is [Replace] for files that belong together, whose names are paths: the new bytes
// of all are on disk before the first is replaced, and none is if something fails until then.
func ReplaceAll(files []File) error {
	var all []*replacement
	for _, file := range files {
		r, err := prepare(file.Name, file.Content)
		if err != nil {
			for _, before := range all {
				err = errors.Join(err, os.Remove(before.temporary))
			}
			return fmt.Errorf("%s cannot be changed; no file was: %w", file.Name, err)
		}
		if r != nil {
			all = append(all, r)
		}
	}
	var done []string
	for i, r := range all {
		if err := r.commit(); err != nil {
			for _, after := range all[i+1:] {
				err = errors.Join(err, os.Remove(after.temporary))
			}
			return fmt.Errorf("%s could not be changed (%s): %w", r.path, progress(done), err)
		}
		done = append(done, r.path)
	}
	return nil
}

// A replacement is what is on disk and will take the place of a file.
type replacement struct{ path, temporary string }

// prepare returns nil if the file has the content already.
func prepare(path string, content []byte) (*replacement, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	have, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case bytes.Equal(have, content):
		return nil, nil
	}
	temporary, err := stage(path, content)
	if err != nil {
		return nil, err
	}
	if info, statErr := os.Stat(path); statErr == nil {
		err = os.Chmod(temporary, info.Mode().Perm())
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(temporary))
	}
	return &replacement{path, temporary}, nil
}

func (r *replacement) commit() error {
	if err := os.Rename(r.temporary, r.path); err != nil {
		return errors.Join(err, os.Remove(r.temporary))
	}
	return nil
}

// target follows symbolic links, so that the link stays one.
func target(path string) (string, error) {
	followed, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return path, nil
	}
	return followed, err
}
