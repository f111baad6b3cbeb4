package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheProgramOfTheReadmeRuns does what a newcomer does: it makes a module with the tool, runs
// the commands of the README, and runs its program.
func TestTheProgramOfTheReadmeRuns(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme := readIn(t, root, "README.md")
	program := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	if program == nil || !strings.Contains(string(readme), "    go tool busgen init\n") || !strings.Contains(string(readme), "`go generate ./... && go run .`") {
		t.Fatal("the README has no program, or other commands than this test runs")
	}
	folder := t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golang := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	write("go.mod", readIn(t, root, "go.mod"))
	write("go.sum", readIn(t, root, "go.sum"))
	golang("mod", "edit", "-module=example.com/shop", "-require=github.com/busgen/busgen@v0.0.0", "-replace=github.com/busgen/busgen="+root)
	golang("tool", "busgen", "init")
	golang("generate", "./...")
	write("main.go", program[1])
	for range 2 { // with a new file, and with the one of the first run
		if out := golang("run", "."); !strings.Contains(out, "a receipt for ada@example.org\n") {
			t.Errorf("the program printed\n%s", out)
		}
	}
}
