package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/lint"
)

// It grows with the number of events, not with its square, if a rule compares an event with its neighbours alone.
func BenchmarkLintOfManyEvents(b *testing.B) {
	var text strings.Builder
	text.WriteString("version: 1\npackage: p\nevents:\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "  e%d.happened: { payload: { id: uuid } }\n", i)
	}
	c, findings := parse.Text("events.yaml", []byte(text.String()))
	if c == nil {
		b.Fatal(findings)
	}
	read := func(string) ([]byte, error) { return []byte(text.String()), nil }
	for b.Loop() {
		if _, err := lint.Run(c, read); err != nil {
			b.Fatal(err)
		}
	}
}
