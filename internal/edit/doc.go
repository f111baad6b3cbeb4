// Package edit changes the text of a catalogue and leaves alone what it is not
// about: comments, blank lines, quotes and alignment stay as a person wrote them.
//
//	format.go     [Format]: keys in their canonical order, indentation, blank lines
//	flow.go       the same inside { } in one line
//	order.go      what the canonical order is
//	catalogue.go  the files of a catalogue, and what is replaced in them
//	rename.go     [RenameEvent], [RenameType]: a name and all that refers to it; [RenameField],
//	              [RenameValue] and [RenameSubscription] have files of their own
//	aliases.go    the old names of what is renamed
//	insert.go     [AddEvent]: a new event beside its relatives
//	diff.go       [Diff]: what has changed, for people
//
// YAML is only read to learn where things are; what is written are the lines of
// the file, moved, indented or with words replaced. Format compares the result with
// what it was given, and refuses to return one that means something else.
package edit
