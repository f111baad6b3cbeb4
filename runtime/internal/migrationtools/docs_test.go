package migrationtools

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page shows the code that these tests run.
func TestTheRecipeOfThePageIsTheOneThatIsTested(t *testing.T) {
	page, err := os.ReadFile("../../../docs/transactions.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("goose.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n### With goose\n")
	section, _, ends := strings.Cut(section, "\n### ")
	if !found || !ends {
		t.Fatal("the page has no section on goose")
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) != 1 {
		t.Errorf("found %d examples", len(blocks))
	}
	for _, block := range blocks {
		if !strings.HasSuffix(string(code), block[1]) {
			t.Errorf("goose.go does not end with\n%s", block[1])
		}
	}
}
