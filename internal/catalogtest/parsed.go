package catalogtest

import (
	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// Parsed reads a catalogue that is one file, and fails the test if it has findings.
func Parsed(t interface {
	Helper()
	Fatal(args ...any)
}, text string) *catalog.Catalogue {
	t.Helper()
	c, findings := parse.Text("events.yaml", []byte(text))
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return c
}
