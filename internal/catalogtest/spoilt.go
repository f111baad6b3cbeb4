package catalogtest

import (
	"encoding/json"
	"maps"
	"slices"

	"pgregory.net/rapid"
)

// Odd are values that fit few types.
var Odd = []string{`null`, `true`, `"x"`, `""`, `1`, `-1`, `1.5`, `1e2`, `1e400`, `[]`, `[null]`, `{}`, `{"x":1}`, `99999999999`, `"2024-02-30"`, `"AA"`,
	"\"\xff\"", `"\ud800"`, `{"x":1,"x":1}`, `[{"x":1,"x":1}]`}

// Spoilt returns a JSON value with one value inside of it replaced by another. The values are such that
// the fields of templates/testdata/features.yaml take some of them.
func Spoilt(t *rapid.T, value any) any {
	switch value := value.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(value))
		if len(keys) == 0 || rapid.IntRange(0, 9).Draw(t, "here") == 0 {
			break
		}
		key := rapid.SampledFrom(keys).Draw(t, "key")
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			delete(value, key)
		case 1:
			value["unknown"] = json.RawMessage(rapid.SampledFrom([]string{"1", "null"}).Draw(t, "unknown"))
		case 2:
			if was := formerNames[key]; was != nil { // under another name, or under both
				value[rapid.SampledFrom(was).Draw(t, "was")] = value[key]
				if rapid.IntRange(0, 3).Draw(t, "both") > 0 {
					delete(value, key)
				}
			}
		default:
			value[key] = Spoilt(t, value[key])
		}
		return value
	case []any:
		if len(value) == 0 || rapid.IntRange(0, 2).Draw(t, "here") == 0 {
			break
		}
		i := rapid.IntRange(0, len(value)-1).Draw(t, "i")
		value[i] = Spoilt(t, value[i])
		return append(value, value[:rapid.IntRange(0, 1).Draw(t, "again")]...)
	}
	return json.RawMessage(rapid.SampledFrom(Spoils).Draw(t, "spoil"))
}

// formerNames are those of the fields of features.yaml.
var formerNames = map[string][]string{"to": {"home", "address"}, "floor": {"level"}, "stops": {"steps"}, "by": {"how"}, "label": {"name"}}

// Spoils are values that some field takes.
var Spoils = append([]string{
	`0`, `0.5`, `2`, `5`, `-9`, `10`, `11`, `-6`, `"0.01"`, `"0.009"`, `"1000.0"`, `"1001"`, `"1s"`, `"999ms"`, `"9600h"`, `"ab"`, `"abcde"`, `"äöüß"`, `"AAEC"`, `"AAECAw=="`,
	`"12345678"`, `"a b"`, `"ada@example.org"`, `"Ada <ada@example.org>"`, `["a","a"]`, `["a","b","c"]`, `["monday","friday"]`, `["monday","monday"]`, `{"a":1,"b":2}`, `{"a":1,"b":2,"c":3}`,
	`"red"`, `"2024-02-29"`, `"dark-green"`, `{"kind":"card","last_four":"1","tags":[]}`, `{"kind":"in-cash"}`, `{"kind":"in-cash","x":1}`, `{"kind":"invoice","due_on":"2024-02-29"}`, `{"kind":"cheque"}`,
	`[{"at":"2020-01-01","by":"red"},{}]`, `[{"how":null}]`, `{"x":1,"y":2}`, `{"x":1,"y":2,"z":null}`, `{"kind":"invoice","due_on":"2024-02-29","x":null}`,
	`{"type":"number","value":1}`, `{"type":"sum","left":{"type":"product","factors":[]}}`, `{"street":"x","floor":null}`, `"018F4F2E-0000-7000-8000-000000000001"`,
}, Odd...)
