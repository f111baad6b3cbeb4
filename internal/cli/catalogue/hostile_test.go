//go:build unix

package catalogue

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
	"github.com/busgen/busgen/internal/short"
)

// hostileLines read a catalogue; LIKE stands for it.
var hostileLines = []string{
	"LIKE", "generate LIKE", "check LIKE", "lint LIKE", "breaking LIKE --against fine.yaml", "breaking fine.yaml --against LIKE", "describe LIKE",
	"policy LIKE *", "docs LIKE", "export jsonschema LIKE", "export asyncapi LIKE", "export typescript LIKE", "fmt LIKE", "fmt --write LIKE",
	"rename event LIKE a.b c.d", "new event LIKE a.b --field id:uuid", "new version LIKE a.b",
}

func TestACatalogueIsARegularFile(t *testing.T) {
	for name, want := range map[string]string{
		"fifo.yaml":   "it is a pipe, not a regular file",
		"device.yaml": "it is a device, not a regular file",
		"huge.yaml":   "it has 16.1 MiB, and may have 16 MiB",
	} {
		inFolder(t, map[string]string{"fine.yaml": simple, "huge.yaml": strings.Repeat("# x\n", 161<<20/40)})
		must(t, syscall.Mkfifo("fifo.yaml", 0o666))
		must(t, os.Symlink("/dev/zero", "device.yaml"))
		for _, verb := range hostileLines {
			busgen(t, strings.ReplaceAll(verb, "LIKE", name)).WantsErrors(t, cli.StatusTrouble, "busgen: ", name, want)
		}
	}
}

func TestAModuleThatIsAPipeIsNotWaitedFor(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple})
	must(t, syscall.Mkfifo("go.mod", 0o666))
	busgen(t, "generate -q").Wants(t, 0, "", "") // this code does not need to know the module
}

func TestALargeCatalogueIsToBeDivided(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": strings.Repeat("# x\n", 161<<20/40)})
	busgen(t, "check").Wants(t, cli.StatusTrouble, "", "busgen: cannot read the catalogue: read events.yaml: it has 16.1 MiB, and may have 16 MiB: divide it into several files with include\n")
}

func TestAnImportedDocumentMayBeLargerThanACatalogue(t *testing.T) {
	document := `{"title": "Order placed", "type": "object", "properties": {"id": {"type": "string"}}}`
	inFolder(t, map[string]string{"large.json": document + strings.Repeat(" ", 17<<20), "huge.json": ""})
	must(t, os.Truncate("huge.json", 65<<20))
	if got := busgen(t, "import large.json --out events.yaml"); got.Status > 1 {
		t.Errorf("a document of 17 MiB: %+v", got)
	}
	busgen(t, "import huge.json").Wants(t, cli.StatusTrouble, "", "busgen: cannot read huge.json: it has 65.0 MiB, and may have 64 MiB\n")
}

func TestNoFormShowsWhatIsInAFileThatIsNoCatalogue(t *testing.T) {
	short.Visit(t, "it runs git, or compiles")
	const root = "version: 1\npackage: events\ninclude: [../secret.yaml]\nevents: { a.b: {} }\n"
	files := map[string]string{
		"secret.yaml": "password: hunter2\nhunter2: [hunter2]\n", "shop/events.yaml": root, "shop/fine.yaml": simple, "old/events.yaml": root,
	}
	for _, line := range []string{
		"check", "generate", "lint", "describe", "docs", "breaking fine.yaml --against events.yaml", "breaking fine.yaml --against ../old/events.yaml",
		"breaking fine.yaml --against HEAD:shop/events.yaml", "fmt link.yaml", "fmt --diff link.yaml", "check link.yaml", "check pipe.yaml",
	} {
		for _, form := range formats() {
			if form != "text" && !strings.HasPrefix(line, "check") && !strings.HasPrefix(line, "lint") && !strings.HasPrefix(line, "breaking") {
				continue
			}
			inFolder(t, files)
			must(t, os.Symlink("../secret.yaml", "shop/link.yaml"))
			for _, command := range []string{"git init -q", "git add .", "git -c user.name=n -c user.email=e commit -qm first"} {
				words := strings.Fields(command)
				if output, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
					t.Skipf("%s: %v\n%s", command, err, output)
				}
			}
			t.Chdir("shop")
			if form != "text" {
				line += " --format " + form
			}
			got := busgen(t, line)
			if strings.Contains(got.Stdout+got.Stderr, "hunter2") || got.Status == 0 {
				t.Errorf("%s: %+v", line, got)
			}
		}
	}
}

func TestGeneratedCodeDoesNotLeaveItsFolder(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple, "precious": "mine"})
	must(t, os.Symlink("precious", "publish.gen.go"))
	busgen(t, "generate").WantsErrors(t, cli.StatusTrouble, "publish.gen.go")
	must(t, os.Remove("publish.gen.go"))
	must(t, os.Symlink("nowhere.go", "publish.gen.go"))
	busgen(t, "generate").WantsErrors(t, cli.StatusTrouble, "publish.gen.go is a symbolic link to nowhere.go", "remove the link")
	if got := clitest.Names(t); strings.Join(got, " ") != "events.yaml precious publish.gen.go" {
		t.Errorf("the folder has %v", got)
	}
}

func TestTheFolderOfTheCodeCannotBeAFile(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": simple, "gen": "a file"})
	busgen(t, "--out gen").WantsErrors(t, cli.StatusTrouble, "the output folder gen is a file: name a folder with --out")
	busgen(t, "--out gen/below").WantsErrors(t, cli.StatusTrouble, "there can be no output folder gen/below, because gen is a file")
	if got := clitest.Names(t); strings.Join(got, " ") != "events.yaml gen" {
		t.Errorf("the folder has %v", got)
	}
}

func TestAFileNamedThroughALinkIsReportedWithItsTarget(t *testing.T) {
	inFolder(t, map[string]string{"events.yaml": "version: 1\npackage: p\ninclude: [part.yaml]\n", "shared/part.yaml": "version: 1\nevents: {a.b: { payload: {id: uuid} } }\n", "shared/page.html": ""})
	must(t, os.Symlink("shared/page.html", "page.html"))
	must(t, os.Symlink("shared/part.yaml", "part.yaml"))
	busgen(t, "docs --out page.html --force").Wants(t, 0, "wrote page.html, a link to shared/page.html\n", "")
	busgen(t, "fmt --write part.yaml").Wants(t, 0, "wrote part.yaml, a link to shared/part.yaml\n", "")
	busgen(t, "rename event a.b c.d").Wants(t, 0, "part.yaml, a link to shared/part.yaml: a.b is c.d now, in 2 places\n", "")
	for _, name := range []string{"page.html", "part.yaml"} {
		if to, err := os.Readlink(name); to != "shared/"+name {
			t.Errorf("%s leads to %q, %v", name, to, err)
		}
	}
}
