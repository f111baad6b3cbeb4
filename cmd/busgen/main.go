// Command busgen generates Go code from a catalogue of events.
//
// Run "busgen help" for the manual. main.go, signals.go and run.go are the frame; each
// verb has a file of its own, and returns what it has to say instead of
// printing it.
package main

import "os"

func main() {
	process := endOnSignal()
	process.exit(run(process.ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
