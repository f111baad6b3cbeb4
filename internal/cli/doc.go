// Package cli holds what the verbs of the command share. The verbs themselves
// are in two rooms below: catalogue has those about a catalogue, busfile those
// about the file of a bus.
//
// [Root] puts verbs below a root command, and [Run] runs a command line: it
// prints errors and chooses the exit status. A verb returns its report as a
// text and its failure as an error, and [Report] prints the report. [No] and
// [NotFound] say that an error is an answer rather than trouble.
//
// [LoadCatalogue] reads the catalogue that the arguments name, [Output] writes
// a result to standard output or to a file, and [EndOnSignal] ends the process on
// a signal. Package terminal has tables, colours, questions, and times in words.
package cli
