package main_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/architecture.md has a row for each folder of Go files, and no row for a folder
// that does not exist. Folders below examples and bench belong to these.
func TestTheMapHasEveryRoom(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for _, found := range regexp.MustCompile("(?m)^\\| `([a-z0-9/]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		rows[found[1]] = false
	}
	err = fs.WalkDir(os.DirFS(filepath.Join("..", "..")), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "testdata" || name != "." && strings.HasPrefix(name, ".") {
			return fs.SkipDir
		}
		sources, err := filepath.Glob(filepath.Join("..", "..", file, "*.go"))
		if _, ok := rows[file]; ok {
			rows[file] = true
			if file == "bench" || file == "examples" {
				return fs.SkipDir
			}
		} else if len(sources) > 0 && !strings.Contains(string(text), "`"+file+"`") && !strings.Contains(string(text), "`"+path.Base(file)+"`") {
			t.Errorf("docs/architecture.md does not name %s", file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for row, exists := range rows {
		if !exists {
			t.Errorf("docs/architecture.md names %s, which does not exist", row)
		}
	}
}
