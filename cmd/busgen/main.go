// Command busgen generates Go code from a catalogue of events.
//
// Run "busgen help" for the manual. main.go and run.go are the frame; each
// verb has a file of its own, and returns what it has to say instead of
// printing it.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
