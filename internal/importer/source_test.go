package importer_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/busgen/busgen/internal/importer"
)

// 010 is 8 in YAML 1.1 and 10 in YAML 1.2.
func TestANumberThatReadersOfYAMLDisagreeOnIsItsText(t *testing.T) {
	for number, fits := range map[string]bool{
		"010": false, "0777": false, "-010": false, "09": false, "1_000": false, "0b11": false, "00.5": false,
		"0": true, "10": true, "0x10": true, "0.5": true, "1e3": true, `"010"`: true, "'1_000'": true,
	} {
		source := "title: thing.done\ntype: object\nproperties:\n  a: { type: string, maxLength: " + number + " }\n"
		result := importer.Import("thing.yaml", []byte(source), importer.Options{})
		var said []string
		for _, f := range result.Findings {
			said = append(said, f.String())
		}
		found := strings.Contains(strings.Join(said, "\n"), "thing.yaml:4:33: warning: readers of YAML take the number "+number+" for different values")
		if found == fits || !fits && strings.Contains(string(result.Catalogue), "max_length") {
			t.Errorf("%s: %q\n%s", number, said, result.Catalogue)
		}
	}
	for _, c := range []struct{ schema, want string }{
		{"{ type: string, example: 012 }", `x: "string?"`},
		{"{ type: string, default: 012 }", `x: { type: "string?", default: "012" }`},
		{"{ type: integer, enum: [012] }", `x: "int64?"`},
		{"{ const: 012 }", `x: "json?"`},
	} {
		result := importer.Import("thing.yaml", []byte("title: thing.done\ntype: object\nproperties:\n  x: "+c.schema+"\nexamples: [{ x: 012 }]"), importer.Options{})
		requireLoads(t, result)
		if !strings.Contains(string(result.Catalogue), c.want) {
			t.Errorf("%s: %s is not in\n%s%s", c.schema, c.want, result.Catalogue, rendered(result))
		}
	}
}

func TestMergeKeysOfYAMLBringTheMembersOfOthers(t *testing.T) {
	const source = `x-one: &one { type: object, properties: { a: { type: string } } }
x-two: &two { properties: { b: { type: string } }, required: [a], title: left }
title: thing.done
<<: [*one, *two]
$defs:
  Line: { <<: *two, properties: { <<: { c: { type: integer } }, d: { type: string } } }
  Own: { "<<": { type: string } }
`
	result := importer.Import("thing.yaml", []byte(source), importer.Options{})
	requireLoads(t, result)
	for _, want := range []string{"thing_done:\n    payload: { a: string }", "Line: { doc: left, fields: { c: int64?, d: string?, a: json } }"} {
		if !strings.Contains(strings.ReplaceAll(string(result.Catalogue), `"`, ""), want) {
			t.Errorf("%s is not in\n%s%s", want, result.Catalogue, rendered(result))
		}
	}
	result = importer.Import("thing.yaml", []byte("title: thing.done\ntype: object\nproperties: { a: { type: string } }\n<<: [5]\n"), importer.Options{})
	if requireLoads(t, result); !strings.Contains(rendered(result), "thing.yaml:4:1: error: << names something that is not an object") {
		t.Errorf("%s", rendered(result))
	}
	var bomb strings.Builder
	bomb.WriteString("title: thing.done\nproperties: { a: { type: string } }\na0: &a0 { x0: 1 }\n")
	for i := range 3000 {
		fmt.Fprintf(&bomb, "a%d: &a%[1]d { <<: *a%d, x%[1]d: 1 }\n", i+1, i)
	}
	result = importer.Import("thing.yaml", []byte(bomb.String()), importer.Options{})
	if requireLoads(t, result); result.Catalogue == nil || !strings.Contains(rendered(result), "more than 100000 members in all") {
		t.Errorf("%.2000s", rendered(result))
	}
}

// Two lesser-than signs are a merge key only as a key, and without quotes.
func TestLesserThanSignsAreNamesAndValuesToo(t *testing.T) {
	for source, want := range map[string]string{
		"title: a.b\nproperties: { op: { type: string, default: << } }":                                     `payload: { op: { type: string?, default: << } }`,
		"title: a.b\nproperties: { op: { type: string, enum: [<<, '>>'] } }":                                `enum: { <<: { go_name: `,
		"title: a.b\nproperties: { '<<': { type: string }, b: { type: string } }":                           `payload: { field: { type: string?, json: << }, b: string? }`,
		"title: a.b\nproperties: { '<<': { type: string }, <<: { y: { type: int } }, z: { type: string } }": `payload: { field: { type: string?, json: << }, y: json?, z: string? }`,
	} {
		result := importer.Import("a.yaml", []byte(source), importer.Options{})
		requireLoads(t, result)
		if !strings.Contains(strings.ReplaceAll(string(result.Catalogue), `"`, ""), want) {
			t.Errorf("%s\nbecomes\n%s%swant %s", source, result.Catalogue, rendered(result), want)
		}
	}
}

func TestTextOfUTF16IsReadAndOtherTextHasAPlace(t *testing.T) {
	const source = "{\"title\":\"thing.done\",\n\"properties\":{\"größe\":{\"type\":\"string\",\"minLength\":-1}}}"
	want := importer.Import("thing.json", []byte(source), importer.Options{})
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var text []byte
		for _, unit := range utf16.Encode([]rune("\uFEFF" + source)) {
			text = order.AppendUint16(text, unit)
		}
		got := importer.Import("thing.json", text, importer.Options{})
		if requireLoads(t, got); string(got.Catalogue) != string(want.Catalogue) || rendered(got) != rendered(want) || got.Catalogue == nil {
			t.Errorf("%s: %s%s", name, got.Catalogue, rendered(got))
		}
		if got := importer.Import("thing.json", text[2:], importer.Options{}); got.Catalogue != nil {
			t.Errorf("%s without a mark: %s", name, got.Catalogue)
		}
	}
	for _, file := range []string{"thing.json", "thing.yaml"} {
		got := importer.Import(file, []byte(strings.Replace(source, "ö", "\xf6", 1)), importer.Options{})
		if said := rendered(got); got.Catalogue != nil || !strings.Contains(said, file+":2:18: error: it is not UTF-8 text: save it as UTF-8") {
			t.Errorf("%s", said)
		}
	}
}
