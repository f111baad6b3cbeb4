package compiletest

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/templates"
)

// The import paths of the generated package, and of another one that was generated from the same catalogue.
const (
	eventsPath = "example.com/shop/events"
	otherPath  = "example.com/other"
)

// importConfig returns the lines that tell the compiler where the compiled
// form of each package lies that generated code and the programs import.
var importConfig = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "list", "-deps", "-export",
		"-f", "{{if .Export}}packagefile {{.ImportPath}}={{.Export}}{{end}}",
		"github.com/busgen/busgen/runtime", "github.com/busgen/busgen/runtime/gen/bind", "github.com/busgen/busgen/runtime/gen/deep", "github.com/busgen/busgen/runtime/runtimetest",
		"testing", "maps", "regexp", "slices").Output()
	return string(out), err
})

// compile compiles the files, by name, into one package. It returns the
// compiled form, or what the compiler has to say. imports are packages beside
// those of importConfig.
//
// The output is always a file of the temporary folder: a compiler that fails
// deletes its output, and would delete a device like os.DevNull just as well.
func compile(t *testing.T, importPath string, files, imports map[string]string) (object string, found []complaint) {
	t.Helper()
	config, err := importConfig()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for path, file := range imports {
		config += "packagefile " + path + "=" + file + "\n"
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "importcfg"), config)
	args := []string{"tool", "compile", "-p", importPath, "-importcfg", "importcfg", "-o", "package.o"}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		write(t, filepath.Join(dir, name), files[name])
		args = append(args, name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("go tool compile: %v", err)
	}
	if err != nil {
		return "", complaints(t, out)
	}
	return filepath.Join(dir, "package.o"), nil
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A complaint is one error of the compiler.
type complaint struct {
	file    string
	line    int
	message string // its further lines joined by a space
}

var complaintLine = regexp.MustCompile(`^([^:\s]+):(\d+):\d+: (.*)$`)

// complaints parses the output of a compiler that has failed.
func complaints(t *testing.T, output []byte) (found []complaint) {
	t.Helper()
	for line := range bytes.Lines(output) {
		text := strings.TrimRight(string(line), "\n")
		switch m := complaintLine.FindStringSubmatch(text); {
		case m != nil:
			n, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, complaint{file: m[1], line: n, message: m[3]})
		case strings.HasPrefix(text, "\t") && len(found) > 0:
			found[len(found)-1].message += " " + strings.TrimSpace(text)
		default:
			t.Fatalf("the compiler failed in another way than by errors in a file:\n%s", output)
		}
	}
	if found == nil {
		t.Fatal("the compiler failed and said nothing")
	}
	return found
}

// generated returns the package that busgen makes of testdata/events.yaml, by
// file name.
func generated(t *testing.T) map[string]string {
	t.Helper()
	events, _ := generatedWithKit(t)
	return events
}

// generatedWithKit returns the package for tests, too.
func generatedWithKit(t *testing.T) (events, kit map[string]string) {
	t.Helper()
	c, findings, err := parse.Load("testdata/events.yaml")
	if err != nil || len(findings) > 0 {
		t.Fatal(err, findings)
	}
	emitted, err := templates.Files(c, templates.Target{ImportPath: eventsPath})
	if err != nil {
		t.Fatal(err)
	}
	events, kit = map[string]string{}, map[string]string{}
	for _, file := range emitted {
		if name, isKit := strings.CutPrefix(file.Name, "eventstest/"); isKit {
			kit[name] = string(file.Content)
		} else {
			events[file.Name] = string(file.Content)
		}
	}
	return events, kit
}

// requireNone checks that the compiler has no complaint.
func requireNone(t *testing.T, found []complaint) {
	t.Helper()
	for _, c := range found {
		t.Errorf("%s:%d: %s", c.file, c.line, c.message)
	}
	if t.Failed() {
		t.FailNow()
	}
}

// requireOne checks that the compiler has one complaint, about that line, and
// that it says what is wrong.
func requireOne(t *testing.T, found []complaint, file string, line int, says ...string) {
	t.Helper()
	if len(found) != 1 {
		t.Fatalf("the compiler should have one complaint, about %s:%d; it has %d: %+v", file, line, len(found), found)
	}
	c := found[0]
	t.Log(c.message)
	if c.file != file || c.line != line {
		t.Errorf("the complaint is about %s:%d, the mistake is at %s:%d", c.file, c.line, file, line)
	}
	for _, part := range says {
		if !strings.Contains(c.message, part) {
			t.Errorf("the message should have %q: %s", part, c.message)
		}
	}
}

// change returns files with one piece of text replaced, and the line number
// where it was. It must be there exactly once: otherwise a test would prove
// something else than it says.
func change(t *testing.T, files map[string]string, name, from, to string) (map[string]string, int) {
	t.Helper()
	before, after, found := strings.Cut(files[name], from)
	if !found || strings.Contains(after, from) {
		t.Fatalf("%s should have %q once, to be replaced", name, from)
	}
	changed := maps.Clone(files)
	changed[name] = before + to + after
	return changed, 1 + strings.Count(before, "\n")
}
