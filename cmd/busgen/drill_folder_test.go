package main

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// drill is the folder in which one change is made, with a repository of its own.
type drill struct {
	t         *testing.T
	name      string // of the change
	folder    string // of the catalogue, and of its code unless out is another one
	out       string
	catalogue string
}

// newDrill makes the folder and goes there.
func (m *drillModule) newDrill(t *testing.T, name string) *drill {
	t.Helper()
	d := &drill{t: t, name: name, folder: "events", catalogue: "events.yaml"}
	inFolder(t, map[string]string{"events/events.yaml": string(drillFile("before.yaml")), "events/upcasts.go": string(drillFile("upcasts.go"))})
	d.git("init", "-q", "-b", "main")
	busgen(t, "-q "+d.events()).Wants(t, 0, "", "")
	d.commit()
	return d
}

// inDrillFolder runs f beside a catalogue, outside of a repository.
func inDrillFolder(t *testing.T, text []byte, f func()) {
	t.Helper()
	here, err := os.Getwd()
	must(t, err)
	folder := t.TempDir()
	must(t, errors.Join(os.Mkdir(filepath.Join(folder, "events"), 0o777), os.WriteFile(filepath.Join(folder, "events", "events.yaml"), text, 0o666)))
	must(t, os.Chdir(folder))
	defer os.Chdir(here)
	f()
}

// events is the path of the catalogue.
func (d *drill) events() string { return d.folder + "/" + d.catalogue }

// args are the catalogue and where its code goes.
func (d *drill) args() string {
	if d.out == "" {
		return d.events()
	}
	return d.events() + " --out " + d.out
}

// removeCode removes all that was generated.
func (d *drill) removeCode() {
	d.t.Helper()
	d.git("rm", "-rqf", "--ignore-unmatch", "events/wire.golden", "events/eventstest", "events/*.gen.go")
}

func (d *drill) git(args ...string) {
	d.t.Helper()
	if out, err := gitCommand(args...).CombinedOutput(); err != nil {
		d.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func gitCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	return cmd
}

// commit checks in all that is there.
func (d *drill) commit() {
	d.t.Helper()
	d.git("add", "-A")
	d.git("commit", "-q", "--allow-empty", "-m", "a change")
}

// generated generates and checks in.
func (d *drill) generated() {
	d.t.Helper()
	if got := busgen(d.t, "-q "+d.args()); got.Status != 0 {
		d.t.Fatalf("generate: %+v", got)
	}
	d.commit()
}

// accepted generates what is refused otherwise, and checks in.
func (d *drill) accepted() {
	d.t.Helper()
	if got := busgen(d.t, "-q --accept-wire "+d.args()); got.Status != 0 {
		d.t.Fatalf("generate --accept-wire: %+v", got)
	}
	d.commit()
}

// merge begins to merge a branch, with conflicts.
func (d *drill) merge(branch string) {
	d.t.Helper()
	out, _ := gitCommand("merge", "--no-commit", branch).CombinedOutput() // which fails where there is a conflict
	if _, err := os.Stat(".git/MERGE_HEAD"); err != nil {
		d.t.Fatalf("no merge: %s", out)
	}
}

// resolve takes both sides of each conflict in the catalogue.
func (d *drill) resolve() {
	d.t.Helper()
	var lines []string
	for line := range strings.Lines(read(d.t, d.events())) {
		if !strings.HasPrefix(line, "<<<<<<<") && !strings.HasPrefix(line, "=======") && !strings.HasPrefix(line, ">>>>>>>") {
			lines = append(lines, line)
		}
	}
	d.write(d.events(), strings.Join(lines, ""))
}

func (d *drill) checkoutOurs(path string) {
	d.t.Helper()
	d.git("checkout", "HEAD", "--", path)
}

// replace changes a text of the catalogue that is there once.
func (d *drill) replace(old, now string) {
	d.t.Helper()
	text := read(d.t, d.events())
	if n := strings.Count(text, old); n != 1 {
		d.t.Fatalf("%q is there %d times:\n%s", old, n, text)
	}
	d.write(d.events(), strings.Replace(text, old, now, 1))
}

func (d *drill) removeEvent(name string) {
	d.t.Helper()
	d.replace(eventIn(name).FindString(read(d.t, d.events())), "")
}

func (d *drill) write(path, text string) {
	d.t.Helper()
	must(d.t, os.WriteFile(path, []byte(text), 0o666))
}

func (d *drill) remove(path string) {
	d.t.Helper()
	must(d.t, os.Remove(path))
}

//go:embed testdata/drill
var drillFiles embed.FS

func drillFile(name string) []byte {
	text, err := drillFiles.ReadFile("testdata/drill/" + name)
	if err != nil {
		panic(err)
	}
	return text
}

// eventIn finds the lines of an event in the catalogue.
func eventIn(name string) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`(?m)^  %s:\n(    .*\n)*`, regexp.QuoteMeta(name)))
}
