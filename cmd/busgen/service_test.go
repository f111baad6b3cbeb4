package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
)

// TestTheServiceThatInitWritesIsBuiltAndTested does what init --service says comes next, but that the module is this folder.
func TestTheServiceThatInitWritesIsBuiltAndTested(t *testing.T) {
	short.Skip(t, "a program is compiled, and its tests are run")
	root, err := filepath.Abs("../..")
	must(t, err)
	folder := filepath.Join(t.TempDir(), "My_Shop")
	must(t, os.Mkdir(folder, 0o700))
	run := func(command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", command)
		cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		must(t, os.WriteFile(filepath.Join(folder, name), readIn(t, root, name), 0o600))
	}
	run("go mod edit -module=example.org/My_Shop -require=github.com/busgen/busgen@v0.0.0 -replace=github.com/busgen/busgen=" + root + " -tool=github.com/busgen/busgen/cmd/busgen")
	said := run("go tool busgen init --service")
	_, next, found := strings.Cut(said, "\nNext:\n")
	if !found || strings.Contains(next, "go get") {
		t.Fatalf("it says\n%s", said)
	}
	for command := range strings.Lines(next) {
		if command = strings.TrimSpace(command); command != "go run ." {
			run(command)
		}
	}
	if out := run("gofmt -l . && go vet ./... && go build -o /dev/null . && go tool busgen lint events/events.yaml"); out != "" {
		t.Error(out)
	}
	for _, name := range []string{"my-shop.service", "Dockerfile", "main.go"} {
		if text := string(readIn(t, folder, name)); strings.Contains(text, "NAME") || strings.Contains(text, "MODULE") || !strings.Contains(text, "my-shop") {
			t.Errorf("%s is not filled in:\n%s", name, text)
		}
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "go tool busgen init --service")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "exist already, so nothing was written") {
		t.Errorf("a second time: %v\n%s", err, out)
	}
}
