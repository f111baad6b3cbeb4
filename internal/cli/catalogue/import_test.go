package catalogue

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/clitest"
)

const orderSchema = `title: Order Placed
type: object
properties:
  order_id: { type: string, format: uuid }
  customerName: { type: string }
`

const orderCatalogue = `version: 1
package: orderplaced

events:
  order_placed:
    payload: { order_id: "uuid?", customer_name: { type: "string?", json: customerName } }
`

// openNote is what import says of orderSchema.
const openNote = `order.yaml:1:1: note: an object without additionalProperties allows properties beyond those it names; a struct ignores them [import-detail]
    1 | title: Order Placed
      | ^
`

func TestImportPrintsACatalogueAndReportsTheRest(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema})
	busgen(t, "import order.yaml").Wants(t, 0, orderCatalogue, openNote+"1 note in order.yaml\n")
	inFolder(t, map[string]string{"order.yaml": orderSchema + "  'a,b': { type: string }\n"})
	got := busgen(t, "import order.yaml --rename-keys")
	got.Wants(t, cli.StatusNo, orderCatalogue, `order.yaml:6:3: warning: 1 key of the JSON has changed: "a,b" is left out; payloads with the old keys lose these values [import-keys]
    6 |   'a,b': { type: string }
      |   ^^^
`+openNote+`order.yaml:6:3: warning: the property "a,b" cannot be a field, and is left out: Go's encoding/json cannot have ',' in the tag of a field [import-name]
    6 |   'a,b': { type: string }
      |   ^^^
busgen: imported with 2 warnings and 1 note in order.yaml
`)
	for command, want := range map[string]string{
		"import order.yaml --rename-keys --event order.placed": strings.Replace(orderCatalogue, "order_placed", "order.placed", 1),
		"import order.yaml --rename-keys --package shop":       strings.Replace(orderCatalogue, "orderplaced", "shop", 1),
	} {
		if diff := cmp.Diff(want, busgen(t, command).Stdout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

func TestImportKeepsWhatPayloadsInOtherFilesHave(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema, "one.json": `{"note": "quick"}`, "two.yaml": "priority: 1\n"})
	got := busgen(t, "import order.yaml --example one.json --example two.yaml")
	if want := "      note: \"json?\"\n      priority: \"json?\"\n"; got.Status != cli.StatusNo || !strings.Contains(got.Stdout, want) {
		t.Errorf("%s is not in %+v", want, got)
	}
	for _, want := range []string{"one.json:1:2: warning: the example has \"note\"", "two.yaml:1:1: warning: the example has \"priority\""} {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("%s is not in\n%s", want, got.Stderr)
		}
	}
	busgen(t, "import order.yaml --example none.json").Wants(t, cli.StatusTrouble, "", "busgen: cannot read none.json: no such file or directory\n")
}

// Payloads of which every field is optional decode under any keys, and are empty then.
func TestImportChangesKeysOnlyOnRequest(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema + "  'a,b': { type: string }\n  it's: { type: string }\n  🙂: { type: string }\n  ×: { type: integer }\n"})
	before := clitest.Snapshot(t)
	for _, command := range []string{"import order.yaml", "import order.yaml -o events.yaml"} {
		got := busgen(t, command)
		first, _, _ := strings.Cut(got.Stderr, "\n")
		want := `order.yaml:6:3: error: 4 keys of the JSON would change: "a,b" is left out, "it's" is left out, "🙂" is left out, and 1 more; ` +
			`payloads with the old keys would lose these values: change them in the document, or accept it with --rename-keys [import-keys]`
		if got.Status != statusKeys || got.Stdout != "" || first != want {
			t.Errorf("%s: %+v", command, got)
		}
		if want := "busgen: nothing was imported: 1 error, 4 warnings and 1 note in order.yaml\n"; !strings.HasSuffix(got.Stderr, want) {
			t.Errorf("%s: the end is not %q: %+v", command, want, got)
		}
	}
	if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
	if got := busgen(t, "import order.yaml --format json -o events.yaml"); got.Status != statusKeys || !strings.Contains(got.Stdout, `"import-keys"`) {
		t.Errorf("%+v", got)
	}
}

func TestImportAndExportOverwriteOnlyOnRequest(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": strings.Replace(orderSchema, "customerName", "customer_name", 1), "events.yaml": described})
	for _, verb := range []string{"import order.yaml", "export jsonschema", "export asyncapi", "export typescript", "docs", "schema"} {
		printed := busgen(t, verb)
		want, said := printed.Stdout, printed.Stderr
		busgen(t, verb+" -o new/made").Wants(t, 0, "wrote new/made\n", said)
		busgen(t, verb+" -o new/made").Wants(t, 0, "new/made is up to date\n", said)
		must(t, os.WriteFile("new/made", []byte("mine"), 0o666))
		clitest.Age(t)
		before := clitest.Snapshot(t)
		busgen(t, verb+" -o new/made").WantsErrors(t, cli.StatusTrouble, "busgen: new/made exists already, so nothing was written; name another file, or overwrite it with --force\n")
		busgen(t, verb+" -o new").WantsErrors(t, cli.StatusTrouble, "new exists already, so nothing was written")
		if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
			t.Errorf("%s: folder (-before +after):\n%s", verb, diff)
		}
		busgen(t, verb+" -o new/made --force").Wants(t, 0, "wrote new/made\n", said)
		if got := read(t, "new/made"); got != want || want == "" {
			t.Errorf("%s: the file has %q", verb, got)
		}
		busgen(t, verb+" -o events.yaml/made --force").WantsErrors(t, cli.StatusTrouble, "events.yaml")
		must(t, os.RemoveAll("new"))
	}
}

func TestImportReportsForPrograms(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema + "  'a,b': { type: string }\n"})
	got := busgen(t, "import order.yaml --rename-keys --format github -o events.yaml")
	if want := "::warning file=order.yaml,line=6,col=3,"; got.Status != cli.StatusNo || !strings.HasPrefix(got.Stdout, want) || read(t, "events.yaml") != orderCatalogue {
		t.Errorf("%+v", got)
	}
	got = busgen(t, "import order.yaml --format sarif -o events.yaml --force")
	if !strings.Contains(got.Stdout, "docs/tools.md#importing") {
		t.Errorf("%+v", got)
	}
}

// The exit status tells a catalogue that somebody must look at from none.
func TestImportSaysWhatIsWrong(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema, "broken.json": "{", "list.json": "[]", "async.yaml": "asyncapi: 3.0.0\n"})
	before := clitest.Snapshot(t)
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"import broken.json -o events.yaml": {cli.StatusNotFound, "broken.json:1:1: error: it is not JSON: unexpected end of JSON input [import-syntax]"},
		"import list.json":                  {cli.StatusNotFound, "busgen: nothing was imported: 1 error in list.json\n"},
		"import async.yaml":                 {cli.StatusNotFound, "error: nothing in the document can become an event"},
		"import nope.json":                  {cli.StatusTrouble, "nope.json"},
		"import .":                          {cli.StatusTrouble, "busgen: cannot read .: it is a folder\n"},
		"import":                            {cli.StatusTrouble, "busgen import takes the name of one file"},
		"import order.yaml --format json":   {cli.StatusTrouble, "name a file for the catalogue with --out"},
		"import order.yaml --event Nope":    {cli.StatusTrouble, "--event Nope is not a valid name of an event"},
		"import order.yaml --package func":  {cli.StatusTrouble, "--package func is not a valid name of a package"},
	} {
		busgen(t, command).WantsErrors(t, want.status, want.text)
	}
	if diff := cmp.Diff(before, clitest.Snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
}

// References lead into the folder of the document, or into the one that --root names, and nowhere else.
func TestImportReadsOtherFilesBelowOneFolder(t *testing.T) {
	inFolder(t, map[string]string{
		"events/order.yaml":  "title: order.placed\ntype: object\nproperties: { total: { $ref: ../common/money.yaml } }\n",
		"common/money.yaml":  "type: object\nproperties: { amount: { type: integer } }\n",
		"events/broken.yaml": "openapi: 3.1.0\nwebhooks: { a: { $ref: nope.yaml } }\n",
	})
	const want = "version: 1\npackage: orderplaced\n\ntypes:\n  Money: { schema: money, fields: { amount: \"int64?\" } }\n\nevents:\n  order_placed:\n    payload: { total: \"Money?\" }\n"
	for _, root := range []string{".", "events/..", "../" + filepath.Base(workingFolder(t))} {
		if got := busgen(t, "import events/order.yaml --root "+root); got.Status != 0 || got.Stdout != want {
			t.Errorf("--root %s: %+v", root, got)
		}
	}
	got := busgen(t, "import events/order.yaml")
	if got.Status != cli.StatusNo || !strings.Contains(got.Stderr, `events/order.yaml:3:24: warning: $ref refers to "../common/money.yaml", which cannot be read: `+
		`it is outside of the folder events; name a folder that both files are in with --root`) {
		t.Errorf("%+v", got)
	}
	for command, want := range map[string]string{
		"import events/order.yaml --root common": "busgen: events/order.yaml is not in the folder common, which --root names\n",
		"import events/order.yaml --root nope":   "busgen: events/order.yaml is not in the folder nope, which --root names\n",
	} {
		busgen(t, command).WantsErrors(t, cli.StatusTrouble, want)
	}
	busgen(t, "import events/broken.yaml").WantsErrors(t, cli.StatusNotFound, "which cannot be read: no such file or directory")
}

func workingFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.Getwd()
	must(t, err)
	return folder
}

// A catalogue, exported and imported, generates.
func TestAnExportedAndImportedCatalogueGenerates(t *testing.T) {
	source, err := os.ReadFile("../../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{"events.yaml": string(source)})
	for _, form := range []string{"jsonschema", "asyncapi"} {
		busgen(t, "export "+form+" -o "+form+".json")
		got := busgen(t, "import "+form+".json -o "+form+"/events.yaml")
		if got.Status != 0 || got.Stdout != "wrote "+form+"/events.yaml\n" || !strings.HasSuffix(got.Stderr, "\n1 note in "+form+".json\n") {
			t.Errorf("%+v", got)
		}
		if got := busgen(t, "generate "+form+"/events.yaml"); got.Status != 0 {
			t.Errorf("%+v", got)
		}
	}
}
