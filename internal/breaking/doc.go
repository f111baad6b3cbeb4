// Package breaking compares two states of a catalogue, and finds what the change does to stored events.
//
// The file of a bus outlives the program that writes it, so a change has two directions
// ([diag.Direction]). Backward: from its first start on, the new program reads events that the old one has
// stored. Forward: while both run, or after a rollback, the old program reads events of the new one.
// [Compare] reports what goes wrong in each direction: events that do not decode, values that the
// catalogue does not allow, events without a handler.
//
// Compare assumes the lenient decoding of generated code: a missing field has its default or its zero
// value, former names of fields are read, unknown fields are ignored, and constraints are not checked. It
// compares types where events use them, by their JSON and not by their names. It does not ask whether Go
// code still compiles: the compiler does that.
//
// Each of the [Rules] has an example of what it reports.
package breaking
