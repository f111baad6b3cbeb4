package importer_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/busgen/busgen/internal/short"
	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/importer/files"
)

// requireLoads checks what is true of every import.
func requireLoads(t testing.TB, r *importer.Result) {
	t.Helper()
	worst := diag.Off
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
		if f.Pos.Line < 1 || f.Pos.Column < 1 || f.Length < 1 {
			t.Fatalf("%s has no place", f)
		}
		if f.Rule.Tool != diag.Import {
			t.Fatalf("%s has no rule", f)
		}
	}
	if r.Catalogue == nil {
		if worst < diag.Error {
			t.Fatal("nothing was imported, and nobody is told why")
		}
		return
	}
	if _, findings := parse.Text("events.yaml", r.Catalogue); findings != nil {
		t.Fatalf("the catalogue has findings: %v\n%s", findings, r.Catalogue)
	}
	formatted, err := edit.Format(r.Catalogue)
	if diff := cmp.Diff(string(r.Catalogue), string(formatted)); err != nil || diff != "" {
		t.Fatalf("the catalogue is not formatted: %v\n%s", err, diff)
	}
}

// FuzzImport reads any text as all kinds of documents, which can refer to another one, common/other.json. What comes of
// it, if anything does, is a catalogue that is formatted and free of findings, and the same every time.
func FuzzImport(f *testing.F) {
	short.Visit(f, "it imports many documents")
	paths, _ := filepath.Glob("testdata/cases/*/*.[jy]*")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), string(text))
	}
	for _, name := range []string{"common/other.json", "common/other.json#/$defs/a", "./common/other.json#a", "https://example.org/other.json", "../other.json"} {
		f.Add(`{"title":"a","type":"object","properties":{"x":{"$ref":"`+name+`"}}}`,
			`{"$id":"https://example.org/other.json","$anchor":"a","type":"object","properties":{"y":{"$ref":"../file.json"},"z":{"$ref":"#/$defs/a"}},"$defs":{"a":{"allOf":[{"$ref":"#"}]}}}`)
		f.Add(`{"asyncapi":"3.0.0","channels":{"a":{"messages":{"m":{"$ref":"`+name+`"}}}}}`, `{"$id":"https://example.org/other.json","$anchor":"a","payload":{"$ref":"../file.json#/channels"},"$defs":{"a":{"payload":{"type":"object"}}}}`)
		f.Add("title: a.b\ntype: object\nx: &x { properties: { a: { default: << } } }\n<<: [*x]\n'<<': { $ref: '"+name+"' }", "<<: { type: object }")
		f.Add(`{"openapi":"3.1.0","webhooks":{"a":{"$ref":"`+name+`"}}}`, `{"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"../file.json"},"example":{"a":1}}}}},"$defs":{"a":{"$ref":"#"}}}`)
	}
	for _, c := range catalogues(f) {
		for _, export := range []func(*catalog.Catalogue) ([]byte, error){
			export.JSONSchema, func(c *catalog.Catalogue) ([]byte, error) { return export.AsyncAPI(c, export.Info{Version: "1"}) },
		} {
			if text, err := export(c); err == nil && len(text) < 20_000 {
				f.Add(string(text), "{}")
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, other string) {
		folder := fstest.MapFS{"file.json": {Data: []byte(text)}, "common/other.json": {Data: []byte(other)}}
		o := importer.Options{RenameKeys: len(text)%2 == 0, Files: &files.Folder{FS: folder, Path: "file.json"}}
		for _, read := range []func(string, []byte, importer.Options) *importer.Result{importer.Import, importer.Import, importer.Import} {
			first := read("file.json", []byte(text), o)
			requireLoads(t, first)
			again := read("file.json", []byte(text), o)
			if diff := cmp.Diff(string(first.Catalogue), string(again.Catalogue)); diff != "" || rendered(first) != rendered(again) {
				t.Fatalf("the second time it is something else:\n%s", diff)
			}
		}
	})
}
