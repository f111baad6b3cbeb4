package handbook

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// claims finds the pages whose commands a test runs.
var claims = regexp.MustCompile(`handbook\.Runs\([\w.]+, "([^"]+)"\)`)

func TestEveryCommandIsRunByATestOrHasAReason(t *testing.T) {
	root, err := Root()
	must(t, err)
	pages, err := Pages(root)
	must(t, err)
	runners := claimed(t, root)
	unused := listed()
	for command, reason := range unused {
		if reason == "" {
			t.Errorf("notrun.txt has no reason below\n%s", command)
		}
	}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		must(t, err)
		commands := Commands(page, string(text))
		for _, c := range commands {
			_, excused := listed()[c.key()]
			delete(unused, c.key())
			if !excused && len(runners[page]) == 0 {
				t.Errorf("%s\nis run by no test. Run it in one that calls handbook.Runs(t, %q), or say in notrun.txt why not", c, page)
			}
		}
		if len(commands) == 0 && len(runners[page]) > 0 {
			t.Errorf("%s has no commands for %v to run", page, runners[page])
		}
		delete(runners, page)
	}
	for command := range unused {
		t.Errorf("notrun.txt has\n%s\nand the page has no such command", command)
	}
	for page, files := range runners {
		t.Errorf("%v run the commands of %s, which does not exist", files, page)
	}
}

// claimed returns the files with tests that run a page, by the name of the page: those of this
// module, because CI does not run all tests of others.
func claimed(t *testing.T, root string) map[string][]string {
	t.Helper()
	runners := map[string][]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			_, other := os.Stat(filepath.Join(root, name, "go.mod"))
			if name != "." && (other == nil || strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/handbook/") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		for _, found := range claims.FindAllStringSubmatch(string(text), -1) {
			runners[found[1]] = append(runners[found[1]], name)
		}
		return err
	})
	must(t, err)
	return runners
}

func TestCommandsAreFoundInEveryFormThatPagesHave(t *testing.T) {
	page := "Text with `busgen status`.\n\n    go mod init shop\n    GROUP COUNT\n    $ busgen dlq groups shop.db\n\n    go mod tidy\n\n" +
		"    bus.Start(ctx)\n\n* a list:\n    go on with this sentence\n\n```console\n$ busgen status shop.db\n$5\n```\n\n" +
		"```sh\n#!/bin/sh\n\nset -eu\n```\n\n```go\n$ x\n    go x\n```\n```yaml\n    go x\n```\n"
	var got []string
	for _, c := range Commands("p", page) {
		got = append(got, fmt.Sprintf("%d %s", c.Line, c.Text))
	}
	want := []string{"3 go mod init shop", "5 busgen dlq groups shop.db", "7 go mod tidy", "15 busgen status shop.db", "22 set -eu", "26 x"}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// witness is a test whose end is watched.
type witness struct {
	testing.TB
	cleanup func()
	errors  []string
}

func (w *witness) Helper()                      {}
func (w *witness) Failed() bool                 { return false }
func (w *witness) Skipped() bool                { return false }
func (w *witness) Cleanup(f func())             { w.cleanup = f }
func (w *witness) Errorf(f string, args ...any) { w.errors = append(w.errors, fmt.Sprintf(f, args...)) }

func TestATestThatLeavesOutACommandFails(t *testing.T) {
	const page = "docs/tools.md" // it has a command that is not run
	w := &witness{TB: t}
	Runs(w, page).Commands()
	if w.cleanup(); len(w.errors) > 0 {
		t.Errorf("all are run: %q", w.errors)
	}
	w = &witness{TB: t}
	r := Runs(w, page)
	r.Commands()
	delete(r.ran, r.commands[0].Text)
	for command := range listed() {
		if text, found := strings.CutPrefix(command, page+": "); found {
			r.Ran(text)
		}
	}
	w.cleanup()
	if all := strings.Join(w.errors, "\n"); len(w.errors) < 2 || !strings.Contains(all, "is not run, and") || !strings.Contains(all, "is run: remove it") {
		t.Errorf("%q", w.errors)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
