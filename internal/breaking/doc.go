// Package breaking compares two states of a catalogue, and finds what a change does to
// stored events.
//
// A file of a bus outlives the program that writes it, so that a change has two
// directions ([diag.Direction]): the new program reads rows that the old one has stored, from
// its first start on; and the old program reads rows of the new one, while both run,
// or after a rollback. [Compare] reports what goes wrong in each of them: rows that do
// not decode, values that are not what the catalogue says, events that nobody handles.
//
// It goes by how generated code decodes, which is lenient: what is missing has its default
// or is zero, former names of fields are read, what is unknown is passed over, constraints
// are not looked at. Types are compared where events use them, by what their JSON is; their
// names do not count. Whether Go code still compiles is not asked: the compiler says so.
//
// The rules are values ([Rules]) with an example of what each reports.
package breaking
