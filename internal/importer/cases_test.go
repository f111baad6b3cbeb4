package importer_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/importer"
)

var update = flag.Bool("update", false, "accept what comes of each case now")

// Each folder in testdata/cases has a document, what is found in it, and the catalogue that
// comes of it, if one does.
func TestCases(t *testing.T) {
	folders, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(folders) < 8 {
		t.Fatalf("%d cases, %v", len(folders), err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			result := imported(t, folder)
			requireLoads(t, result)
			compare(t, filepath.Join(folder, "findings.golden"), rendered(result))
			compare(t, filepath.Join(folder, "events.yaml.golden"), string(result.Catalogue))
		})
	}
}

// imported imports the document in a folder.
func imported(t testing.TB, folder string) *importer.Result {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(folder, "*.[jy]*"))
	for _, path := range paths {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return importer.Import(filepath.Base(path), source, importer.Options{RenameKeys: true})
	}
	t.Fatalf("%s has no document", folder)
	return nil
}

// rendered shows findings as the command does.
func rendered(r *importer.Result) string {
	var b bytes.Buffer
	r.Findings.Render(&b)
	return b.String()
}

// compare compares with a golden file, which is not there for an empty text.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		os.Remove(path)
		if got != "" {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil && got != "" {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, -update accepts it (-want +got):\n%s", path, diff)
	}
}

// Thousands of findings that say the same are one.
func TestEqualFindingsAreOne(t *testing.T) {
	short.Visit(t, "it imports many documents")
	var source strings.Builder
	source.WriteString("type: object\nproperties:\n")
	for i := range 10_000 {
		fmt.Fprintf(&source, "  p%d: { type: object, properties: { inner: { not: { const: 1 } } } }\n", i)
	}
	result := importer.Import("order.yaml", []byte(source.String()), importer.Options{})
	want := `order.yaml:3:46: warning: "not" has no counterpart in a catalogue (10000 times: here, 4:46, 5:46, 6:46 and so on); check it where the event is published [import-keyword]
    3 |   p0: { type: object, properties: { inner: { not: { const: 1 } } } }
      |                                              ^^^
`
	if diff := cmp.Diff(want, rendered(&importer.Result{Findings: others(result)})); diff != "" {
		t.Errorf("(-want +got):\n%.2000s", diff)
	}
}

// A mark at the beginning and the line ends of Windows change nothing but the lines that are shown.
func TestABOMAndWindowsLineEndsChangeNothing(t *testing.T) {
	for _, path := range []string{"testdata/cases/conditions/schema.yaml", "testdata/cases/one_of_many_payloads/hooks.schema.json"} {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		read := func(text string) *importer.Result {
			return importer.Import(path, []byte(text), importer.Options{RenameKeys: true})
		}
		plain := read(string(source))
		windows := read("\uFEFF" + strings.ReplaceAll(string(source), "\n", "\r\n"))
		if diff := cmp.Diff(string(plain.Catalogue), string(windows.Catalogue)); diff != "" || plain.Catalogue == nil {
			t.Errorf("%s (-plain +windows):\n%s", path, diff)
		}
		if diff := cmp.Diff(rendered(plain), rendered(windows)); diff != "" {
			t.Errorf("%s (-plain +windows):\n%s", path, diff)
		}
	}
}
