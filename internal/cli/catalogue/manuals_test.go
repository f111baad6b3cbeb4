package catalogue

import (
	"os"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/short"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/internal/handbook"
	"github.com/busgen/busgen/runtime"
)

// verbsOnACatalogue returns the commands that work on a catalogue, those of their
// families included.
func verbsOnACatalogue() (verbs []*cobra.Command) {
	for _, cmd := range root().Commands() {
		if cmd.GroupID == "Catalogues:" {
			verbs = append(append(verbs, cmd), cmd.Commands()...)
		}
	}
	return verbs
}

// TestTheExamplesInTheManualsOfCatalogueVerbsWork runs each of them where there
// is a catalogue under every name that they use.
func TestTheExamplesInTheManualsOfCatalogueVerbsWork(t *testing.T) {
	short.Visit(t, "it runs git, or compiles")
	source, err := os.ReadFile("../../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, cmd := range verbsOnACatalogue() {
		for _, example := range examplesOf(cmd) {
			ran++
			t.Run(example, func(t *testing.T) {
				if cmd.Name() == "init" {
					inFolder(t, nil)
				} else {
					catalogue := string(source)
					inFolder(t, map[string]string{"go.mod": "module shop\n", "events.yaml": catalogue, "events/events.yaml": catalogue, "api/events.yaml": catalogue,
						"production.yaml": "version: 1\ndefaults: { timeout: 1m }\n"})
				}
				if cmd.Name() == "breaking" {
					amidReleases(t, string(source))
				}
				if cmd.Name() == "import" || cmd.HasParent() && cmd.Parent().Name() == "import" {
					busgen(t, "export jsonschema -o events.schema.json")
					busgen(t, "export jsonschema --event order.placed -o order.schema.json")
					for _, name := range []string{"order1.json", "order2.json"} {
						must(t, os.WriteFile(name, []byte("{}"), 0o666))
					}
					busgen(t, "export asyncapi -o asyncapi.json")
					must(t, os.WriteFile("openapi.yaml", []byte("openapi: 3.1.0\nwebhooks:\n  order.placed: { post: { requestBody: { content: { application/json: { schema: { type: object, properties: { id: { type: string } } } } } } } }\n"), 0o666))
				}
				if strings.HasSuffix(example, "--service") {
					must(t, os.WriteFile("go.mod", []byte("module example.org/shop\n"), 0o666))
				}
				if cmd.Name() == "check" {
					busgen(t, "-q events.yaml").Wants(t, 0, "", "")
					busgen(t, "-q events/events.yaml").Wants(t, 0, "", "")
				}
				if got := typed(t, example, ""); got.Status != 0 || !onlyOpen(got.Stderr) {
					t.Errorf("%+v", got)
				}
			})
		}
	}
	if ran < 10 {
		t.Errorf("found %d examples only", ran)
	}
}

// amidReleases puts what was released into the current folder: a revision of git, a
// folder, and the file of a bus.
func amidReleases(t *testing.T, catalogue string) {
	t.Helper()
	inGit(t, map[string]string{"events.yaml": catalogue, "events/events.yaml": catalogue})
	must(t, os.Mkdir("release", 0o777))
	must(t, os.WriteFile("release/events.yaml", []byte(catalogue), 0o666))
	bus, err := runtime.Open(t.Context(), "shop.db", runtime.NewCatalogue(billType))
	must(t, err)
	must(t, bus.Shutdown(t.Context()))
}

// webhooks is an OpenAPI document.
const webhooks = `{openapi: 3.1.0, info: {title: Shop, version: "1"}, webhooks: {order.placed: {post: {description: A customer placed an order.,
requestBody: {content: {application/json: {schema: {type: object, required: [number], properties: {number: {type: integer, format: int64,
description: As on the receipt.}}}}}}}}}}`

// The guide's commands are run one after the other, beside the catalogue of the
// examples under both of its names, with code that is up to date.
func TestTheCommandsInTheGuideWork(t *testing.T) {
	short.Visit(t, "it runs git, or compiles")
	guide := handbook.Runs(t, "docs/tools.md")
	source, err := os.ReadFile("../../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := edit.Format(source)
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{"go.mod": "module shop\n", "events.yaml": string(catalogue), "events/events.yaml": string(catalogue), "contracts/openapi.yaml": webhooks,
		"payloads/1.json": `{"days": 7}`, "payloads/2.json": `{"days": 30}`})
	busgen(t, "-q events/events.yaml").Wants(t, 0, "", "")
	amidReleases(t, string(catalogue))
	ran := 0
	for _, command := range guide.Commands() {
		ran++
		if got := typed(t, command, ""); got.Status != 0 || !onlyOpen(got.Stderr) {
			t.Errorf("%s: %+v", command, got)
		}
	}
	if ran < 15 {
		t.Errorf("the guide has %d commands only", ran)
	}
}

func TestEveryVerbOnACatalogueHasExamplesAndExitStatusInLinesThatFit(t *testing.T) {
	for _, cmd := range verbsOnACatalogue() {
		if cmd.Example == "" || !strings.Contains(cmd.Long, "Exit status: ") && !cmd.HasSubCommands() || cmd.Short == "" {
			t.Errorf("%s: the manual is incomplete", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}

func examplesOf(cmd *cobra.Command) (examples []string) {
	for line := range strings.Lines(cmd.Example) {
		line, _, _ = strings.Cut(line, "  #")
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "busgen ") {
			examples = append(examples, line)
		}
	}
	return examples
}

// onlyOpen tells whether nothing is said but that objects are open, as those of most documents are.
func onlyOpen(stderr string) bool {
	return stderr == "" || strings.Count(stderr, "note: ") == 1 && strings.Contains(stderr, ": note: an object without additionalProperties ") &&
		!strings.Contains(stderr, "warning: ") && !strings.Contains(stderr, "error: ")
}
