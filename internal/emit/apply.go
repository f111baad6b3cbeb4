package emit

import (
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
// old files or new files, never half of one. If something fails, or a signal ends the
// process, the folder has all of its old files or all of its new ones, and no temporary
// file stays behind. A process that is killed cannot do that; the next Apply
// removes what it has left.
//
// Nothing is written through a symbolic link that is in the folder. The folder itself may be one.
func (p *Plan) Apply() error {
	b := newBatch(newSuffix)
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

// checkLinks refuses files whose folder, below that of the plan, is a symbolic link.
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
