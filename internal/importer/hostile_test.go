package importer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/short"
)

// Documents of a few kilobytes that would become endless if every part was made again where it is used. Each is
// imported with a bounded amount of memory; the test hangs, or is killed, if one is not.
func TestDocumentsThatExplodeAreImportedInBounds(t *testing.T) {
	short.Visit(t, "it imports many documents")
	defs := func(n int, def func(i int) string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%q: %s,\n", fmt.Sprintf("d%d", i), def(i))
		}
		fmt.Fprintf(&b, "%q: {\"type\": \"object\", \"properties\": {\"leaf\": {\"type\": \"string\"}}}\n", fmt.Sprintf("d%d", n))
		return b.String()
	}
	ref := func(i int) string { return fmt.Sprintf(`{"$ref": "#/$defs/d%d"}`, i) }
	for name, document := range map[string]string{
		"allOf of the same twice": `{"$ref": "#/$defs/d0", "$defs": {` + defs(60, func(i int) string {
			return `{"allOf": [` + ref(i+1) + `,` + ref(i+1) + `]}`
		}) + `}}`,
		"allOf in parts beside": `{"$ref": "#/$defs/d0", "$defs": {` + defs(60, func(i int) string {
			return fmt.Sprintf(`{"allOf": [%s, %s], "properties": {"p%d": {"allOf": [%s, %s]}}}`, ref(i+1), ref(i+1), i, ref(i+1), ref(i+1))
		}) + `}}`,
		"the same property in two parts": `{"$ref": "#/$defs/d0", "$defs": {` + defs(40, func(i int) string {
			return fmt.Sprintf(`{"allOf": [{"properties": {"x": {"properties": {"a%d": {}}}}}, {"properties": {"x": %s}}, %s]}`, i, ref(i+1), ref(i+1))
		}) + `}}`,
		"oneOf of oneOf": `{"$ref": "#/$defs/d0", "$defs": {` + defs(40, func(i int) string {
			return `{"oneOf": [` + ref(i+1) + `,` + ref(i+1) + `], "properties": {"x": {"type": "string"}}}`
		}) + `}}`,
		"anyOf in properties": `{"$ref": "#/$defs/d0", "$defs": {` + defs(40, func(i int) string {
			return `{"properties": {"x": {"anyOf": [` + ref(i+1) + `,` + ref(i+1) + `]}, "y": {"oneOf": [` + ref(i+1) + `,` + ref(i+1) + `]}}}`
		}) + `}}`,
		"conditions in conditions": `{"$ref": "#/$defs/d0", "$defs": {` + defs(40, func(i int) string {
			return fmt.Sprintf(`{"properties": {"k%d": {"type": "string"}}, "if": {"properties": {"k%d": {"const": "a"}}}, "then": %s, "else": %s}`, i, i, ref(i+1), ref(i+1))
		}) + `}}`,
		"structs in place": `{"type": "object", "properties": {"x": ` + strings.Repeat(`{"type": "object", "properties": {"x": `, 200) + `{"type":"string"}` + strings.Repeat(`}}`, 200) + `}}`,
		"a wide allOf": `{"title": "wide", "allOf": [` + strings.Repeat(ref(0)+",", 5000) + `{}], "$defs": {` + defs(1, func(int) string {
			return `{"type": "object", "properties": {` + strings.Repeat(`"a": {}, `, 1) + `"b": {"type": "string"}}}`
		}) + `}}`,
		"wide alternatives": `{"title": "wide", "oneOf": [` + strings.Repeat(ref(0)+",", 3000) + ref(1) + `], "properties": {"x": {}}, "$defs": {` + defs(1, func(int) string {
			return `{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}`
		}) + `}}`,
		"examples of examples": `{"title": "e", "type": "object", "properties": {"x": {"$ref": "#"}}, "examples": [` + strings.Repeat(`{"x": `, 300) + `{"y": 1}` + strings.Repeat(`}`, 300) + `]}`,
		"a recursive allOf":    `{"title": "r", "allOf": [{"$ref": "#"}, {"properties": {"x": {"$ref": "#"}}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			result := importer.Import("bomb.json", []byte(document), importer.Options{RenameKeys: true})
			requireLoads(t, result)
			if len(result.Catalogue) > 10<<20 || len(result.Findings) > 10_000 {
				t.Errorf("%d bytes of catalogue, %d findings", len(result.Catalogue), len(result.Findings))
			}
		})
	}
}

// A schema may lead back to itself on every way: with something beside the reference, through alternatives, and through
// null. An import of such a document was without end.
func TestSchemasThatLeadBackToThemselvesAreImported(t *testing.T) {
	short.Visit(t, "it imports many documents")
	for name, definitions := range map[string]string{
		"with a limit beside the reference": `A: { $ref: '#/$defs/A', minLength: 3 }`,
		"over another one, each with a limit": `
  A: { $ref: '#/$defs/B', minLength: 3 }
  B: { $ref: '#/$defs/A', maxLength: 5 }`,
		"with parts beside the reference": `A: { $ref: '#/$defs/A', allOf: [{ $ref: '#/$defs/A', type: object }], properties: { y: { $ref: '#/$defs/A' } } }`,
		"as one of its parts":             `A: { allOf: [{ $ref: '#/$defs/A' }, { properties: { y: { $ref: '#/$defs/A', title: Y } } }] }`,
		"as one of its alternatives":      `A: { oneOf: [{ $ref: '#/$defs/A' }, { type: object, properties: { y: { $ref: '#/$defs/A' } } }, { type: 'null' }] }`,
		"over alternatives of others": `
  A: { anyOf: [{ $ref: '#/$defs/B' }, { $ref: '#/$defs/A' }, { type: 'null' }] }
  B: { oneOf: [{ $ref: '#/$defs/A', required: [y] }, { type: object, properties: { y: { type: string } } }, { type: 'null' }] }`,
		"as its only alternative besides null": `A: { oneOf: [{ $ref: '#/$defs/A' }, { type: 'null' }], minLength: 1 }`,
		"under a condition":                    `A: { if: { $ref: '#/$defs/A' }, then: { $ref: '#/$defs/A', properties: { y: { type: string } } }, else: { $ref: '#/$defs/A' } }`,
		"as its items":                         `A: { type: array, items: { $ref: '#/$defs/A', minItems: 1 } }`,
	} {
		t.Run(name, func(t *testing.T) {
			for _, root := range []string{"properties: { x: { $ref: '#/$defs/A' }, z: { type: string } }", "oneOf: [{ $ref: '#/$defs/A' }, { type: object, properties: { z: { type: string } } }]"} {
				source := "title: thing.done\ntype: object\n" + root + "\n$defs:\n  " + definitions + "\n"
				requireLoads(t, importer.Import("thing.yaml", []byte(source), importer.Options{}))
			}
		})
	}
}
