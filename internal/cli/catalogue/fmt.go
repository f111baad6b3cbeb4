package catalogue

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog/parse"
	parsetext "github.com/busgen/busgen/internal/catalog/parse/text"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/edit"
	"github.com/busgen/busgen/internal/output"
)

// fmtFlags says what fmt does with the result. At most one of them is set.
type fmtFlags struct{ write, diff, check bool }

func newFmt() *cobra.Command {
	var flags fmtFlags
	cmd := &cobra.Command{
		Use:   "fmt [events.yaml]",
		Short: "Bring a catalogue into its canonical form",
		Long: `Fmt puts the keys of a catalogue into their canonical order, indents by two
spaces, and writes { } in one line with single spaces. Events, types, fields and
whatever else has a name stay in the order in which they are written, and so do
comments with what they are about. Quotes, alignment and broken lines are left
alone.

A file that a catalogue includes is formatted like any other, if it is named.

It prints the result, or with --write changes the file, with --diff shows what
would change, and with --check says whether something would.

Exit status: 0 done, 1 the catalogue is not in its canonical form (with --check
only), 2 trouble with the command line or with the file, such as that it is not
YAML.`,
		Example: `  busgen fmt
  busgen fmt --write events/events.yaml
  busgen fmt --diff`,
		Args:              cli.AtMostOne("catalogue"),
		ValidArgsFunction: cli.CompleteCatalogue,
		RunE:              cli.Report(func(args []string) (string, error) { return formatted(args, flags) }),
	}
	cmd.Flags().BoolVarP(&flags.write, "write", "w", false, "write the result to the file")
	cmd.Flags().BoolVarP(&flags.diff, "diff", "d", false, "print what would change")
	cmd.Flags().BoolVar(&flags.check, "check", false, "print the name of the file if it would change")
	cmd.MarkFlagsMutuallyExclusive("write", "diff", "check")
	return cmd
}

func formatted(args []string, flags fmtFlags) (report string, err error) {
	path := cli.CataloguePath(args)
	before, err := parse.Disk{}.ReadFile(path)
	if err != nil {
		return "", cli.Unread(args, err)
	}
	after, err := edit.Format(before)
	if err != nil {
		return "", fmt.Errorf("cannot format %s: %w", path, err)
	}
	if !parsetext.HasVersion(before) {
		return "", fmt.Errorf("cannot format %s: it is not a catalogue, which has a version, such as \"version: 1\"", path)
	}
	same := string(before) == string(after)
	switch {
	case flags.diff:
		return edit.Diff(path, before, after), nil
	case flags.check && !same:
		return path + "\n", cli.No(errors.New(path + " is not in its canonical form: run \"busgen fmt --write " + commandline.Quoted(path) + "\""))
	case flags.check:
		return "", nil
	case flags.write:
		changed, err := output.Replace(path, after)
		if shown := cli.WithTarget(path); changed && shown != path {
			report = "wrote " + shown + "\n"
		}
		if err != nil {
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
		return report, err
	}
	return string(after), nil
}
