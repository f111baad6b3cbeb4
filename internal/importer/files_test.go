package importer_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/importer/files"
)

// folderOf makes a file system of texts.
func folderOf(texts map[string]string) fstest.MapFS {
	files := fstest.MapFS{}
	for name, text := range texts {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// importFrom imports a file of a folder.
func importFrom(folder fs.FS, name string) *importer.Result {
	source, err := fs.ReadFile(folder, name)
	if err != nil {
		panic(err)
	}
	o := importer.Options{RenameKeys: true, Files: &files.Folder{FS: folder, Path: name}}
	return importer.Import(name, source, o)
}

func TestReferencesLeadToOtherFiles(t *testing.T) {
	const order = "title: order.placed\ntype: object\nproperties:\n  total: { $ref: %q }\nrequired: [total]\n"
	money := "title: Money\ntype: object\nproperties: { amount: { type: integer } }\n"
	for name, c := range map[string]struct {
		to    string
		files map[string]string
		start string // order.yaml if empty
		want  string // in the catalogue
		finds string // in the findings
	}{
		"beside the document":             {to: "money.yaml", files: map[string]string{"money.yaml": money}, want: "total: Money"},
		"with ./ in front":                {to: "./money.yaml#", files: map[string]string{"money.yaml": money}, want: "total: Money"},
		"a folder below":                  {to: "common/money.schema.json", files: map[string]string{"common/money.schema.json": `{"type":"object","properties":{"amount":{"type":"integer"}}}`}, want: "total: Money"},
		"a folder above":                  {to: "../common/money.yaml", start: "events/order.yaml", files: map[string]string{"common/money.yaml": money}, want: "total: Money"},
		"relative to a folder above":      {to: "common/money.yaml", start: "events/v1/order.yaml", files: map[string]string{"common/money.yaml": money}, want: "total: Money"},
		"a place in the file":             {to: "types.yaml#/$defs/Money", files: map[string]string{"types.yaml": "$defs:\n  Money: { type: object, properties: { amount: { type: integer } } }\n"}, want: "total: Money"},
		"an anchor in the file":           {to: "types.yaml#cash", files: map[string]string{"types.yaml": "$defs:\n  Money: { $anchor: cash, type: object, properties: { amount: { type: integer } } }\n"}, want: "total: Cash"},
		"an anchor below an $id":          {to: "types.yaml#cash", files: map[string]string{"types.yaml": "$id: https://example.org/types.yaml\n$defs:\n  Money: { $anchor: cash, type: object, properties: { amount: { type: integer } } }\n"}, want: "total: Cash"},
		"a name with a blank":             {to: "my%20money.yaml", files: map[string]string{"my money.yaml": money}, want: "total: MyMoney"},
		"a URL that is the $id of a file": {to: "https://example.org/v2/money", files: map[string]string{"deep/down/m.json": `{"$id":"https://example.org/v2/money","type":"object","properties":{"amount":{"type":"integer"}}}`}, want: "total: Money"},
		"a chain through three files":     {to: "a/one.yaml", files: map[string]string{"a/one.yaml": "$ref: ../b/two.yaml#/definitions/Two\n", "b/two.yaml": "definitions:\n  Two: { $ref: ../money.yaml }\n", "money.yaml": money}, want: "total: Money"},
		"files that refer to each other":  {to: "tree.yaml", files: map[string]string{"tree.yaml": "type: object\nproperties: { parent: { $ref: leaf.yaml } }\n", "leaf.yaml": "type: object\nproperties: { root: { $ref: tree.yaml } }\n"}, want: `parent: "Leaf?"`},
		"a file that is only itself":      {to: "loop.yaml", files: map[string]string{"loop.yaml": "$ref: loop.yaml\n"}, want: "total: json", finds: "chain of references"},
		"no such file":                    {to: "nope.yaml", want: "total: json", finds: `$ref refers to "nope.yaml", which cannot be read: file does not exist`},
		"no such place":                   {to: "money.yaml#/nope", files: map[string]string{"money.yaml": money}, want: "total: json", finds: "which does not exist"},
		"a file that is no schema":        {to: "list.yaml", files: map[string]string{"list.yaml": "[1]"}, want: "total: json", finds: "which is not a schema"},
		"a file that is broken":           {to: "broken.json", files: map[string]string{"broken.json": "{\n  \"a\": }"}, want: "total: json", finds: "which cannot be read: broken.json:2:8: it is not JSON"},
		"a folder":                        {to: "common", files: map[string]string{"common/money.yaml": money}, want: "total: json", finds: "it is a folder"},
		"outside":                         {to: "../../etc/passwd", want: "total: json", finds: "it is outside of the folder ."},
		"outside, from the root":          {to: "/etc/passwd", want: "total: json", finds: "it is outside of the folder ."},
		"a file URL":                      {to: "file:///etc/passwd", want: "total: json", finds: "nothing is fetched from a network"},
		"a URL":                           {to: "https://example.org/money.json", want: "total: json", finds: `$ref refers to "https://example.org/money.json", which no file in the folder . has as its $id; nothing is fetched from a network; save it in the folder, with that $id`},
		"a file below an own $id":         {to: "money.yaml", start: "order.yaml", files: map[string]string{"order.yaml": "$id: https://example.org/schemas/order.yaml\n" + fmt.Sprintf(order, "money.yaml"), "money.yaml": money}, want: "total: Money"},
		"a URL beside the own $id":        {to: "-", start: "schemas/order.yaml", files: map[string]string{"schemas/order.yaml": "$id: https://example.org/schemas/order.yaml\n" + fmt.Sprintf(order, "https://example.org/types/money.yaml"), "types/money.yaml": money}, want: "total: Money"},
	} {
		t.Run(name, func(t *testing.T) {
			files := folderOf(c.files)
			start := c.start
			if start == "" {
				start = "order.yaml"
			}
			if files[start] == nil {
				files[start] = &fstest.MapFile{Data: fmt.Appendf(nil, order, c.to)}
			}
			result := importFrom(files, start)
			requireLoads(t, result)
			if !strings.Contains(string(result.Catalogue), c.want) {
				t.Errorf("%s is not in\n%s", c.want, result.Catalogue)
			}
			if found := rendered(result); !strings.Contains(found, c.finds) || c.finds == "" && strings.Contains(found, "import-reference") {
				t.Errorf("found\n%s", found)
			}
		})
	}
}

// A link cannot lead out of the folder, and nothing waits for a file that is no regular one.
func TestNoLinkLeadsOutOfTheFolder(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(outside, "secret.yaml"): "type: object\nproperties: { password: { type: string } }\n",
		filepath.Join(inside, "order.yaml"):   "title: order.placed\ntype: object\nproperties: { a: { $ref: out.yaml }, b: { $ref: below/secret.yaml }, c: { $ref: in.yaml } }\n",
		filepath.Join(inside, "money.yaml"):   "type: object\nproperties: { amount: { type: integer } }\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out.yaml": filepath.Join(outside, "secret.yaml"), "below": outside, "in.yaml": "money.yaml"} {
		if err := os.Symlink(to, filepath.Join(inside, link)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	result := importFrom(root.FS(), "order.yaml")
	requireLoads(t, result)
	text, found := string(result.Catalogue), rendered(result)
	if strings.Contains(text, "password") || !strings.Contains(text, `c: "In?"`) || strings.Count(found, "a link leads out of the folder .") != 2 {
		t.Errorf("%s\n%s", found, text)
	}
}

// Messages, operations and examples can be in other files, too.
func TestAsyncAPIAndOpenAPIReferToOtherFiles(t *testing.T) {
	files := folderOf(map[string]string{
		"asyncapi.yaml": `asyncapi: 3.0.0
channels:
  orders: { $ref: channels/orders.yaml }
operations:
  ship: { action: receive, channel: { $ref: '#/channels/orders' } }
`,
		"channels/orders.yaml": "messages:\n  order.placed: { $ref: ../messages.yaml#/messages/placed }\n",
		"messages.yaml":        "messages:\n  placed: { name: order.placed, payload: { $ref: schemas/order.json } }\n",
		"schemas/order.json":   `{"type":"object","properties":{"total":{"$ref":"money.json"}}}`,
		"schemas/money.json":   `{"type":"object","properties":{"amount":{"type":"integer"}}}`,
		"openapi.yaml":         "openapi: 3.1.0\nwebhooks:\n  order.placed: { $ref: hooks/placed.yaml }\n",
		"hooks/placed.yaml":    "post:\n  requestBody: { content: { application/json: { schema: { $ref: ../schemas/order.json }, examples: { one: { $ref: ../one.yaml } } } } }\n",
		"one.yaml":             "value: { total: { amount: 1 } }\n",
	})
	for _, name := range []string{"asyncapi.yaml", "openapi.yaml"} {
		result := importFrom(files, name)
		requireLoads(t, result)
		text := string(result.Catalogue)
		if !strings.Contains(text, `total: "Money?"`) || !strings.Contains(text, "order.placed:") || strings.Contains(rendered(result), "warning") {
			t.Errorf("%s: %s\n%s", name, rendered(result), text)
		}
		if want := map[string]string{"asyncapi.yaml": "ship: {}", "openapi.yaml": "- { total: { amount: 1 } }"}[name]; !strings.Contains(text, want) {
			t.Errorf("%s: %s is not in\n%s", name, want, text)
		}
	}
}

// Findings of several files name the file, and come file by file.
func TestFindingsNameTheirFile(t *testing.T) {
	files := folderOf(map[string]string{
		"a.yaml": "title: a\ntype: object\nproperties:\n  x: { type: object, properties: { y: { not: {} } } }\n  z: { $ref: b.yaml }\n",
		"b.yaml": "type: object\nproperties:\n  y: { not: {} }\n",
	})
	found := others(importFrom(files, "a.yaml"))
	if len(found) != 1 || !strings.Contains(found[0].Message, "(2 times: here and b.yaml:3:8)") {
		t.Errorf("%v", found)
	}
}

func TestExamplesOfAMessageCanBeInOtherFiles(t *testing.T) {
	const document = "asyncapi: 2.6.0\nchannels:\n  orders:\n    publish:\n      message:\n        name: order.placed\n" +
		"        payload: { type: object, properties: { id: { type: integer } } }\n        examples: [{ $ref: %s }, { payload: { id: 2 } }]\n"
	files := folderOf(map[string]string{"orders.yaml": fmt.Sprintf(document, "examples/one.json"), "examples/one.json": `{"name": "one", "payload": {"id": 1}}`, "lost.yaml": fmt.Sprintf(document, "examples/two.json")})
	result := importFrom(files, "orders.yaml")
	requireLoads(t, result)
	if want := "examples:\n      - { id: 1 }\n      - { id: 2 }\n"; !strings.Contains(string(result.Catalogue), want) {
		t.Errorf("%s is not in\n%s%s", want, result.Catalogue, rendered(result))
	}
	result = importFrom(files, "lost.yaml")
	if said := rendered(result); !strings.Contains(string(result.Catalogue), "examples:\n      - { id: 2 }\n") || !strings.Contains(said, `$ref refers to "examples/two.json", which cannot be read`) {
		t.Errorf("an example that is not there:\n%s%s", result.Catalogue, said)
	}
}
