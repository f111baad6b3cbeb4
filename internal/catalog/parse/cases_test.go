package parse_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Each folder in testdata/cases says by its name what its catalogue is about. If there is something wrong with
// the catalogue, findings.golden beside it is what a person sees. The others are
// free of findings; package templates compiles what comes of them.
func TestCasesGiveTheFindingsBesideThem(t *testing.T) {
	for _, path := range cases(t) {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			t.Chdir(filepath.Dir(path)) // so that positions have no folder
			const golden = "findings.golden"
			want, err := os.ReadFile(golden)
			isBroken := err == nil
			c, findings, err := parse.Load("events.yaml")
			if err != nil {
				t.Fatal(err)
			}
			if (c == nil) != isBroken || (len(findings) > 0) != isBroken {
				t.Fatalf("there is a findings.golden: %v; got a catalogue: %v, and\n%s", isBroken, c != nil, render(t, findings))
			}
			if !isBroken {
				return
			}
			got := render(t, findings)
			if *update {
				want = []byte(got)
				if err := os.WriteFile(golden, want, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("findings differ from %s (-want +got), -update accepts them:\n%s", path, diff)
			}
		})
	}
}

func TestEveryRuleIsShownByACase(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range cases(t) {
		_, findings, err := parse.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			seen[f.Rule.ID] = true
		}
	}
	for _, rule := range rules.Of(diag.Reader) {
		if !seen[rule.ID] {
			t.Errorf("no catalogue in testdata/cases breaks %s", rule)
		}
	}
}

// cases returns the paths of the catalogues in testdata/cases.
func cases(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/cases/*/events.yaml")
	if err != nil || len(paths) < 50 {
		t.Fatalf("found %d cases: %v", len(paths), err)
	}
	return paths
}

func render(t *testing.T, findings diag.Findings) string {
	t.Helper()
	var out strings.Builder
	if err := findings.Render(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
