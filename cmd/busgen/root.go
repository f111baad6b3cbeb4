package main

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/busfile"
	"github.com/busgen/busgen/internal/cli/catalogue"
)

// newRoot builds the command tree. The root does what generate does, so that
// the shortest command is the most frequent one.
func newRoot() *cobra.Command {
	root := catalogue.Generate()
	root.Use = "busgen [events.yaml]"
	root.Short = "Generate Go code from a catalogue of events"
	root.Long = `busgen reads a catalogue, a YAML file that declares the events of a program, and
writes a Go package with a struct for each payload and typed functions that
publish events and subscribe to them.

Without a verb it does what "busgen generate" does. Every verb that reads a
catalogue takes it as its first argument; without one it reads ./events.yaml.
Other verbs look into the file of a bus and steer it, while the program runs or
after it has died.

Exit status: 0 done, 1 the answer is no (findings in the catalogue; generated
code out of date; a damaged file), 2 trouble with the command line or with
files, 3 what was asked for is not there (no such event; no dead letter that
matches). What a verb means by 1 is in its own help, and so is a status of its
own. Ctrl-C and SIGTERM end every verb at once, with 128 + the number of the
signal; it has changed all of its files then, or none.`
	root.Example = `  busgen init                      # start with a catalogue in ./events
  busgen                           # generate from ./events.yaml
  busgen events/events.yaml        # generate from another one
  busgen check events/events.yaml  # in CI: is the checked-in code up to date?
  busgen status shop.db            # how is the bus in shop.db doing?

  //go:generate go tool busgen generate events.yaml`
	root.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && !cli.IsCatalogue(args[0]) {
			return cli.UnknownVerb(cmd, args[0])
		}
		return cli.AtMostOne("catalogue")(cmd, args)
	}
	root.Version = "see version.go" // so that there is a flag
	root.SetVersionTemplate(version())
	return cli.Root(root,
		cli.Group{Title: "Catalogues:", Verbs: catalogue.Verbs()},
		cli.Group{Title: "The file of a bus:", Verbs: busfile.Verbs()},
		cli.Group{Verbs: []*cobra.Command{cli.Completion(), newVersion()}},
	)
}
