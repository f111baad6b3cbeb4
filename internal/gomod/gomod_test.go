package gomod_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/gomod"
)

func TestTheImportPathOfAFolderComesFromTheNearestGoMod(t *testing.T) {
	for _, test := range []struct{ name, goMod, dir, want string }{
		{"the module's own folder", "module github.com/acme/shop\n", ".", "github.com/acme/shop"},
		{"a folder below it", "module github.com/acme/shop\n", "internal/events", "github.com/acme/shop/internal/events"},
		{"a later version", "module github.com/acme/shop/v2\n", "events", "github.com/acme/shop/v2/events"},
		{"a path without a dot", "module shop\n", "events", "shop/events"},
		{"comments and quotes", "// the shop\n\nmodule \"github.com/acme/shop\" // of acme\n\ngo 1.26\n", "events", "github.com/acme/shop/events"},
		{"line ends of Windows", "module github.com/acme/shop\r\n\r\ngo 1.26\r\n", "events", "github.com/acme/shop/events"},
		{"dots in the path of the folder", "module shop\n", "a/../events/.", "shop/events"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "go.mod"), test.goMod)
			got, err := gomod.ImportPath(root + "/" + test.dir)
			if err != nil || got != test.want {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestAModuleInsideOfAnotherOneCounts(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module outer\n")
	write(t, filepath.Join(root, "inner", "go.mod"), "module inner.example/m\n")
	if err := os.Mkdir(filepath.Join(root, "inner", "events"), 0o777); err != nil {
		t.Fatal(err)
	}
	// A folder of that name is nothing to Go.
	if err := os.Mkdir(filepath.Join(root, "inner", "events", "go.mod"), 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := gomod.ImportPath(filepath.Join(root, "inner", "events")); err != nil || got != "inner.example/m/events" {
		t.Error(got, err)
	}
}

func TestARelativeFolderIsThatOfTheWorkingDirectory(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module shop\n")
	t.Chdir(root)
	for dir, want := range map[string]string{"": "shop", ".": "shop", "events": "shop/events"} {
		if got, err := gomod.ImportPath(dir); err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", dir, got, err, want)
		}
	}
}

func TestAFolderWithoutAnImportPathHasAReason(t *testing.T) {
	for _, test := range []struct{ name, goMod, dir, want string }{
		{"a go.mod without a module", "go 1.26\n", "events", `no line that begins with "module"`},
		{"a folder with a blank in its name", "module shop\n", "my events", "my events"},
		{"a folder with a character that import paths do not have", "module shop\n", "événements", "événements"},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			write(t, filepath.Join(root, "go.mod"), test.goMod)
			got, err := gomod.ImportPath(filepath.Join(root, test.dir))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, test.want)
			}
			if _, isNone := errors.AsType[*gomod.NoModuleError](err); isNone {
				t.Error("there is a module")
			}
		})
	}
}

func TestAFolderOutsideOfModulesHasNoImportPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "events")
	_, err := gomod.ImportPath(dir)
	none, ok := errors.AsType[*gomod.NoModuleError](err)
	if !ok || none.Dir != dir || !strings.Contains(err.Error(), "import_path") {
		t.Errorf("got %v", err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}
