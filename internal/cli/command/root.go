// Package command is the command busgen with all its verbs. There are two builds of it: the one
// of this module opens files, and the one of runtime/jetstream the addresses of its engine, too.
package command

import (
	"os"
	_ "time/tzdata" // catalogues name time zones, and machines may have none

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/busfile"
	"github.com/busgen/busgen/internal/cli/catalogue"
)

// Main runs the command line of this process, and ends it. The verbs about a bus take files,
// and the addresses of the engines.
func Main(on ...cli.Engine) {
	process := cli.EndOnSignal()
	process.Exit(cli.Run(process.Context, New(on...), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// New returns the root command with all verbs. It does what generate does, so
// that the most frequent command is the shortest.
func New(on ...cli.Engine) *cobra.Command {
	root := catalogue.Generate()
	root.Use = "busgen [events.yaml]"
	root.Short = "Generate Go code from a catalogue of events"
	root.Long = `busgen reads a catalogue, a YAML file that declares the events of a program, and
writes a Go package with a struct for each payload and typed functions that
publish events and subscribe to them.

Without a verb it does what "busgen generate" does. Every verb that reads a
catalogue takes it as its first argument; without one it reads ./events.yaml.
Other verbs inspect and change the file of a bus, while the program runs or
after it has ended.

Exit status: 0 done, 1 the answer is no (findings in the catalogue; generated
code out of date; a damaged file), 2 trouble with the command line or with
files, 3 not found (no such event; no dead letter that matches). The help of a
verb says what 1 means for it, and whether it has other statuses. Ctrl-C and
SIGTERM end every verb at once, with 128 + the number of the signal. The verb
has then changed all of its files, or none.`
	for _, e := range on {
		root.Long += "\n\nWherever a verb takes the FILE of a bus, this busgen takes an address, too, as in\n" + e.Example + "."
	}
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
	root.SetVersionTemplate(readVersion().text())
	onBus := busfile.Verbs(on...)
	for _, e := range on {
		onBus = append(onBus, e.Verbs...)
	}
	return cli.Root(root,
		cli.Group{Title: "Catalogues:", Verbs: catalogue.Verbs(on...)},
		cli.Group{Title: "The file of a bus:", Verbs: onBus},
		cli.Group{Verbs: []*cobra.Command{cli.Completion(), newMan(), newVersion()}},
	)
}
