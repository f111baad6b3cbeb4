package busfile

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/cloudevent"
	"github.com/busgen/busgen/runtime"
	"github.com/busgen/busgen/runtime/cloudevents"
	"github.com/busgen/busgen/runtime/event"
)

func newEventsExport(on cli.Engines) *cobra.Command {
	x := &eventsExport{}
	cmd := onFile(on, &cobra.Command{
		Use:   "export FILE",
		Short: "Write events as CloudEvents, one line of JSON each",
		Long: `Export writes the events that match all conditions to standard output, or into a
new file, the oldest first: each is a CloudEvent in the JSON format, on a line
of its own. The file of the bus is not changed, and the program may run. An
event that was received as a CloudEvent keeps its source, id and time. Events of
the bus itself, such as dead-letter notices, are left out.

The catalogue says what events are called outside, under cloudevents. Flags take
the place of what it says, and --source is enough without a catalogue. Values of
sensitive fields are hidden, unless --show-sensitive is given. What was erased
is exported as it is now. The lines are a stable stream for other tools: their
form is that of CloudEvents 1.0.

Exit status: 0 done, 1 the file has no such event type, or the catalogue has
findings, 2 trouble, 3 there is no event with the id of --child-of.`,
		Example: `  busgen events export shop.db --source https://shop.example > events.jsonl
  busgen events export shop.db --catalogue events.yaml --source urn:example:shop --type 'order.*' --since 24h --out orders.jsonl`,
	}, fileVerb{exports: true, quotes: true, do: func(c *call) (string, error) {
		x.call = c
		return "", x.run()
	}})
	eventFlags(on, cmd, &x.filter)
	childOfFlag(cmd, &x.childOf)
	catalogueFlag(cmd, &x.catalogue)
	flags := cmd.Flags()
	flags.Lookup("catalogue").Usage = "`file` with the catalogue that says what events are called outside"
	flags.StringVar(&x.names.Source, "source", "", "the attribute source: a `URI`")
	flags.StringVar(&x.names.TypePrefix, "type-prefix", "", "the `text` before the name of an event in the attribute type")
	flags.StringVar(&x.names.DataSchema, "dataschema", "", "the attribute dataschema: a `URI`, with {type} and {version}")
	outFlag(cmd, &x.out)
	return cmd
}

// eventsExport is one call of events export.
type eventsExport struct {
	*call
	filter         event.Filter
	childOf        string
	catalogue, out string
	names          runtime.CloudEvents
}

func (x *eventsExport) run() (err error) {
	if err := x.complete(); err != nil {
		return err
	}
	if x.filter, err = x.known(x.filter); err != nil {
		return err
	}
	if x.filter.ChildOf, err = x.parent(x.childOf); err != nil {
		return err
	}
	n := 0
	export := func(w io.Writer) (err error) {
		n, err = cloudevents.Export(x.context(), w, x.file, x.filter, x.names)
		return err
	}
	if err = x.exportTo(x.out, export); err == nil {
		x.tell("exported %s", terminal.Counted(n, "event"))
	}
	return err
}

// complete adds to the names of the flags those of the catalogue, and checks them.
func (x *eventsExport) complete() error {
	c, err := catalogueOf(x.catalogue)
	if err != nil {
		return cli.Refused(err)
	}
	given := x.cmd.Flags().Changed
	if c != nil && c.CloudEvents != nil {
		for _, one := range []struct {
			flag    string
			name    *string
			written string
		}{
			{"source", &x.names.Source, c.CloudEvents.Source.V},
			{"type-prefix", &x.names.TypePrefix, c.CloudEvents.TypePrefix.V},
			{"dataschema", &x.names.DataSchema, c.CloudEvents.DataSchema.V},
		} {
			if !given(one.flag) {
				*one.name = one.written
			}
		}
	}
	switch {
	case x.names.Source == "" && c == nil:
		return errors.New("the events need a source: name the catalogue with --catalogue, or give --source")
	case x.names.Source == "":
		return fmt.Errorf("%s does not say what events are called outside: add cloudevents to it, or give --source",
			x.catalogue)
	}
	for _, one := range []struct{ flag, problem string }{
		{"source", cloudevent.CheckSource(x.names.Source)},
		{"type-prefix", cloudevent.CheckTypePrefix(x.names.TypePrefix)},
		{"dataschema", cloudevent.CheckDataSchema(x.names.DataSchema)},
	} {
		if one.problem != "" && given(one.flag) {
			return fmt.Errorf("--%s cannot be %q: %s", one.flag, x.cmd.Flags().Lookup(one.flag).Value, one.problem)
		}
	}
	return nil
}
