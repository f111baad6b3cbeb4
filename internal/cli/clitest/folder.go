package clitest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// InFolder makes files in a new folder, and goes there for the test.
func InFolder(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	Age(t)
}

// AppendTo adds text to a file, or makes it.
func AppendTo(t *testing.T, name, text string) {
	t.Helper()
	have, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, append(have, text...), 0o666); err != nil {
		t.Fatal(err)
	}
}

// Age makes every file an hour old, so that a later write shows.
func Age(t *testing.T) {
	t.Helper()
	hourAgo := time.Now().Add(-time.Hour)
	for name := range Snapshot(t) {
		if err := os.Chtimes(name, hourAgo, hourAgo); err != nil {
			t.Fatal(err)
		}
	}
}

// Entry is a file with its content.
type Entry struct {
	Text     string
	Modified int64
}

// Snapshot reads every file below the current folder, hidden ones included.
func Snapshot(t *testing.T) map[string]Entry {
	t.Helper()
	all := map[string]Entry{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = Entry{string(text), info.ModTime().UnixNano()}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// Names lists the current folder.
func Names(t *testing.T) []string {
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

// Text reads a file.
func Text(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	Must(t, err)
	return string(content)
}

// Must ends the test if there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
