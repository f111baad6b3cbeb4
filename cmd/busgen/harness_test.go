package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// result is what a user of the command sees.
type result struct {
	status         int
	stdout, stderr string
}

// busgen runs a command line in the current folder.
func busgen(t *testing.T, command string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), strings.Fields(command), strings.NewReader(""), &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

func (r result) wants(t *testing.T, status int, stdout, stderr string) {
	t.Helper()
	if want := (result{status, stdout, stderr}); r != want {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, r, cmp.AllowUnexported(result{})))
	}
}

// wantsErrors wants texts on stderr, in this order, and nothing on stdout.
func (r result) wantsErrors(t *testing.T, status int, texts ...string) {
	t.Helper()
	if r.status != status || r.stdout != "" {
		t.Errorf("status %d with %q on stdout, want %d with nothing", r.status, r.stdout, status)
	}
	rest := r.stderr
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("stderr lacks %q at its place:\n%s", text, r.stderr)
		}
		rest = after
	}
}

// inFolder makes files in a new folder and goes there for the test.
func inFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	age(t)
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	have, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(have, text...), 0o666); err != nil {
		t.Fatal(err)
	}
}

// age makes every file an hour old, so that a later write shows.
func age(t *testing.T) {
	t.Helper()
	hourAgo := time.Now().Add(-time.Hour)
	for name := range snapshot(t) {
		if err := os.Chtimes(name, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
}

type entry struct {
	Text     string
	Modified int64
}

// snapshot reads every file below the current folder, hidden ones included.
func snapshot(t *testing.T) map[string]entry {
	t.Helper()
	all := map[string]entry{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = entry{string(text), info.ModTime().UnixNano()}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// names lists the current folder.
func names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
