// Package importer makes a catalogue of a JSON Schema ([JSONSchema]) or of an AsyncAPI
// document ([AsyncAPI]).
//
//	source.go      JSON and YAML as one kind of node, each with its place; source_json.go, source_yaml.go
//	finding.go     the rules: what has no counterpart in a catalogue is a finding, and never just gone
//	importer.go    the state of one import; what comes of it
//	jsonschema.go  which parts of a JSON Schema are events, and which are types
//	asyncapi.go    the document; asyncapi_messages.go, asyncapi_channels.go: who sends and receives;
//	               asyncapi_settings.go: the keys under x-busgen
//	alternatives.go  oneOf, anyOf and if at the top: an event for each payload that a schema describes
//	references.go  $ref and null: from a schema to the one that says what values there are; identifiers.go: $id
//	allof.go       several schemas that all hold; conditions.go: schemas that hold sometimes;
//	               sametype.go: alternatives of one type
//	typing.go      a schema as the type of a field
//	structs.go     properties as fields; enums.go: enum and const; unions.go: oneOf
//	scalars.go     formats, and constraints of texts and numbers
//	names.go       names in the alphabets of the language; newnames.go: what has another name
//	leftovers.go   keywords that have no counterpart
//	write.go       pieces of the catalogue as YAML; catalogue.go: the whole, for people
//	repair.go      the catalogue is read, and what its reader refuses is taken out
//
// The result is formatted, and has no findings when it is read.
package importer
