package templates

import (
	"testing"

	"github.com/busgen/busgen/internal/short"
	"pgregory.net/rapid"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/catalogtest"
)

// The same for catalogues in several files and packages, which use the types of another.
func FuzzGenerateFromMadePackages(f *testing.F) {
	prepare(f)
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkMadePackages(t) }))
}

func TestMadePackagesHaveFindingsOrCompile(t *testing.T) {
	short.Visit(t, "it compiles")
	compiled := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		if c := checkMadePackages(t); c != nil {
			compiled["all"]++
			if len(c.Packages) > 0 {
				compiled["with packages"]++
			}
			if len(c.Imported) > 0 {
				compiled["with types of another"]++
			}
		}
	})
	if compiled["with packages"] == 0 {
		t.Errorf("compiled %v", compiled)
	}
}

// The root of a made catalogue imports other.yaml, and includes one.yaml and two.yaml.
func checkMadePackages(t *rapid.T) *catalog.Catalogue {
	const otherPath = "example.com/other"
	files := parse.Memory{Text: catalogtest.MadePackages(t, otherPath)}
	c, _ := parse.TextWith(files, "events.yaml", files.Text["events.yaml"])
	if c == nil {
		return nil
	}
	other, findings := parse.TextWith(files, "other.yaml", files.Text["other.yaml"])
	if findings != nil {
		t.Fatalf("it was imported without findings: %v", findings)
	}
	requireGood(t, c, map[string]*catalog.Catalogue{otherPath: other})
	return c
}
