package recipes

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	quoted = regexp.MustCompile("(?s)```(?:go|yaml|sql|html)\n(.*?)```")
	linked = regexp.MustCompile(`\]\((\.\./\.\./[^)#]+)\)`)
)

// maxLines is how long a recipe may be.
const maxLines = 120

func TestEveryRecipeShowsAProgramThatATestRuns(t *testing.T) {
	pages, err := filepath.Glob("../../docs/recipes/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	programs, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	unused := map[string]bool{}
	for _, program := range programs {
		unused[filepath.Dir(program)] = true
		if _, err := os.Stat(filepath.Join(filepath.Dir(program), "main_test.go")); err != nil {
			t.Errorf("%s has no main_test.go beside it", program)
		}
	}
	for _, page := range pages {
		text := read(t, page)
		if n := strings.Count(text, "\n"); n > maxLines {
			t.Errorf("%s has %d lines, more than %d", page, n, maxLines)
		}
		source := read(t, "events.yaml")
		for _, link := range linked.FindAllStringSubmatch(text, -1) {
			source += texts(t, filepath.Join("../../docs/recipes", link[1]))
			delete(unused, filepath.Base(link[1]))
		}
		blocks := quoted.FindAllStringSubmatch(text, -1)
		if len(blocks) == 0 {
			t.Errorf("%s shows nothing of a program", page)
		}
		for _, block := range blocks {
			if !strings.Contains(source, block[1]) {
				t.Errorf("%s: no file that it links to has\n%s", page, block[1])
			}
		}
	}
	for name := range unused {
		t.Errorf("no recipe links to the program %s", name)
	}
}

// texts returns the files of a folder, or the one file, in a row.
func texts(t *testing.T, name string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(name, func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all.WriteString(read(t, file))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
