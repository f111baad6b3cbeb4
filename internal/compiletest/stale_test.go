package compiletest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/runtime"
)

func TestGeneratedCodeOfThisVersionCompiles(t *testing.T) {
	_, found := compile(t, eventsPath, generated(t), nil)
	requireNone(t, found)
}

// The compiler can only say that a number overflows; the comment above the
// line that it points at says what to do.
func TestGeneratedCodeThatHasDriftedFromTheRuntimeDoesNotCompile(t *testing.T) {
	const file = "catalogue.gen.go"
	tests := map[string]struct {
		contract int
		advice   string
	}{
		"older than the runtime understands": {
			contract: runtime.OldestContract - 1,
			advice:   "run go generate",
		},
		"newer than the runtime": {
			contract: runtime.NewestContract + 1,
			advice:   "run go get -u github.com/busgen/busgen",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files, _ := change(t, generated(t), file,
				fmt.Sprintf("const contract = %d\n", runtime.NewestContract),
				fmt.Sprintf("const contract = %d\n", test.contract))
			above, _, found := strings.Cut(files[file], test.advice)
			if !found {
				t.Fatalf("%s should have a comment with %q", file, test.advice)
			}
			line := 2 + strings.Count(above, "\n") // the one below the comment
			_, complaints := compile(t, eventsPath, files, nil)
			requireOne(t, complaints, file, line, "constant -1 overflows", "FitsGenerated")
		})
	}
}
