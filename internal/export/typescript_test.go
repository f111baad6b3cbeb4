package export_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/export"
	"github.com/busgen/busgen/internal/short"
)

var update = flag.Bool("update", false, "write the expected files in testdata")

func TestAModuleOfTypeScriptHasATypeAndAGuardOfEach(t *testing.T) {
	c := parsed(t, `version: 1
package: events
types:
  Colour: { enum: [red, "dark-blue"] }
  Level: { enum: { low: { number: 1 }, high: { number: 2, doc: It is urgent. } } }
  Sku: { type: string, pattern: "^[A-Z]+$", doc: Sku is the number of an article. }
  Box: { doc: "Box ends the comment: */ and goes on.", fields: { size: int, in: "Box?" } }
  Tube: { fields: { length: float64 } }
  Parcel: { one_of: { box: Box, tube: Tube }, discriminator: kind }
events:
  parcel.sent:
    doc: Published when it leaves.
    payload:
      id: uuid
      colour: Colour
      level: "Level?"
      sku: Sku
      of: Parcel
      notes: "[]string"
      tags: { type: "map[string][]int32", min_items: 1 }
      extra: json
      raw: "json?"
      gone: { type: "bool|null", deprecated: It always is. }
`)
	want, err := os.ReadFile("testdata/parcels.ts")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(export.TypeScript(c))); diff != "" {
		if *update {
			if err := os.WriteFile("testdata/parcels.ts", export.TypeScript(c), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		t.Error("-update writes it:", diff)
	}
}

func TestNoTwoTypesOfAModuleHaveTheSameName(t *testing.T) {
	c := parsed(t, `version: 1
package: events
types:
  EventName: { fields: { of: "Payloads?" } }
  Payloads: { type: string }
events:
  event: { payload: { name: EventName, payloads: Payloads } }
`)
	module := string(export.TypeScript(c))
	for _, name := range []string{"interface EventName2 {", "type Payloads2 =", "isEventName2(v: unknown)"} {
		if n := strings.Count(module, name); n != 1 {
			t.Errorf("%q is there %d times in\n%s", name, n, module)
		}
	}
}

// A judgement is what the guard of an event is to say about a payload.
type judgement struct {
	Event   string          `json:"event"`
	Payload json.RawMessage `json:"payload"`
	Fits    bool            `json:"fits"`
	Why     string          `json:"why"`
}

// script prints what guards say otherwise than they should.
const script = `
import { readFileSync } from "node:fs";
import { guards, isAnyEvent } from "./events.js";
for (const { event, payload, fits, why } of JSON.parse(readFileSync(new URL("payloads.json", import.meta.url), "utf8"))) {
	const said = [guards[event](payload), isAnyEvent({ type: event, data: payload })];
	if (said[0] !== fits || said[1] !== fits) console.log(event, why, JSON.stringify(payload), "guards say", said);
}
if (isAnyEvent({ type: "no.such.event", data: {} }) || isAnyEvent({ type: "toString", data: {} }) || isAnyEvent(null)) {
	console.log("an event that is not in the catalogue passes");
}
`

func TestModulesAreCompiledStrictlyAndTheirGuardsKnowTheSamples(t *testing.T) {
	short.Visit(t, "it runs the compiler of TypeScript")
	for _, tool := range []string{"tsc", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s: npm install --global typescript", tool)
		}
	}
	folder := t.TempDir()
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("package.json", []byte(`{"type": "module"}`))
	var modules []string
	n := 0
	for path, c := range catalogues(t) {
		own := fmt.Sprint("c", n)
		n++
		modules = append(modules, own+"/events.ts")
		write(own+"/events.ts", export.TypeScript(c))
		payloads, err := json.Marshal(judgements(t, c))
		if err != nil {
			t.Fatal(err)
		}
		write(own+"/payloads.json", payloads)
		write(own+"/check.js", []byte("// "+path+script))
	}
	compile := exec.Command("tsc", append([]string{"--strict", "--noUnusedLocals", "--target", "es2022", "--module", "nodenext"}, modules...)...)
	compile.Dir = folder
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	for _, m := range modules {
		out, err := exec.Command("node", filepath.Join(folder, filepath.Dir(m), "check.js")).CombinedOutput()
		if err != nil || len(out) > 0 {
			text, _ := os.ReadFile(filepath.Join(folder, m))
			t.Errorf("%v %s\n%s", err, out, bytes.SplitN(text, []byte("\n"), 2)[0])
		}
	}
}

// judgements are of the samples and examples of all events: as they are, with an unknown field, and spoilt.
func judgements(t *testing.T, c *catalog.Catalogue) []judgement {
	t.Helper()
	all := []judgement{}
	for _, e := range c.Events {
		for _, payload := range examples(e) {
			all = append(all, judgement{e.Name.V, payload, true, "as it is"})
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(payload, &fields); err != nil {
				t.Fatal(err)
			}
			with := func(name string, value json.RawMessage, fits bool, why string) {
				t.Helper()
				other := map[string]json.RawMessage{name: value}
				for k, v := range fields {
					if k != name {
						other[k] = v
					}
				}
				if value == nil {
					delete(other, name)
				}
				changed, err := json.Marshal(other)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, judgement{e.Name.V, changed, fits, why + " " + name})
			}
			with("a field of tomorrow", json.RawMessage(`1`), true, "with")
			for _, f := range e.Fields {
				with(f.Name.V, nil, f.Type.Optional, "without")
				other := json.RawMessage("[[{}]]")
				if bytes.HasPrefix(fields[f.Name.V], []byte("[")) {
					other = json.RawMessage("7")
				}
				if f.Type.Kind != catalog.JSON {
					with(f.Name.V, other, false, "something else in")
				}
			}
		}
		all = append(all, judgement{e.Name.V, json.RawMessage("null"), false, "nothing"}, judgement{e.Name.V, json.RawMessage("[]"), false, "a list"})
	}
	return slices.Clip(all)
}
