// Command busgen generates Go code from a catalogue of events, and looks into
// the file of a bus.
//
// Run "busgen help" for the manual. The verbs are in internal/cli; internal/cli/command says
// which there are.
package main

import "github.com/busgen/busgen/internal/cli/command"

func main() { command.Main() }
