package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"
)

func TestTheLargeCatalogueHasAThousandEventsAndTenThousandFields(t *testing.T) {
	c, findings := parse.Text("events.yaml", manyEvents(1000))
	if findings != nil {
		t.Fatal(findings)
	}
	fields := 0
	for _, e := range c.Events {
		fields += len(e.Fields)
	}
	if len(c.Events) != 1000 || fields != 10_000 {
		t.Errorf("%d events with %d fields", len(c.Events), fields)
	}
}

func TestASecondRunTouchesNothing(t *testing.T) {
	short.Visit(t, "it measures")
	path, folder := filepath.Join(t.TempDir(), "events.yaml"), t.TempDir()
	if err := os.WriteFile(path, manyEvents(1000), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := generate(path, folder); err != nil {
		t.Fatal(err)
	}
	long := time.Date(2024, 2, 29, 12, 30, 0, 0, time.UTC)
	first := contents(t, folder)
	for name := range first {
		if err := os.Chtimes(filepath.Join(folder, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(folder, long, long); err != nil { // that of a folder changes with a temporary file in it
		t.Fatal(err)
	}

	_, plan, err := generate(path, folder)
	if err != nil {
		t.Fatal(err)
	}
	if !plan.UpToDate() {
		t.Error("the second run had something to do")
	}
	if diff := cmp.Diff(first, contents(t, folder)); diff != "" {
		t.Error("the second run has changed the files")
	}
	if len(first) == 0 {
		t.Error("nothing was generated")
	}
	for _, touched := range append(names(first), "") {
		switch info, err := os.Stat(filepath.Join(folder, touched)); {
		case err != nil:
			t.Error(err)
		case !info.ModTime().Equal(long):
			t.Errorf("the second run has touched %q", touched)
		}
	}
}

// contents are the files of a folder.
func contents(t *testing.T, folder string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[entry.Name()] = string(text)
	}
	return all
}

func names(files map[string]string) (all []string) {
	for name := range files {
		all = append(all, name)
	}
	return all
}
