package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

var busgen = clitest.Command(func() *cobra.Command { return New() })

func TestThereIsAPageForEachVerb(t *testing.T) {
	clitest.InFolder(t, nil)
	got := busgen.Run(t, "man pages")
	if got.Status != 0 || !strings.HasPrefix(got.Stdout, "wrote ") || !strings.HasSuffix(got.Stdout, " pages to pages\n") {
		t.Fatalf("%+v", got)
	}
	verbs := 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.HasParent() && !cmd.IsAvailableCommand() {
			return
		}
		verbs++
		page := clitest.Text(t, filepath.Join("pages", manName(cmd)+".1"))
		for _, want := range []string{".TH \"", "\n.SH NAME\n", "\n.SH SYNOPSIS\n", "\n.SH DESCRIPTION\n", "\n.SH OPTIONS\n", roffText(cmd.Short)} {
			if !strings.Contains(page, want) {
				t.Errorf("the page of %s has no %q", cmd.CommandPath(), want)
			}
		}
		for _, below := range cmd.Commands() {
			walk(below)
		}
	}
	walk(New())
	if files, err := os.ReadDir("pages"); err != nil || len(files) != verbs || verbs < 40 {
		t.Errorf("%d pages for %d verbs: %v", len(files), verbs, err)
	}
}

// groff is not everywhere; where it is, it must understand every page.
func TestGroffReadsThePagesWithoutAWarning(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip(err)
	}
	clitest.InFolder(t, nil)
	args := []string{"-man", "-Tutf8", "-ww", "-z"}
	for _, page := range manPages(New()) {
		must(t, os.WriteFile(page.Name, page.Content, 0o600))
		args = append(args, page.Name)
	}
	if out, err := exec.Command("groff", args...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestPagesAreNotOverwritten(t *testing.T) {
	clitest.InFolder(t, map[string]string{"pages/busgen.1": "mine"})
	got := busgen.Run(t, "man pages")
	if got.Status != cli.StatusTrouble || !strings.Contains(got.Stderr, "busgen.1") || clitest.Text(t, "pages/busgen.1") != "mine" {
		t.Errorf("%+v", got)
	}
	if names := clitest.Names(t); len(names) > 2 {
		t.Errorf("something was written: %v", names)
	}
}

func TestTextIsPrintedAsItIs(t *testing.T) {
	for text, want := range map[string]string{
		`a\n`: `a\en`, "--out": `\-\-out`, ".hidden\n'x'": "\\&.hidden\n\\(aqx\\(aq", "`q`": `\(gaq\(ga`, "a – b": `a \[u2013] b`,
	} {
		if got := roffText(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
