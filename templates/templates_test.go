package templates

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// here is where the code of the tests seems to be.
var here = Target{ImportPath: "example.com/shop/events"}

// parse reads a catalogue without its version and package.
func parsed(t testing.TB, body string) *catalog.Catalogue {
	t.Helper()
	return parseFile(t, "events.yaml", []byte("version: 1\npackage: events\n"+body))
}

func parseFile(t testing.TB, file string, text []byte) *catalog.Catalogue {
	t.Helper()
	c, findings := parse.Text(file, text)
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return c
}

// emits compares Go code with what it should look like; indentation and blank
// lines around want do not count.
func emits(t *testing.T, want string, code ...jen.Code) {
	t.Helper()
	var got []string
	for _, c := range code {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%#v", jen.Add(c))))
	}
	if diff := cmp.Diff(strings.TrimSpace(want), strings.Join(got, "\n\n")); diff != "" {
		t.Errorf("emitted (-want +got):\n%s", diff)
	}
}

// packageNamed is a catalogue without anything but its package.
func packageNamed(name string) *catalog.Catalogue {
	return &catalog.Catalogue{Package: catalog.Value[string]{V: name}}
}
