package runtimetest_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Only tests may be slowed down by what only tests need.
func TestProgramsDoNotCompileWhatIsForTests(t *testing.T) {
	const module = "github.com/busgen/busgen/"
	compiled := func(packages ...string) []string {
		out, err := exec.Command("go", append([]string{"list", "-deps"}, packages...)...).Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		return strings.Fields(string(out))
	}
	deps := compiled(module+"runtime", module+"runtime/inspect", module+"runtime/tuning", module+"examples/generated")
	for _, path := range []string{"net/http", "html/template", module + "runtime/inspect/page"} {
		if slices.Contains(deps, path) {
			t.Errorf("programs that do not mount the page for operators compile %s", path)
		}
	}
	deps = compiled(module + "examples/shop") // which mounts the page
	for _, path := range []string{"testing", "testing/synctest", module + "runtime/runtimetest", module + "runtime/internal/simfs"} {
		if slices.Contains(deps, path) {
			t.Errorf("programs compile %s", path)
		}
	}
	if !slices.Contains(deps, module+"runtime/internal/sqlite") {
		t.Errorf("go list has printed %d packages, without the engine", len(deps))
	}
}
