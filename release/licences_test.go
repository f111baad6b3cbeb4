package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/short"
)

var updateLicences = flag.Bool("update", false, "write licences.txt anew")

// licences are those that dependencies may have, by a sentence that only they have.
var licences = []struct{ name, says string }{
	{"Apache-2.0", "Apache License Version 2.0, January 2004"},
	{"MIT-0", "MIT No Attribution"},
	{"MIT", "The above copyright notice and this permission notice shall be included in all copies"},
	{"BSD-3-Clause", "may be used to endorse or promote products derived from this software"},
}

// Users who compile a published module compile these, and the archives of a release have them.
func TestTheLicencesOfAllDependenciesAreListed(t *testing.T) {
	short.Visit(t, "go list of five modules")
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere other modules are compiled in")
	}
	var list strings.Builder
	for _, of := range append(slices.Clone(published), "runtime/postgres/cmd") {
		for _, line := range dependencies(t, filepath.Join("..", of)) {
			fmt.Fprintf(&list, "%s: %s\n", "busgen/"+of, line)
		}
	}
	got := strings.ReplaceAll(list.String(), "busgen/:", "busgen:")
	if *updateLicences {
		must(t, os.WriteFile("licences.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("licences.txt")
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("go test ./release -run Licences -update writes licences.txt (-there +found):\n%s", diff)
	}
}

// dependencies returns a line for each module that is compiled into the packages that a module has for users.
func dependencies(t *testing.T, folder string) (lines []string) {
	t.Helper()
	list := func(args ...string) []byte {
		command := exec.Command("go", append([]string{"list"}, args...)...)
		command.Dir, command.Stderr = folder, os.Stderr
		out, err := command.Output()
		must(t, err)
		return out
	}
	args := []string{"-deps", "-json=Module"}
	for _, one := range strings.Fields(string(list("./..."))) {
		if !regexp.MustCompile("/(internal|bench|examples|testdata)(/|$)").MatchString(one) {
			args = append(args, one)
		}
	}
	out := list(args...)
	for packages := json.NewDecoder(bytes.NewReader(out)); ; {
		var one struct {
			Module *struct{ Path, Version, Dir string }
		}
		if err := packages.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else {
			must(t, err)
		}
		if m := one.Module; m != nil && !strings.HasPrefix(m.Path, root) {
			lines = append(lines, m.Path+" "+m.Version+" "+licence(t, m.Path, m.Dir))
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func licence(t *testing.T, module, folder string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "LICEN[SC]E*"))
	must(t, err)
	for _, name := range found {
		text, err := os.ReadFile(name)
		must(t, err)
		plain := regexp.MustCompile(`[\s*]+`).ReplaceAllString(string(text), " ")
		for _, l := range licences {
			if strings.Contains(plain, l.says) {
				return l.name
			}
		}
	}
	t.Errorf("%s has no licence that is known here (%v)", module, found)
	return "?"
}
