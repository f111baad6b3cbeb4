package catalogue

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/export"
)

func newExport() *cobra.Command {
	cmd := cli.Family(&cobra.Command{
		Use:   "export",
		Short: "Write a catalogue in the languages of other tools",
		Long: `Export writes a catalogue for tools that do not know busgen: as JSON Schema, for
tools that check payloads, as AsyncAPI, for tools that document what a
program sends and receives, or as TypeScript, for receivers of webhooks and for
frontends.

Exit status: that of the verbs below.`,
		Example: `  busgen export jsonschema
  busgen export asyncapi
  busgen export typescript --out events.ts`,
	})
	cmd.AddCommand(newExportJSONSchema(), newExportAsyncAPI(), newExportTypeScript())
	return cmd
}

const exportStatus = `
` + cli.OutputHelp + `

Exit status: 0 done, 1 the catalogue has findings, 2 trouble with the command
line or with files`

func newExportJSONSchema() *cobra.Command {
	var event string
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "jsonschema [events.yaml]",
		Short: "Write JSON Schemas of the payloads",
		Long: `Jsonschema writes a JSON Schema (draft 2020-12) with the payload of each event
under $defs, by the event's name, and each type by its own. With --event it is
the schema of one payload, with the types that it needs.

A field that is not in the catalogue is allowed, so that an older schema accepts
events with a new field. What a schema cannot express, such as the smallest
duration, is left out.
` + exportStatus + `, 3 there is no such event.`,
		Example: `  busgen export jsonschema
  busgen export jsonschema events/events.yaml --out events.schema.json
  busgen export jsonschema --event order.placed`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE: cli.Report(func(args []string) (string, error) {
			return exported(args, &out, func(c *catalog.Catalogue) ([]byte, error) { return jsonSchema(c, event) })
		}),
	}
	cmd.Flags().StringVar(&event, "event", "", "export the payload of this `type` only")
	cmd.RegisterFlagCompletionFunc("event", func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		catalogue, _ := splitCatalogue(args)
		names, _ := operands{candidates: (*catalog.Catalogue).EventNames}.complete(nil, catalogue, word)
		return names, cobra.ShellCompDirectiveNoFileComp
	})
	out.Flags(cmd)
	return cmd
}

func jsonSchema(c *catalog.Catalogue, event string) ([]byte, error) {
	if event == "" {
		return export.JSONSchema(c)
	}
	for _, e := range c.Events {
		if e.Name.V == event {
			return export.EventSchema(e)
		}
	}
	return nil, cli.NotFound(fmt.Errorf("there is no event %s in %s%s", event, c.File, diag.Nearest(event, c.EventNames())))
}

func newExportAsyncAPI() *cobra.Command {
	var out cli.Output
	var info export.Info
	cmd := &cobra.Command{
		Use:   "asyncapi [events.yaml]",
		Short: "Write an AsyncAPI document",
		Long: `Asyncapi writes an AsyncAPI 3.0 document in JSON: a channel and a message for
each event type, an operation that publishes it, and an operation for each
declared subscription. AsyncAPI has no fields for owners, partition keys,
settings and schedules: they are under x-busgen.
` + exportStatus + `.`,
		Example: `  busgen export asyncapi
  busgen export asyncapi events/events.yaml --title "The shop" --api-version 2.1.0
  busgen export asyncapi --out asyncapi.json`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE: cli.Report(func(args []string) (string, error) {
			return exported(args, &out, func(c *catalog.Catalogue) ([]byte, error) { return export.AsyncAPI(c, info) })
		}),
	}
	cmd.Flags().StringVar(&info.Title, "title", "", "`name` of what is described (default: the catalogue's package)")
	cmd.Flags().StringVar(&info.Version, "api-version", "1.0.0", "its `version`")
	out.Flags(cmd)
	return cmd
}

func newExportTypeScript() *cobra.Command {
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "typescript [events.yaml]",
		Short: "Write types and type guards in TypeScript",
		Long: `Typescript writes a module that imports nothing: a type for the payload of each
event and for each declared type, a type guard for each of them, as in
isOrderPlaced(value), and AnyEvent, the union of all events with their names.

A guard checks that fields are there and of their kind, and the values of enums.
It allows fields that are not in the catalogue, and does not check patterns,
limits and formats. An integer beyond 2^53 loses digits in JSON.parse.
` + exportStatus + `.`,
		Example: `  busgen export typescript
  busgen export typescript events/events.yaml --out web/src/events.ts`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE: cli.Report(func(args []string) (string, error) {
			return exported(args, &out, func(c *catalog.Catalogue) ([]byte, error) { return export.TypeScript(c), nil })
		}),
	}
	out.Flags(cmd)
	return cmd
}

// exported converts a catalogue, and returns the result or writes it to a file.
func exported(args []string, out *cli.Output, convert func(*catalog.Catalogue) ([]byte, error)) (string, error) {
	c, err := cli.LoadCatalogue(args)
	if err != nil {
		return "", cli.Refused(err)
	}
	content, err := convert(c)
	if err != nil {
		return "", err
	}
	return out.Deliver(content)
}
