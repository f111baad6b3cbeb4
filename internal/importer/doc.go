// Package importer makes a catalogue of a JSON Schema ([JSONSchema]), of an AsyncAPI document
// ([AsyncAPI]) or of the webhooks of an OpenAPI document ([OpenAPI]), with the files that they refer to.
//
// Each package below owns one step, and uses only those above it:
//
//	tree      JSON and YAML as one kind of node, each with its place
//	findings  what has no counterpart in a catalogue is a finding, and never just gone; what has another name
//	names     names in the alphabets of the language
//	files     the files that references lead to, $id, and what is at a $ref
//	schema    what a schema says: references, null, parts that all hold (allOf) or hold sometimes, kinds, variants
//	payloads  oneOf, anyOf and if at the top: an event for each payload that a schema describes
//	evidence  what examples show beyond the schemas
//	draft     the catalogue that is being made, as YAML; what its reader refuses is taken out
//	types     a schema as the type of a field: structs, unions, enums, scalars, and what is left over
//
// The files here find the events: jsonschema.go in the definitions of a schema; asyncapi.go and its neighbours in
// messages, with who sends and receives them, and their settings under x-busgen; openapi.go in webhooks and callbacks,
// which are read as messages of AsyncAPI. Read importer.go first, which has the order of an import, then
// schema/follow.go and types/types.go.
//
// References are resolved in package files, and not by a library. An import needs the place of each value, goes on
// after a bad reference, and reads AsyncAPI and OpenAPI as well as schemas. A validator of JSON Schema, such as
// santhosh-tekuri/jsonschema v6 (which our tests use) or google/jsonschema-go v0.4, checks a schema as a whole, stops
// at its first bad reference, and keeps neither places nor the order of properties. getkin/kin-openapi v0.153 and
// go-openapi/spec v1.0 read OpenAPI only. pb33f/libopenapi v0.42 keeps places, but is 80,000 lines in 14 modules, with
// a fork of the YAML reader. The rest is 300 lines, most of them about folders, links and findings, which no library
// has; net/url and os.Root do the rest.
//
// The result is formatted, and has no findings when it is read.
package importer
