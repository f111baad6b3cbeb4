package catalog_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// Each broken catalogue says by its name what is wrong with it; the golden
// file beside it is what a person sees.
func TestBrokenCataloguesAreReportedWithPositions(t *testing.T) {
	for _, path := range brokenCatalogues(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c, findings := catalog.Parse(name+".yaml", source)
			if c != nil || len(findings) == 0 {
				t.Fatalf("got catalogue %v and %d findings, want findings only", c, len(findings))
			}
			golden := strings.TrimSuffix(path, ".yaml") + ".golden"
			got := render(t, findings)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatalf("%v: run the test with -update and read the result", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("findings differ from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestEveryRuleIsShownByABrokenCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, path := range brokenCatalogues(t) {
		_, findings, err := catalog.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			seen[string(f.Rule)] = true
		}
	}
	source, err := os.ReadFile("rules.go")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`Rule = "([a-z0-9-]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(rules) < 20 {
		t.Fatalf("found only %d rules in rules.go", len(rules))
	}
	for _, rule := range rules {
		if !seen[rule[1]] {
			t.Errorf("no catalogue in testdata/broken breaks %s", rule[1])
		}
	}
}

func brokenCatalogues(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(paths) < 12 {
		t.Fatalf("found %d broken catalogues: %v", len(paths), err)
	}
	return paths
}

func render(t *testing.T, findings catalog.Findings) string {
	t.Helper()
	var out strings.Builder
	if err := findings.Render(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
