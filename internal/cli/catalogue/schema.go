package catalogue

import (
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/export"
)

func newSchema() *cobra.Command {
	var out cli.Output
	var included bool
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Write the JSON Schema of the catalogue language, for editors",
		Long: `Schema writes a JSON Schema (draft 7) of the language of catalogues. With it an
editor completes keys, shows what they mean, and marks most mistakes while they
are made. Editors that use yaml-language-server find it by a comment at the top
of the catalogue, such as the one that busgen init writes; it may name a file
too:

  # yaml-language-server: $schema=catalogue.schema.json

Files that a catalogue includes have fewer keys: --included writes their schema.

The schema is for this version of busgen. It does not check what the names in a
catalogue refer to, or how its parts fit together: generate, check and lint do.

` + cli.OutputHelp + `

Exit status: 0 done, 2 trouble.`,
		Example: `  busgen schema
  busgen schema --out catalogue.schema.json
  busgen schema --included --out included.schema.json`,
		Args: cli.NoArgs,
		RunE: cli.Report(func([]string) (string, error) {
			if !included {
				return out.Deliver(export.CatalogueSchema())
			}
			schema, err := export.IncludedSchema()
			if err != nil {
				return "", err
			}
			return out.Deliver(schema)
		}),
	}
	cmd.Flags().BoolVar(&included, "included", false, "write the schema of included files")
	out.Flags(cmd)
	return cmd
}
