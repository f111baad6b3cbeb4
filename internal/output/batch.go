package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A batch changes several files together. Everything that takes time or space happens before the first
// file is changed: new content is on disk beside its file, under a temporary name, and each file that
// will be replaced or removed has a second name. [batch.commit] only renames files: all, or none.
type batch struct {
	changes []change
	swept   map[string]bool // folders from which leftovers were removed
}

// A change creates, replaces or removes one file.
type change struct {
	path      string
	temporary string // with the new content; empty if the file is removed
	old       string // a second name of the present file; empty if there is none
	folders   []string
	exclusive bool // there must be no file yet
}

func newBatch() *batch { return &batch{swept: map[string]bool{}} }

// replace prepares new content of a file. It creates the folder if there is none. An existing file keeps
// its permissions and its owner.
func (b *batch) replace(path string, content []byte) error {
	return b.prepare(path, func(c *change, have fs.FileInfo) error {
		file, err := create(path, newSuffix, 0o666)
		if err != nil {
			return err
		}
		c.temporary = file.Name()
		_, err = file.Write(content)
		if have != nil && err == nil {
			err = inherit(file, have)
		}
		return finish(file, err)
	})
}

// createNew prepares a file that must not exist yet.
func (b *batch) createNew(path string, content []byte) error {
	err := b.replace(path, content)
	if err == nil {
		b.changes[len(b.changes)-1].exclusive = true
	}
	return err
}

// remove prepares the removal of a file.
func (b *batch) remove(path string) error {
	return b.prepare(path, func(*change, fs.FileInfo) error { return nil })
}

// prepare adds a change. If that fails, it discards the batch.
func (b *batch) prepare(path string, make func(*change, fs.FileInfo) error) (err error) {
	c := change{path: path}
	defer func() {
		b.changes = append(b.changes, c)
		if err != nil {
			b.discard()
		}
	}()
	if err := c.folder(filepath.Dir(path)); err != nil {
		return err
	}
	b.sweep(filepath.Dir(path))
	have, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		if err := writable(path, have); err != nil {
			return err
		}
		if err := c.keepOld(have); err != nil {
			return err
		}
		return make(&c, have)
	}
	return make(&c, nil)
}

// writable returns an error if path is not a regular file.
func writable(path string, have fs.FileInfo) error {
	switch {
	case have.Mode()&fs.ModeSymlink != 0:
		return linkError(path)
	case have.IsDir():
		return fmt.Errorf("%s is a folder, not a file", path)
	case !have.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

// keepOld gives the present file a second name. It copies a file that cannot have two names, and one of
// another user, because this process might not be able to delete its second name.
func (c *change) keepOld(have fs.FileInfo) error {
	old := temporaryName(c.path, oldSuffix)
	os.Remove(old) // left by a process with the same id
	if isOurs(have) && writing.register(old, func() error { return os.Link(c.path, old) }) == nil {
		c.old = old
		return nil
	}
	from, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := create(c.path, oldSuffix, 0o600)
	if err != nil {
		return err
	}
	c.old = file.Name()
	_, err = io.Copy(file, from)
	return finish(file, errors.Join(err, inherit(file, have)))
}

// create opens a new file beside path.
func create(path, suffix string, perm fs.FileMode) (file *os.File, err error) {
	name := temporaryName(path, suffix)
	os.Remove(name) // left by a process with the same id
	err = writing.register(name, func() (err error) {
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		return err
	})
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		err = fmt.Errorf("no file can be created in %s: %w", filepath.Dir(path), inner.Err)
	}
	return file, err
}

// finish syncs a file to disk, unless there was an error, and closes it.
func finish(file *os.File, err error) error {
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// folder creates a folder and its missing parents.
func (c *change) folder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is a file, not a folder", dir)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if above := filepath.Dir(dir); above != dir {
		if err := c.folder(above); err != nil {
			return err
		}
	}
	if err := writing.register(dir, func() error { return os.Mkdir(dir, 0o777) }); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil // another process has just created it
		}
		return err
	}
	c.folders = append(c.folders, dir)
	return nil
}

// forget deletes the temporary files and folders of a change. The caller holds the lock.
func (c *change) forget() {
	writing.remove(c.temporary, c.old)
	for _, folder := range slices.Backward(c.folders) {
		writing.remove(folder)
	}
}

// discard deletes what was prepared and not committed.
func (b *batch) discard() {
	writing.Lock()
	defer writing.Unlock()
	b.forget()
}

func (b *batch) forget() {
	for i := range slices.Backward(b.changes) {
		b.changes[i].forget()
	}
	b.changes = nil
}

// commit changes the files. If one cannot be changed, it restores those before it. A signal does not
// interrupt it.
func (b *batch) commit() error {
	writing.Lock()
	defer writing.Unlock()
	for i := range b.changes {
		err := b.changes[i].do()
		if err == nil {
			continue
		}
		if inner := (*os.LinkError)(nil); errors.As(err, &inner) {
			err = inner.Err // without the names of temporary files, which mean nothing to users
		}
		err = fmt.Errorf("%s could not be changed: %w", b.changes[i].path, err)
		var left []string
		for _, c := range b.changes[:i] {
			if c.undo() != nil {
				left = append(left, c.path)
			}
		}
		b.forget()
		if left != nil {
			return fmt.Errorf("%w; already changed, and could not be restored: %s", err, strings.Join(left, ", "))
		}
		return fmt.Errorf("%w; no file was changed", err)
	}
	for i := range b.changes {
		writing.keep(b.changes[i].folders) // no longer empty
		b.changes[i].folders = nil
	}
	b.forget()
	return nil
}

func (c *change) do() error {
	switch {
	case c.temporary == "":
		return os.Remove(c.path)
	case c.exclusive:
		return placeNew(c.temporary, c.path)
	}
	return os.Rename(c.temporary, c.path)
}

// undo restores the former file.
func (c *change) undo() error {
	if c.old == "" {
		return os.Remove(c.path)
	}
	return os.Rename(c.old, c.path)
}

// placeNew renames a temporary file to path, unless path exists.
func placeNew(temporary, path string) error {
	if err := os.Link(temporary, path); err == nil {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return &ExistsError{[]string{path}}
	}
	return os.Rename(temporary, path) // the file system has no hard links
}
