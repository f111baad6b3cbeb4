// Package export writes a catalogue in the languages of others: JSON Schema for
// payloads ([JSONSchema]) and AsyncAPI for the whole ([AsyncAPI]).
//
// Both are made of the same schemas, which describe what a reader of payloads may
// rely on: every required field is there and of its type. Fields that are not in
// the catalogue are not ruled out, so that those who validate with yesterday's
// export accept the event to which a field was added today.
//
// Everything is written in the order of the catalogue, so that a difference
// between two exports is one between two catalogues.
package export
