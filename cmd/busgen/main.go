// Command busgen generates Go code from a catalogue of events, and looks into
// the file of a bus.
//
// Run "busgen help" for the manual. The verbs are in internal/cli; root.go says
// which there are.
package main

import (
	"os"
	_ "time/tzdata" // catalogues name time zones, and machines may have none

	"github.com/busgen/busgen/internal/cli"
)

func main() {
	process := cli.EndOnSignal()
	process.Exit(cli.Run(process.Context, newRoot(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
