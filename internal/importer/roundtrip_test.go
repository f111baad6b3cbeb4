package importer_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer"
)

// catalogues are all in the repository that have no findings, by their path.
func catalogues(t testing.TB) map[string]*catalog.Catalogue {
	t.Helper()
	all := map[string]*catalog.Catalogue{}
	for _, pattern := range []string{"../../examples/*.yaml", "../../bench/*.yaml", "../../templates/testdata/*.yaml", "../../templates/starter/*.yaml", "../catalog/parse/testdata/cases/*/events.yaml", "testdata/exported/events.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			c, findings, err := parse.Load(path)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case findings == nil:
				all[path] = c
			case strings.HasPrefix(path, "testdata"):
				t.Fatal(findings)
			}
		}
	}
	if len(all) < 20 {
		t.Fatalf("found %d catalogues only", len(all))
	}
	return all
}

// What is exported and imported again exports the same.
func TestAnExportedDocumentIsImportedAgain(t *testing.T) {
	forms := map[string]struct {
		export func(*catalog.Catalogue) ([]byte, error)
		back   func(file string, source []byte, o importer.Options) *importer.Result
	}{
		"jsonschema": {export.JSONSchema, importer.JSONSchema},
		"asyncapi":   {func(c *catalog.Catalogue) ([]byte, error) { return export.AsyncAPI(c, export.Info{Version: "1"}) }, importer.AsyncAPI},
	}
	for path, c := range catalogues(t) {
		if len(c.Events) == 0 {
			continue // no schema says that nothing in it is an event
		}
		for name, form := range forms {
			t.Run(name+" "+path, func(t *testing.T) {
				document, err := form.export(c)
				if err != nil {
					t.Fatal(err)
				}
				imported := form.back("export.json", document, importer.Options{Package: c.Package.V})
				for _, f := range imported.Findings {
					if f.Severity > diag.Note {
						t.Errorf("%s", f)
					}
				}
				again, findings := parse.Text("events.yaml", imported.Catalogue)
				if findings != nil {
					t.Fatalf("%v\n%s", findings, imported.Catalogue)
				}
				second, err := form.export(again)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(document), string(second)); diff != "" {
					t.Errorf("(-first +second):\n%s\n%s", diff, imported.Catalogue)
				}
			})
		}
	}
}

// A document that an older busgen has exported names settings by their former names.
func TestASettingByItsFormerNameIsImportedByItsPresentOne(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte("version: 1\npackage: events\nevents:\n  order.placed: { failure_throttle: 5 }\n  order.paid: {}\n"))
	if findings != nil {
		t.Fatal(findings)
	}
	document, err := export.AsyncAPI(c, export.Info{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	older := strings.ReplaceAll(string(document), `"failure_throttle"`, `"brake"`)
	text := string(importer.AsyncAPI("export.json", []byte(older), importer.Options{Package: "events"}).Catalogue)
	if older == string(document) || strings.Count(text, "failure_throttle: 5") != 1 || strings.Contains(text, "brake") {
		t.Errorf("imported:\n%s", text)
	}
}

// A schedule that does not fit is left out, and the rest is imported.
func TestAScheduleThatDoesNotFitIsLeftOut(t *testing.T) {
	c, findings := parse.Text("events.yaml", []byte(`version: 1
package: events
events:
  report.requested: { payload: { kind: string } }
schedules:
  nightly: { event: report.requested, cron: "0 3 * * *", payload: { kind: day } }
  weekly: { event: report.requested, cron: "0 4 * * 1", payload: { kind: week } }
`))
	if findings != nil {
		t.Fatal(findings)
	}
	document, err := export.AsyncAPI(c, export.Info{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for old, replacement := range map[string]string{
		`"0 3 * * *"`:       `"0 99 * * *"`,
		`"kind": "day"`:     `"sort": "day"`,
		`"name": "nightly"`: `"name": ""`,
		`"nightly"`:         `"Not A Name"`,
	} {
		changed := strings.Replace(string(document), old, replacement, 1)
		if changed == string(document) {
			t.Fatalf("%s is not in\n%s", old, document)
		}
		result := importer.AsyncAPI("export.json", []byte(changed), importer.Options{Package: "events"})
		requireLoads(t, result)
		if text := string(result.Catalogue); !strings.Contains(text, "weekly:") || strings.Contains(text, "nightly") || len(result.Findings) != 1 ||
			!strings.HasSuffix(result.Findings[0].Message, "is left out") {
			t.Errorf("%s: %v\n%s", replacement, result.Findings, text)
		}
	}
	twice := strings.Replace(string(document), `"weekly"`, `"nightly"`, 1)
	result := importer.AsyncAPI("export.json", []byte(twice), importer.Options{Package: "events"})
	requireLoads(t, result)
	if text := string(result.Catalogue); strings.Count(text, "nightly") != 1 || len(result.Findings) == 0 {
		t.Errorf("of a name that is there twice: %v\n%s", result.Findings, text)
	}
}
