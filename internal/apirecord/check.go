package apirecord

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Check compares the exported API of the packages below a folder with the records in another
// folder, of which there is one file for each package. Each difference is an error of the test: what
// breaks programs, and what is new, so that every change of the API is seen in a diff. With update it
// writes the records instead.
//
// Each module has a test that calls Check with its own folder, because only there all of its
// dependencies are known.
func Check(t testing.TB, update bool, records, folder string) {
	t.Helper()
	dependOn(t, folder)
	packages, err := Load(folder, "./...")
	if err != nil {
		t.Fatal(err)
	}
	recorded, err := filepath.Glob(filepath.Join(records, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for path, p := range packages {
		name := strings.ReplaceAll(strings.TrimPrefix(path, "github.com/busgen/busgen/"), "/", "_")
		file := filepath.Join(records, name+".txt")
		now := List(p)
		if len(now) == 0 {
			continue // what is left of it tells users of old generated code what to do
		}
		if update {
			if err := write(file, now); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%s has no record: %v\n%s makes one.", path, err, again(records))
			continue
		}
		recorded = slices.DeleteFunc(recorded, func(r string) bool { return r == file })
		broken, added := Compare(strings.Split(strings.TrimSpace(string(text)), "\n"), now)
		if len(broken) > 0 {
			t.Errorf("%s: programs that use these do not compile any more, or do something else:\n\t%s\n"+
				"Keep them. If that is not possible, CHANGELOG.md says how programs adapt, and %s records it.",
				path, strings.Join(broken, "\n\t"), again(records))
		}
		if len(added) > 0 {
			t.Errorf("%s: these are not in the record, and are a promise from the next release on:\n\t%s\n%s records them.",
				path, strings.Join(added, "\n\t"), again(records))
		}
	}
	if !update && len(recorded) > 0 {
		t.Errorf("records of packages that are gone, which breaks programs: %v", recorded)
	}
}

// again is the command that writes the records. Other modules have tests with another flag -update.
func again(records string) string {
	if name := filepath.Base(records); name != "testdata" {
		return "go test . -run TestTheGoAPI -api.update, in the folder runtime/" + name + ","
	}
	return "go test ./internal/apirecord -update"
}

func write(file string, lines []string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666)
}

// dependOn makes go test run a test again when a source below a folder has changed. It cannot know
// what a process reads that the test starts.
func dependOn(t testing.TB, folder string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && (filepath.Ext(path) == ".go" || filepath.Ext(path) == "") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
