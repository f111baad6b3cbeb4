package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/importer"
	"github.com/busgen/busgen/internal/importer/files"
	"github.com/busgen/busgen/internal/input"
)

// maxDocument is how many bytes an imported document may have. JSON is wordier than a catalogue, which
// may have 16 MiB per file: AsyncAPI for 10,000 events has 28 MiB.
const maxDocument = 64 << 20

// statusKeys is the exit status of an import that would change keys of the JSON.
const statusKeys = 4

func newImport() *cobra.Command {
	var o importer.Options
	var examples []string
	var form format
	var out cli.Output
	var root string
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Make a catalogue from the files of other tools",
		Long: `Import makes a catalogue from a JSON Schema (draft 4 to 2020-12), from an
AsyncAPI document (version 1 to 3) or from the webhooks of an OpenAPI document
(version 3), in JSON or YAML; the document says which it is. It reports whatever
has no counterpart in a catalogue with its place, and imports the rest.

A JSON Schema that is the schema of a payload becomes one event, whose name is
made of its title or of the name of the file, unless --event says it. Otherwise
events are the definitions that no other one refers to: those with the name of
an event, as export writes them, or else all objects. Payloads in other files,
which --example names, are compared with the schema as its own examples are:
what they have and the schema leaves open gets fields.

Of AsyncAPI a message becomes an event, and an operation that receives it a
subscription. Of OpenAPI webhooks (under webhooks or x-webhooks) and callbacks
become events; other operations are not imported. What they refer to becomes
types.

The keys of the JSON stay as they are. A property such as orderId becomes the
field order_id, whose name in JSON is orderId. Few keys cannot be the name of a
field in JSON, such as "a,b" and two that differ only in case: they would be
left out. Import refuses that without --rename-keys.

A $ref may lead to other files in the folder of the document or below it, and
with --root to those below another folder. A URL is looked for among the $id of
these files. Nothing is fetched from a network.

` + cli.OutputHelp + `

Findings go to standard error. A warning says that something is missing in the
catalogue, or has another meaning there. A note says that something was left out
that changes no payload. Equal findings are reported once, with their number and
the first places.

` + formatHelp + ` It needs --out.

Exit status: 0 imported, with nothing but notes, 1 imported, with warnings, 2
trouble with the command line or with files, 3 nothing was imported (the
document cannot be read, or has nothing that can be an event), 4 nothing was
imported, because keys of the JSON would change.`,
		Example: `  busgen import events.schema.json
  busgen import order.schema.json --event order.placed --out order.yaml
  busgen import order.schema.json --example order1.json --example order2.json
  busgen import asyncapi.json --package orders --out orders.yaml
  busgen import openapi.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s takes the name of one file", cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	cmd.RunE = cli.Report(func(args []string) (string, error) {
		if form != text && out.File == "" {
			return "", errors.New("with --format, the findings go to standard output: name a file for the catalogue with --out")
		}
		if err := o.Check(); err != nil {
			return "", err
		}
		source, err := input.ReadFile(args[0], maxDocument)
		if err != nil {
			return "", unreadable(args[0], err)
		}
		files, folder, err := filesBelow(root, args[0])
		if err != nil {
			return "", err
		}
		defer folder.Close()
		o.Files = files
		if o.Examples, err = readExamples(examples); err != nil {
			return "", err
		}
		result := importer.Import(args[0], source, o)
		report := ""
		if result.Catalogue != nil {
			if report, err = out.Deliver(result.Catalogue); err != nil {
				return "", err
			}
		}
		return importFindings(cmd.ErrOrStderr(), args[0], form, report, result)
	})
	flags := cmd.Flags()
	flags.StringVar(&o.Package, "package", "", "the `name` of the generated package (default: made of the title)")
	flags.StringVar(&o.Event, "event", "", "the `name` of the event, for the JSON Schema of one payload")
	flags.StringArrayVar(&examples, "example", nil, "a `file` with a payload, of which nothing may get lost; can be repeated")
	flags.StringVar(&root, "root", "", "the `folder` that $ref may not leave (default: that of FILE)")
	flags.BoolVar(&o.RenameKeys, "rename-keys", false, "import although keys of the JSON change")
	out.Flags(cmd)
	formatFlag(cmd, &form)
	return cmd
}

// readExamples reads the files with payloads.
func readExamples(names []string) (all []importer.Example, err error) {
	for _, name := range names {
		source, err := input.ReadFile(name, maxDocument)
		if err != nil {
			return nil, unreadable(name, err)
		}
		all = append(all, importer.Example{File: name, Source: source})
	}
	return all, nil
}

// filesBelow opens the folder that the references of a document may lead to: root, or that of the document.
func filesBelow(root, document string) (*files.Folder, *os.Root, error) {
	folder := cmp.Or(root, filepath.Dir(document))
	within, err := filepath.Abs(folder)
	if err != nil {
		return nil, nil, err
	}
	file, err := filepath.Abs(document)
	if err != nil {
		return nil, nil, err
	}
	path, err := filepath.Rel(within, file)
	if err != nil || !filepath.IsLocal(path) {
		return nil, nil, fmt.Errorf("%s is not in the folder %s, which --root names", document, folder)
	}
	opened, err := os.OpenRoot(within)
	if err != nil {
		return nil, nil, unreadable(folder, err)
	}
	return &files.Folder{FS: opened.FS(), Path: filepath.ToSlash(path), Name: folder}, opened, nil
}

// unreadable removes the second mention of the file from an error.
func unreadable(file string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("cannot read %s: %w", file, err)
}

// importFindings prints the findings of an import, and chooses the exit status.
func importFindings(stderr io.Writer, file string, form format, report string, result *importer.Result) (string, error) {
	found := &cli.FindingsError{File: file, Findings: result.Findings, Reported: true}
	findings, err := form.report(found)
	switch {
	case err != nil:
		return "", err
	case form == text:
		io.WriteString(stderr, findings)
	default:
		report = findings
	}
	switch {
	case result.KeysWouldChange:
		return report, cli.WithStatus(statusKeys, fmt.Errorf("nothing was imported: %w", found))
	case result.Catalogue == nil:
		return report, cli.NotFound(fmt.Errorf("nothing was imported: %w", found))
	case found.Worst() >= diag.Warning:
		return report, cli.No(fmt.Errorf("imported with %w", found))
	}
	return report, nil
}
