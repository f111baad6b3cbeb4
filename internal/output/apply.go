package output

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Apply carries out the plan. It creates the folder if there is none, and removes a subfolder that is
// empty after its generated files are gone.
//
// All new bytes are on disk under temporary names before the first file is replaced, and each
// replacement is a rename, so readers see old files or new files, never half of one. If something fails,
// or a signal ends the process, the folder has all of its old files or all of its new ones, and no
// temporary files. A killed process can leave temporary files, which the next Apply removes.
//
// Apply does not write through symbolic links inside the folder. The folder itself may be one.
func (p *Plan) Apply() error {
	b := newBatch()
	defer b.discard()
	b.sweep(p.Dir)
	for _, step := range p.Steps {
		if step.State == Same {
			continue
		}
		path := filepath.Join(p.Dir, step.File.Name)
		err := p.checkLinks(step.File.Name)
		switch {
		case err != nil:
		case step.State == Orphaned:
			err = b.remove(path)
		default:
			err = b.replace(path, step.File.Content)
		}
		if err != nil {
			return fmt.Errorf("cannot write %s; no file was changed: %w", path, err)
		}
	}
	if err := b.commit(); err != nil {
		return err
	}
	for _, step := range p.Steps {
		if step.State == Orphaned && strings.Contains(step.File.Name, "/") {
			os.Remove(filepath.Dir(filepath.Join(p.Dir, step.File.Name))) // fails if something else is in it
		}
	}
	return nil
}

// checkLinks returns an error if a folder of the file, below that of the plan, is a symbolic link.
func (p *Plan) checkLinks(name string) error {
	folders := strings.Split(name, "/")
	for i := 1; i < len(folders); i++ {
		path := filepath.Join(p.Dir, filepath.Join(folders[:i]...))
		if isLink(path) {
			return linkError(path)
		}
	}
	return nil
}
