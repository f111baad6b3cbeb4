package output

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/busgen/busgen/internal/input"
)

// An edit lists files that are changed together. It is stored beside the root of the catalogue while some
// of them may have been changed and others not.
type edit struct {
	Process int          `json:"process"` // the id of the process that changes them
	Files   []editedFile `json:"files"`
}

type editedFile struct {
	Path string `json:"path"` // from the folder of the edit; the new content is beside the file
	Old  string `json:"old"`  // the SHA-256 of its old content
}

func editRecord(root string) string {
	return filepath.Join(filepath.Dir(root), "."+filepath.Base(root)+"."+editSuffix)
}

// commitEdit is [batch.commit] for files of a catalogue.
func (b *batch) commitEdit(root string) error {
	remove, err := b.record(root)
	if err != nil {
		return err
	}
	writing.Lock()
	defer writing.Unlock()
	defer remove()
	return b.commitLocked()
}

// record stores the edit on disk, before the files are changed.
func (b *batch) record(root string) (remove func(), err error) {
	if root, err = target(root); err != nil {
		return nil, err
	}
	now := edit{Process: os.Getpid()}
	for _, c := range b.changes {
		file, err := recorded(filepath.Dir(root), c)
		if err != nil {
			return nil, err
		}
		now.Files = append(now.Files, file)
	}
	content, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return nil, err
	}
	name := editRecord(root)
	first := newBatch(editSuffix)
	defer first.discard()
	if err := first.replace(name, append(content, '\n')); err != nil {
		return nil, err
	}
	return func() { os.Remove(name) }, first.commit()
}

func recorded(folder string, c change) (file editedFile, err error) {
	content, err := input.ReadFile(c.path, input.Unlimited)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return editedFile{}, err
	}
	file.Old = sum(content)
	path, err := filepath.Abs(c.path)
	if err != nil {
		return editedFile{}, err
	}
	if folder, err = filepath.Abs(folder); err == nil {
		file.Path, err = filepath.Rel(folder, path)
	}
	return file, err
}

func sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// Resume completes a change of the files of a catalogue if the process was killed during it. It does
// nothing if there was none. If somebody has changed a file since, Resume leaves it alone and returns an
// error.
func Resume(root string) error {
	root, err := target(root)
	if err != nil {
		return nil // reading the catalogue will report it
	}
	name := editRecord(root)
	content, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	var record edit
	if err := json.Unmarshal(content, &record); err != nil {
		return fmt.Errorf("%s is not the record of a change that busgen has written: remove it (%w)", name, err)
	}
	if runs(record.Process) {
		return nil // that process is still at work
	}
	writing.Lock()
	defer writing.Unlock()
	for _, file := range record.Files {
		if err := file.resume(name, record.Process); err != nil {
			return err
		}
	}
	return os.Remove(name)
}

// resume only renames temporary files beside the file itself, because anybody can write an edit.
func (f editedFile) resume(record string, pid int) error {
	path := filepath.Join(filepath.Dir(record), f.Path)
	prepared := temporaryOf(pid, path, editSuffix)
	if _, err := os.Lstat(prepared); errors.Is(err, fs.ErrNotExist) {
		return nil // it was renamed already
	}
	have, err := input.ReadFile(path, input.Unlimited)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if sum(have) != f.Old {
		return fmt.Errorf("a change of the catalogue was killed before it was complete, and %s was changed since then: "+
			"take what you need from %s, and remove that file and %s", path, prepared, record)
	}
	return os.Rename(prepared, path)
}
