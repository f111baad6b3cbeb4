package release

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/busgen/busgen/internal/short"
)

// What users fetch is tried before there is a tag: a folder that serves as a module proxy has the modules of the commit, as
// the version that is to be tagged.

const (
	root = "github.com/busgen/busgen"
	next = "v0.1.0" // the version that is tried
)

// published are the modules with a tag of their own, by their folders.
var published = []string{"", "runtime/jetstream", "runtime/otel", "runtime/postgres", "runtime/prometheus"}

// tree returns the files of the commit in a folder: what is not committed is not there, nor is the history.
func tree(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	archive := exec.Command("git", "archive", "HEAD")
	archive.Dir = ".."
	out, err := archive.StdoutPipe()
	must(t, err)
	must(t, archive.Start())
	for r := tar.NewReader(out); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		to := filepath.Join(folder, header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			must(t, os.MkdirAll(to, 0o700))
		case tar.TypeReg:
			must(t, os.MkdirAll(filepath.Dir(to), 0o700))
			content, err := io.ReadAll(r)
			must(t, err)
			must(t, os.WriteFile(to, content, header.FileInfo().Mode()))
		}
	}
	must(t, archive.Wait())
	return folder
}

// require makes the modules of a tree need the version of each other that is to be tagged, as the commit with the tags has to.
// Their replace directives stay: they hold in the tree only.
func require(t *testing.T, tree string) {
	t.Helper()
	for _, of := range published[1:] {
		at := filepath.Join(tree, of, "go.mod")
		text, err := os.ReadFile(at)
		must(t, err)
		file, err := modfile.Parse(at, text, nil)
		must(t, err)
		must(t, file.AddRequire(root, next))
		text, err = file.Format()
		must(t, err)
		must(t, os.WriteFile(at, text, 0o600))
	}
}

// proxy returns a folder with the modules of a tree, in the way a module proxy serves them.
func proxy(t *testing.T, tree string) string {
	t.Helper()
	folder := t.TempDir()
	for _, of := range published {
		from, at := filepath.Join(tree, of), filepath.Join(folder, root, of, "@v")
		must(t, os.MkdirAll(at, 0o700))
		mod, err := os.ReadFile(filepath.Join(from, "go.mod"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(at, "list"), []byte(next+"\n"), 0o600))
		must(t, os.WriteFile(filepath.Join(at, next+".mod"), mod, 0o600))
		must(t, os.WriteFile(filepath.Join(at, next+".info"), []byte(`{"Version":"`+next+`","Time":"2026-01-01T00:00:00Z"}`), 0o600))
		file, err := os.Create(filepath.Join(at, next+".zip"))
		must(t, err)
		must(t, zip.CreateFromDir(file, module.Version{Path: path.Join(root, of), Version: next}, from))
		must(t, file.Close())
	}
	return folder
}

// user is somebody who has Go, and nothing of this project.
type user struct {
	*testing.T
	folder string
	env    []string
}

// newUser returns a user of a module proxy, who keeps modules in a folder. Other modules come from where they come from here,
// those that are here already from the disk.
func newUser(t *testing.T, proxy, modules string) user {
	t.Helper()
	folder := t.TempDir()
	of := func(name string) string {
		value, err := exec.Command("go", "env", name).Output()
		must(t, err)
		return strings.TrimSpace(string(value))
	}
	env := append(os.Environ(),
		"GOPROXY=file://"+proxy+",file://"+filepath.ToSlash(of("GOMODCACHE"))+"/cache/download,"+of("GOPROXY"),
		"GOMODCACHE="+modules, "GOBIN="+filepath.Join(folder, "bin"), "GONOSUMDB="+root,
		"GOFLAGS=-modcacherw -trimpath", "GOWORK=off", "GOTOOLCHAIN=local") // trimpath: else all is compiled for each folder
	must(t, os.Mkdir(filepath.Join(folder, "work"), 0o700))
	return user{t, filepath.Join(folder, "work"), env}
}

// run runs a command in the folder of the user, and returns what it says.
func (u user) run(command ...string) string {
	u.Helper()
	c := exec.Command(command[0], command[1:]...)
	c.Dir, c.Env = u.folder, u.env
	out, err := c.CombinedOutput()
	if err != nil {
		u.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

func (u user) write(name, text string) {
	u.Helper()
	must(u.T, os.WriteFile(filepath.Join(u.folder, name), []byte(text), 0o600))
}

func TestAUserInstallsAndGetsWhatIsToBeTagged(t *testing.T) {
	short.Skip(t, "it fetches and builds everything as somebody else")
	tree := tree(t)
	require(t, tree)
	served, modules := proxy(t, tree), t.TempDir()

	t.Run("go install", func(t *testing.T) {
		u := newUser(t, served, modules)
		u.run("go", "install", root+"/cmd/busgen@"+next)
		if says := u.run(filepath.Join(u.folder, "..", "bin", "busgen"), "version"); !strings.Contains(says, next) {
			t.Errorf("busgen version says %q, want %s", says, next)
		}
	})
	t.Run("go get -tool", func(t *testing.T) {
		u := newUser(t, served, modules)
		u.run("go", "mod", "init", "example.com/shop")
		u.run("go", "get", "-tool", root+"/cmd/busgen@"+next)
		u.run("go", "tool", "busgen", "init", "--service")
		u.run("go", "generate", "./...")
		u.run("go", "mod", "tidy")
		u.run("go", "vet", "./...")
		u.run("go", "test", "./...")
	})
	for _, of := range published[1:] {
		t.Run("go get "+of, func(t *testing.T) {
			u := newUser(t, served, modules)
			u.run("go", "mod", "init", "example.com/shop")
			u.write("main.go", "package main\n\nimport _ \""+path.Join(root, of)+"\"\n\nfunc main() {}\n")
			u.run("go", "get", path.Join(root, of)+"@"+next)
			u.run("go", "build", ".")
			if got := u.run("go", "list", "-m", root); !strings.Contains(got, next) {
				t.Errorf("it needs %q, want %s", got, next)
			}
		})
	}
}

// The archive of a commit has no history, and what looks at that has to do without.
func TestTheTreeWithoutItsHistoryBuildsAndPassesItsShortTests(t *testing.T) {
	short.Skip(t, "it runs the short tests once more")
	u := newUser(t, t.TempDir(), t.TempDir())
	u.folder = tree(t)
	u.run("go", "build", "./...")
	u.run("go", "vet", "./...")
	u.run("go", "test", "-vet=off", "-short", "-timeout", "20m", "./...")
}
