// Package edit changes the text of a catalogue. Comments, blank lines, quotes and alignment stay as a
// person wrote them.
//
//	format.go     [Format]: keys in their canonical order, indentation, blank lines
//	flow.go       the same for { } in one line
//	order.go      the canonical order of keys
//	catalogue.go  the files of a catalogue, and replacements in them
//	rename.go     [RenameEvent], [RenameType]: a name and all references to it; [RenameField],
//	              [RenameValue] and [RenameSubscription] have files of their own
//	aliases.go    keeps the old name of a renamed thing as an alias
//	mixins.go     structs in lists of mixins, and the fields that they bring
//	insert.go     [AddEvent]: adds an event beside those of its namespace
//	diff.go       [Diff]: the changes, for people
//
// The package parses YAML only to learn where things are. It writes the lines of the file: moved,
// indented, or with words replaced. Format compares the result with its input, and returns an error if it
// means something else.
package edit
