package catalogue

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/cli"
)

func TestDocsWritesAPage(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": described, "broken.yaml": broken})

	busgen(t, "docs -o catalogue.html").Wants(t, 0, "wrote catalogue.html\n", "")
	busgen(t, "docs events.yaml -o catalogue.html").Wants(t, 0, "catalogue.html is up to date\n", "")

	page, err := os.ReadFile("catalogue.html")
	if err != nil {
		t.Fatal(err)
	}
	if got := busgen(t, "docs"); got.Status != 0 || got.Stdout != string(page) || !strings.HasPrefix(got.Stdout, "<!DOCTYPE html>") {
		t.Errorf("without --out: status %d, %.100s", got.Status, got.Stdout)
	}
	if got := busgen(t, "docs --title Shop"); !strings.Contains(got.Stdout, "<title>Shop: events</title>") {
		t.Errorf("the title is missing in %.300s", got.Stdout)
	}
	busgen(t, "docs broken.yaml -o broken.html").WantsErrors(t, cli.StatusNo, "busgen: 2 errors in broken.yaml\n")
	if _, err := os.Stat("broken.html"); err == nil {
		t.Error("a page of a broken catalogue was written")
	}
}
