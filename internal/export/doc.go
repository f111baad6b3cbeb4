// Package export converts a catalogue to JSON Schema (the payloads, [JSONSchema]), to
// AsyncAPI (all of it, [AsyncAPI]) and to TypeScript (types and type guards, [TypeScript]).
//
// The first two use the same schemas. Required fields are there and of their type. Other fields
// are allowed, so an older export still accepts events to which a field was added.
//
// The output follows the order of the catalogue, so two exports differ only where the
// catalogues do.
package export
