package emit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Apply does what the plan says, and creates the folder if there is none. A folder
// below that is empty without what was generated is removed.
//
// All new bytes are on disk under temporary names before the first file is
// replaced, and each replacement is a rename: whoever reads the folder sees
// old files or new files, never half of one. If something fails before the
// first rename the folder is as it was; if a rename fails the error lists the
// files that were already replaced. No temporary file stays behind.
func (p *Plan) Apply() (err error) {
	if err := os.MkdirAll(p.Dir, 0o777); err != nil {
		return fmt.Errorf("cannot create the output folder: %w", err)
	}
	staged := map[string]string{} // path → temporary path
	defer func() {
		for _, temporary := range staged {
			err = errors.Join(err, os.Remove(temporary))
		}
	}()
	for _, step := range p.Steps {
		if step.State != Missing && step.State != Changed {
			continue
		}
		path := filepath.Join(p.Dir, step.File.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return fmt.Errorf("cannot create a folder; no file was changed: %w", err)
		}
		temporary, err := stage(path, step.File.Content)
		if err != nil {
			return fmt.Errorf("cannot write %s; no file was changed: %w", path, err)
		}
		staged[path] = temporary
	}
	return p.commit(staged)
}

// commit renames what was staged into place, then removes the orphans.
func (p *Plan) commit(staged map[string]string) error {
	var done []string
	for _, step := range p.Steps {
		path := filepath.Join(p.Dir, step.File.Name)
		var err error
		switch step.State {
		case Same:
			continue
		case Orphaned:
			if err = os.Remove(path); strings.Contains(step.File.Name, "/") {
				os.Remove(filepath.Dir(path)) // fails if something else is in it
			}
		default:
			if err = os.Rename(staged[path], path); err == nil {
				delete(staged, path)
			}
		}
		if err != nil {
			return fmt.Errorf("%s could not be updated (%s): %w", path, progress(done), err)
		}
		done = append(done, step.File.Name)
	}
	return nil
}

func progress(done []string) string {
	if len(done) == 0 {
		return "no file was changed"
	}
	return "already updated: " + strings.Join(done, ", ")
}

// stage writes content beside path, under a name that Go's tools ignore.
func stage(path string, content []byte) (temporary string, err error) {
	dir, name := filepath.Split(path)
	temporary = filepath.Join(dir, fmt.Sprintf(".%s.%d.tmp", name, os.Getpid()))
	return temporary, writeSynced(temporary, content, os.O_TRUNC)
}

// writeSynced writes a file and waits until it is on disk; a file that could
// not be written completely is removed.
func writeSynced(path string, content []byte, flag int) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
