package templates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
)

// The cases are shared with package catalog, which has those with findings.
const casesFolder = "../internal/catalog/parse/testdata/cases"

// A case that is free of findings shows the generated files that it is about, as
// <name>.golden beside its catalogue.
func TestCasesGiveTheCodeBesideThem(t *testing.T) {
	for name, c := range validCases(t) {
		t.Run(name, func(t *testing.T) {
			shown := 0
			for _, file := range generate(t, c) {
				golden := filepath.Join(casesFolder, name, file.Name+".golden")
				want, err := os.ReadFile(golden)
				if err != nil {
					continue
				}
				shown++
				if *update {
					want = file.Content
					if err := os.WriteFile(golden, want, 0o666); err != nil {
						t.Fatal(err)
					}
				}
				if diff := cmp.Diff(string(want), string(file.Content)); diff != "" {
					t.Errorf("%s (-want +got), go test ./templates -update accepts it:\n%s", golden, diff)
				}
			}
			if shown == 0 {
				t.Error("it shows no generated file: touch one of them with .golden behind its name, and run the test with -update")
			}
		})
	}
}

// validCases reads the cases that are free of findings, by name.
func validCases(t testing.TB) map[string]*catalog.Catalogue {
	t.Helper()
	paths, err := filepath.Glob(casesFolder + "/*/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	valid := map[string]*catalog.Catalogue{}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(path))
		if strings.HasPrefix(name, "valid_") {
			c, findings, err := parse.Load(path)
			if err != nil || findings != nil {
				t.Fatal(err, findings)
			}
			valid[name] = c
		}
	}
	if len(valid) < 15 {
		t.Fatalf("found %d valid cases", len(valid))
	}
	return valid
}
