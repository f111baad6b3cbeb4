package catalogue

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/docpage"
)

func newDocs() *cobra.Command {
	var title string
	var out cli.Output
	cmd := &cobra.Command{
		Use:   "docs [events.yaml]",
		Short: "Make a page of a catalogue for people",
		Long: `Docs writes one HTML page about a catalogue: each event with its payload, an
example, its retries, its subscriptions and the schedules that publish it, the
types, and a diagram of the declared subscriptions. The page can be searched and
printed, is light or dark as the reader wants it, and loads nothing from
anywhere: send it, check it in, or serve it as a file.

The same catalogue makes the same page.

` + cli.OutputHelp + `

Exit status: 0 done, 1 the catalogue has findings, 2 trouble with the command
line or with files.`,
		Example: `  busgen docs --out catalogue.html
  busgen docs events/events.yaml -o catalogue.html --title "Events of the shop"`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE: cli.Report(func(args []string) (string, error) {
			return exported(args, &out, func(c *catalog.Catalogue) ([]byte, error) { return docpage.Render(c, title) })
		}),
	}
	cmd.Flags().StringVar(&title, "title", "", "`heading` of the page (default: the catalogue's package)")
	out.Flags(cmd)
	return cmd
}
