// Package importer makes a catalogue of a JSON Schema ([JSONSchema]), of an AsyncAPI document
// ([AsyncAPI]) or of the webhooks of an OpenAPI document ([OpenAPI]), with the files that they refer to.
//
//	source.go      JSON and YAML as one kind of node, each with its place; source_json.go, source_yaml.go
//	finding.go     the rules: what has no counterpart in a catalogue is a finding, and never just gone
//	importer.go    the state of one import; what comes of it
//	jsonschema.go  which parts of a JSON Schema are events, and which are types
//	asyncapi.go    the document; asyncapi_messages.go, asyncapi_channels.go: who sends and receives;
//	               asyncapi_settings.go: the keys under x-busgen
//	evidence.go    what examples show beyond the schemas
//	openapi.go     webhooks and callbacks, which are read as messages of AsyncAPI
//	files.go       the files that references lead to
//	alternatives.go  oneOf, anyOf and if at the top: an event for each payload that a schema describes
//	references.go  $ref and null: from a schema to the one that says what values there are; identifiers.go: $id
//	allof.go       several schemas that all hold; conditions.go: schemas that hold sometimes;
//	               sametype.go: alternatives of one type
//	typing.go      a schema as the type of a field
//	anyjson.go     the structs among values that are any JSON
//	structs.go     properties as fields; enums.go: enum and const; unions.go: oneOf
//	scalars.go     formats, constraints of texts and numbers, and the names of scalars
//	names.go       names in the alphabets of the language; newnames.go: what has another name
//	leftovers.go   keywords that have no counterpart
//	write.go       pieces of the catalogue as YAML; catalogue.go: the whole, for people
//	repair.go      the catalogue is read, and what its reader refuses is taken out
//
// References are resolved here, in files.go and identifiers.go, and not by a library. An import needs the place of
// each value, goes on after a bad reference, and reads AsyncAPI and OpenAPI as well as schemas. A validator of
// JSON Schema, such as santhosh-tekuri/jsonschema v6 (which our tests use) or google/jsonschema-go v0.4, checks a
// schema as a whole, stops at its first bad reference, and keeps neither places nor the order of properties.
// getkin/kin-openapi v0.153 and go-openapi/spec v1.0 read OpenAPI only. pb33f/libopenapi v0.42 keeps places, but is
// 80,000 lines in 14 modules, with a fork of the YAML reader. What is left to do is 300 lines, most of them about
// folders, links and findings, which no library has; net/url and os.Root do the rest.
//
// The result is formatted, and has no findings when it is read.
package importer
