package catalogue

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/catalog/parse"
	"github.com/busgen/busgen/internal/setting"
	"github.com/busgen/busgen/internal/short"
)

// A place has something of the catalogue, as the reader of catalogues knows its keys. KEY stands for one more of them.
type place struct {
	catalogue string
	values    map[string]string // of each key of the language, one that means something
	silent    map[string]string // keys that a tool need not know: the tools, or * for all
}

const around = "version: 1\npackage: shop\ntest_kit: true\nimport_path: example.com/shop\n"

// settings has a value for each setting, which is not the one that is built in.
var settings = plainAnd(map[string]string{
	"retry": "{ max_attempts: 7 }", "breaker": "off", "batch": "{ size: 25 }", "limits": "[bank]",
	"errors": "{ refused: permanent }", "redrive": "{}", "priority": "critical",
})

func plainAnd(all map[string]string) map[string]string {
	for _, row := range setting.Plain {
		all[row.Key] = map[setting.Kind]string{setting.Span: "9h", setting.Count: "8", setting.Flag: "true"}[row.Kind]
	}
	return all
}

// with returns the values of settings and others.
func with(others map[string]string) map[string]string {
	all := maps.Clone(settings)
	maps.Copy(all, others)
	return all
}

// inShort returns what is silent: also describe, which leaves to policy what few people look for.
func inShort(others map[string]string) map[string]string {
	all := map[string]string{}
	for key := range settings {
		if !slices.Contains([]string{"concurrency", "strict_order", "batch", "limits", "timeout", "expires_after", "retry", "redrive", "priority"}, key) {
			all[key] = "describe"
		}
	}
	maps.Copy(all, others)
	return all
}

var places = map[string]place{
	"event": {
		catalogue: around + "limits: { bank: { at_once: 4 } }\ntypes: { Audit: { fields: { by: \"string?\" } } }\nevents:\n  a.done: { payload: { id: string, note: \"string?\" }, KEY }\n",
		values: with(map[string]string{
			"doc": "It is done.", "deprecated": "Nobody needs it.", "owner": "ada", "tags": "[money]", "go_name": "Finished", "aliases": "[a.made]",
			"result": "string", "mixins": "[Audit]", "reserved": "[text]", "json_names": "pascal", "wire": "A.Done", "schema": "DonePayload", "examples": "[{ id: seven }]", "partition_by": "id", "dedupe_by": "id", "await_by": "id", "subscriptions": "{ first: {} }",
		}),
		silent: inShort(map[string]string{
			"payload": "*", "version": "*", "history": "*", // cannot be added alone
			"reserved": "code", "owner": "code", "tags": "code", // for readers of the catalogue
			"schema": "code", // and for documents
		}),
	},
	"subscription": {
		catalogue: around + "limits: { bank: { at_once: 4 } }\nevents:\n  a.done: { partition_by: id, payload: { id: string }, subscriptions: { first: { KEY }, second: { group: chain }, third: { group: chain } } }\n",
		values:    with(map[string]string{"doc": "Does it.", "go_name": "DoIt", "aliases": "[zeroth]", "group": "chain"}),
		silent:    inShort(map[string]string{"go_name": "describe"}), // it is that of a constant
	},
	"limit": {
		catalogue: around + "limits: { bank: { at_once: 4, rate: 5 per 1s, KEY } }\nevents:\n  a.done: { limits: [bank] }\n",
		values:    map[string]string{"doc": "It is busy.", "go_name": "House"},
		silent: map[string]string{"at_once": "*", "rate": "*", // it has these
			"go_name": "policy docs describe", "doc": "describe"},
	},
	"group": {
		catalogue: around + "events:\n  a.done: { subscriptions: { first: { group: chain }, second: { group: chain } } }\ngroups: { chain: { KEY } }\n",
		values:    map[string]string{"doc": "Both of them.", "aliases": "[pair]"},
		silent:    map[string]string{"doc": "code describe", "aliases": "describe"},
	},
	"cloudevents": {
		catalogue: around + "cloudevents: { source: https://a.example, KEY }\nevents:\n  a.done: {}\n",
		values:    map[string]string{"type_prefix": "com.example.", "dataschema": `"https://a.example/{type}"`},
		silent:    map[string]string{"source": "*"}, // it has it
	},
	"schedule": {
		catalogue: around + "events:\n  a.done: { payload: { n: { type: int, default: 1 } } }\nschedules: { nightly: { event: a.done, cron: \"0 3 * * *\", KEY } }\n",
		values:    map[string]string{"doc": "Each night.", "time_zone": "Europe/Berlin", "missed": "all", "payload": "{ n: 2 }"},
		silent:    map[string]string{"event": "*", "cron": "*", "every": "*"}, // it has these, or the other one
	},
}

// What the language has, the tools know: a new key needs a value here, and has to be seen in what each of them prints.
func TestEveryKeyIsSeenByEveryTool(t *testing.T) {
	short.Visit(t, "it runs git, or compiles")
	for name, p := range places {
		t.Run(name, func(t *testing.T) {
			keys := keysOf(t, p.catalogue)
			before := printed(t, strings.Replace(p.catalogue, "KEY", "", 1))
			for _, key := range keys {
				if p.silent[key] == "*" {
					continue
				}
				value, known := p.values[key]
				if !known {
					t.Errorf("this test has no value for %s", key)
					continue
				}
				after := printed(t, strings.Replace(p.catalogue, "KEY", key+": "+value, 1))
				_, setting := settings[key]
				for tool, text := range after {
					if text == before[tool] && !strings.Contains(p.silent[key], tool) && (setting || tool != "policy" || name == "limit") {
						t.Errorf("%s does not know %s: %s", tool, key, value)
					}
				}
			}
		})
	}
}

// keysOf returns the keys that the reader names when one is wrong.
func keysOf(t *testing.T, catalogue string) []string {
	t.Helper()
	_, findings := parse.Text("events.yaml", []byte(strings.Replace(catalogue, "KEY", "zzzzzzzz: 1", 1)))
	for _, f := range findings {
		if _, list, ok := strings.Cut(f.Hint, "its keys are "); ok {
			return slices.Sorted(strings.SplitSeq(list, ", "))
		}
	}
	t.Fatalf("the reader names no keys: %v", findings)
	return nil
}

// printed returns what tools print about a catalogue.
func printed(t *testing.T, catalogue string) map[string]string {
	t.Helper()
	inFolder(t, map[string]string{"go.mod": "module shop\n", "events.yaml": catalogue})
	if got := busgen(t, "-q"); got.Status != 0 {
		t.Fatalf("%+v", got)
	}
	code := ""
	files, err := filepath.Glob("*.gen.go")
	must(t, err)
	for _, name := range append(files, "shoptest/testkit.gen.go") {
		code += read(t, name)
	}
	all := map[string]string{"code": code}
	for _, line := range []string{"policy", "docs", "describe a.done"} {
		got := busgen(t, line)
		if got.Status != 0 {
			t.Fatalf("%s: %+v", line, got)
		}
		all[strings.Fields(line)[0]] = got.Stdout
	}
	return all
}
