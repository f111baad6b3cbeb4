package catalogue

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/gomod"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/record"
	"github.com/busgen/busgen/internal/record/git"
	"github.com/busgen/busgen/templates"
)

// Generate returns the verb generate. Without a verb, busgen does the same.
func Generate() *cobra.Command {
	var out string
	var quiet, watching, accept bool
	var form format
	cmd := &cobra.Command{
		Use:   "generate [events.yaml]",
		Short: "Generate Go code from a catalogue",
		Long: `Generate writes the Go code of a catalogue, which is ./events.yaml unless named,
into the folder of the catalogue unless --out names another one.

A file that is right already is not touched. A generated file that is no longer
needed is removed. A file that was not generated is never changed. If the
catalogue has findings, all of them are reported and nothing is written.

Beside the code it keeps wire.golden, a record of the types that stored events
have. The catalogue is compared with the record of the last commit; outside of
git, with the file in the folder. A change is refused if old events would be
lost or read as something else: everything that "busgen breaking --direction
backward" calls an error or a warning. Each finding names a way out, and ends
with its key. To accept it, add the key to accepted in the catalogue;
--accept-wire accepts all of them, for events of which nothing is stored.
Findings that matter to old programs only do not stop generate.

With --watch it goes on until it is interrupted, and generates again whenever a
file of the catalogue is written, changed or not. Findings do not end it.

` + formatHelp + `
Findings about stored events have a direction and a key, too.

Exit status: 0 the code is up to date now, 1 the catalogue has findings or a
change is refused, 2 trouble with the command line or with files.`,
		Example: `  busgen generate
  busgen generate events/events.yaml
  busgen generate api/events.yaml --out internal/events`,
		Args: cli.AtMostOne("catalogue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			round := func(args []string) (string, error) {
				report, noted, err := generate(cmd.Context(), args, out, accept)
				if quiet {
					report = ""
				}
				return form.of(report, noted, err)
			}
			if !watching {
				return cli.Report(round)(cmd, args)
			}
			again := func() (string, error) { return round(args) }
			return whenChanged(cmd.Context(), cli.CataloguePath(args), again, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	outFlag(cmd, &out)
	formatFlag(cmd, &form)
	cmd.Flags().BoolVar(&accept, "accept-wire", false, "accept changes that old events do not fit")
	cmd.Flags().BoolVarP(&watching, "watch", "w", false, "generate again whenever the catalogue is written")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing unless something is wrong")
	return cmd
}

func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "`folder` of the generated code (default: the catalogue's)")
	cmd.MarkFlagDirname("out")
	cmd.ValidArgsFunction = cli.CompleteCatalogue
}

func generate(ctx context.Context, args []string, out string, accept bool) (report string, noted diag.Findings, err error) {
	done, err := compare(ctx, args, out, accept)
	var found *cli.FindingsError
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return "", refused.noted, cli.No(fmt.Errorf("%w; nothing was written%s", err, refused.advice()))
	case errors.As(err, &found):
		return "", nil, cli.No(fmt.Errorf("%w; nothing was written", err))
	case err != nil:
		return "", nil, err
	}
	if err := done.plan.Apply(); err != nil {
		return "", nil, err
	}
	report = fmt.Sprintf("%s: %s, %s\n", done.Package.V, terminal.Counted(len(done.Events), "event"), summary(done.plan))
	return report + inLines(done.noted), done.noted, nil
}

// comparison compares the code of a catalogue with the output folder.
type comparison struct {
	*catalog.Catalogue
	plan  *output.Plan
	noted diag.Findings // findings about stored events that need not be refused
	wire  []string      // changed lines of the record in the folder, with - or + in front
}

// compare makes the code of a catalogue and the record beside it, and compares
// both with the output folder. The error is a *refusedError if stored events would
// be lost or changed and the catalogue does not accept it.
func compare(ctx context.Context, args []string, out string, accept bool) (*comparison, error) {
	if out == "" {
		out = filepath.Dir(cli.CataloguePath(args))
	}
	if err := output.CheckFolder(out); err != nil {
		return nil, err
	}
	c, err := cli.LoadCatalogue(args)
	if err != nil {
		return nil, err
	}
	if err := locate(c.Imports); err != nil {
		return nil, err
	}
	result, err := git.Compare(ctx, c, out, accept)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(result.Findings, record.Refused) {
		return nil, refusalOf(c.File, result.Findings)
	}
	files, err := templates.Files(c, target(out))
	if err != nil {
		return nil, err
	}
	plan, err := output.Compare(out, append(files, result.File))
	return &comparison{c, plan, notedOf(result.Findings), result.Changes}, err
}

// locate sets the import paths of imported catalogues that do not have one: the
// code of a catalogue is in its folder.
func locate(imports []*catalog.Package) error {
	for _, p := range imports {
		if p.ImportPath() != "" {
			continue
		}
		var err error
		if p.Path, err = gomod.ImportPath(filepath.Dir(p.File)); err != nil {
			return fmt.Errorf("%s: import %s: %w", p.Name.Pos, p.Name.V, err)
		}
	}
	return nil
}

// target describes the folder of the code. Outside of a module it has no import
// path; that is an error only if the code needs one.
func target(out string) templates.Target {
	path, err := gomod.ImportPath(out)
	return templates.Target{ImportPath: path, Unknown: err}
}

// summary counts files by what happened to them: 4 files (1 changed, 3 unchanged).
func summary(plan *output.Plan) string {
	var parts []string
	for _, part := range []struct {
		state output.State
		word  string
	}{
		{output.Missing, "new"}, {output.Changed, "changed"}, {output.Same, "unchanged"}, {output.Orphaned, "removed"},
	} {
		if n := plan.Count(part.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.word))
		}
	}
	files := plan.Count(output.Missing, output.Changed, output.Same)
	return fmt.Sprintf("%s (%s)", terminal.Counted(files, "file"), strings.Join(parts, ", "))
}
