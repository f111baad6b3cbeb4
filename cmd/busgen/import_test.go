package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
    payload: { order_id: "uuid?", customer_name: "string?" }
`

func TestImportPrintsACatalogueAndReportsTheRest(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema})
	got := busgen(t, "import jsonschema order.yaml")
	got.wants(t, statusNo, orderCatalogue, `order.yaml:5:3: warning: the property "customerName" becomes the field customer_name, which is its key in the JSON then; what others write or read under the old name does not fit [import-name]
    5 |   customerName: { type: string }
      |   ^^^^^^^^^^^^
busgen: 1 warning in order.yaml
`)
	for command, want := range map[string]string{
		"import jsonschema order.yaml --event order.placed": strings.Replace(orderCatalogue, "order_placed", "order.placed", 1),
		"import jsonschema order.yaml --package shop":       strings.Replace(orderCatalogue, "orderplaced", "shop", 1),
	} {
		if diff := cmp.Diff(want, busgen(t, command).stdout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", command, diff)
		}
	}
}

func TestImportNeverOverwritesUnlessItIsToldTo(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": strings.Replace(orderSchema, "customerName", "customer_name", 1), "events.yaml": described})
	busgen(t, "import jsonschema order.yaml -o new/events.yaml").wants(t, 0, "wrote new/events.yaml\n", "")
	before := snapshot(t)
	busgen(t, "import jsonschema order.yaml -o events.yaml").wantsErrors(t, statusTrouble, "events.yaml exists already, so nothing was written; name another file, or overwrite it with --force")
	if diff := cmp.Diff(before, snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
	busgen(t, "import jsonschema order.yaml -o events.yaml --force").wants(t, 0, "wrote events.yaml\n", "")
	if got := text(t, "events.yaml"); got != orderCatalogue || got != text(t, "new/events.yaml") {
		t.Errorf("the file has %q", got)
	}
}

func TestImportReportsForPrograms(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema})
	got := busgen(t, "import jsonschema order.yaml --format github -o events.yaml")
	if want := "::warning file=order.yaml,line=5,col=3,"; got.status != statusNo || !strings.HasPrefix(got.stdout, want) || text(t, "events.yaml") != orderCatalogue {
		t.Errorf("%+v", got)
	}
	got = busgen(t, "import jsonschema order.yaml --format sarif -o events.yaml --force")
	if !strings.Contains(got.stdout, "docs/tools.md#importing") {
		t.Errorf("%+v", got)
	}
}

func TestImportSaysWhatIsWrong(t *testing.T) {
	inFolder(t, map[string]string{"order.yaml": orderSchema, "broken.json": "{", "list.json": "[]", "async.yaml": "asyncapi: 3.0.0\n"})
	before := snapshot(t)
	for command, want := range map[string]struct {
		status int
		text   string
	}{
		"import jsonschema broken.json -o events.yaml": {statusNo, "broken.json:1:1: error: it is not JSON: unexpected end of JSON input [import-syntax]"},
		"import jsonschema list.json":                  {statusNo, "list.json:1:1: error: the document is no object [import-document]"},
		"import asyncapi order.yaml":                   {statusNo, "error: this is no AsyncAPI document of version 2 or 3"},
		"import jsonschema async.yaml":                 {statusNo, "async.yaml:1:1: error: this is an AsyncAPI document"},
		"import asyncapi async.yaml":                   {statusNo, "error: nothing in the document can be an event"},
		"import jsonschema nope.json":                  {statusTrouble, "nope.json"},
		"import jsonschema":                            {statusTrouble, "busgen import jsonschema takes the name of one file"},
		"import jsonschema order.yaml --format json":   {statusTrouble, "name a file for the catalogue with --out"},
		"import avro order.yaml":                       {statusTrouble, `busgen import has no verb "avro"`},
		"import jsonschema order.yaml --event Nope":    {statusTrouble, "--event Nope is not a name for an event"},
		"import jsonschema order.yaml --package func":  {statusTrouble, "--package func cannot be the name of a package"},
	} {
		busgen(t, command).wantsErrors(t, want.status, want.text)
	}
	if diff := cmp.Diff(before, snapshot(t)); diff != "" {
		t.Errorf("folder (-before +after):\n%s", diff)
	}
}

// A catalogue, exported and imported, generates.
func TestWhatIsExportedAndImportedGenerates(t *testing.T) {
	source, err := os.ReadFile("../../examples/events.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inFolder(t, map[string]string{"events.yaml": string(source)})
	for _, form := range []string{"jsonschema", "asyncapi"} {
		busgen(t, "export "+form+" -o "+form+".json")
		busgen(t, "import "+form+" "+form+".json -o "+form+"/events.yaml").wants(t, 0, "wrote "+form+"/events.yaml\n", "")
		if got := busgen(t, "generate "+form+"/events.yaml"); got.status != 0 {
			t.Errorf("%+v", got)
		}
	}
}
