// Package gomod finds the Go import path of a folder, and the tools of its module. It reads go.mod as
// text: it loads no package, so none has to compile.
package gomod

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/busgen/busgen/internal/input"
)

// ImportPath returns the import path of the package in dir, according to the go.mod in dir or the nearest
// one above. Neither dir nor the folders between have to exist.
//
// The error is a *[NoModuleError] if there is no go.mod. Other errors say what is wrong with that file, or
// which folder has a name that no package can have.
func ImportPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot tell the Go import path of %s: %w", dir, err)
	}
	root, found := findModule(abs)
	if !found {
		return "", &NoModuleError{Dir: dir}
	}
	file := filepath.Join(root, goMod)
	content, err := input.ReadFile(file, maxModule)
	if err != nil {
		return "", fmt.Errorf("cannot tell the Go import path of %s: %w", dir, err)
	}
	modulePath := modfile.ModulePath(content)
	if modulePath == "" {
		return "", fmt.Errorf("cannot tell the Go import path of %s: %s has no line that begins with \"module\"", dir, file)
	}
	below, err := filepath.Rel(root, abs)
	if err != nil {
		return "", fmt.Errorf("cannot tell the Go import path of %s: %w", dir, err)
	}
	whole := path.Join(modulePath, filepath.ToSlash(below))
	if err := module.CheckImportPath(whole); err != nil {
		return "", fmt.Errorf("no Go package can be imported from %s: %w", dir, err)
	}
	return whole, nil
}

// Tools returns the paths of the commands that "go tool" runs in the module of dir, and whether there is a
// module. A go.mod that Go cannot read has no tools.
func Tools(dir string) (paths []string, inModule bool) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, false
	}
	root, found := findModule(abs)
	if !found {
		return nil, false
	}
	file := filepath.Join(root, goMod)
	content, err := input.ReadFile(file, maxModule)
	if err != nil {
		return nil, true
	}
	if parsed, err := modfile.Parse(file, content, nil); err == nil {
		for _, tool := range parsed.Tool {
			paths = append(paths, tool.Path)
		}
	}
	return paths, true
}

const goMod = "go.mod"

// maxModule is the largest size of a go.mod in bytes, the same as in Go's module proxy.
const maxModule = 16 << 20

// findModule returns the nearest folder with a go.mod, from dir upwards.
func findModule(dir string) (root string, found bool) {
	for root = dir; ; root = filepath.Dir(root) {
		if info, err := os.Stat(filepath.Join(root, goMod)); err == nil && !info.IsDir() {
			return root, true
		}
		if root == filepath.Dir(root) {
			return "", false
		}
	}
}

// NoModuleError reports a folder that is in no Go module.
type NoModuleError struct{ Dir string }

// Error says what to do.
func (e *NoModuleError) Error() string {
	return fmt.Sprintf("cannot tell the Go import path of %s, because there is no go.mod in it or above: "+
		"run \"go mod init\", or write import_path into the catalogue", e.Dir)
}
