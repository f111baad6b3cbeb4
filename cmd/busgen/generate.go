package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
	"github.com/busgen/busgen/internal/gomod"
	"github.com/busgen/busgen/templates"
)

func newGenerate() *cobra.Command {
	var out string
	var quiet, watching bool
	var form format
	cmd := &cobra.Command{
		Use:   "generate [events.yaml]",
		Short: "Generate Go code from a catalogue",
		Long: `Generate writes the Go code of a catalogue, which is ./events.yaml unless named,
into the folder of the catalogue unless --out names another one.

A file that is right already is not touched. A generated file that is no longer
needed is removed. A file that was not generated is never changed. If anything
is wrong with the catalogue, all of it is reported and nothing is written.

With --watch it goes on, and generates again whenever the catalogue changes,
until it is interrupted. Findings do not end it.

` + formatHelp + `

Exit status: 0 the code is up to date now, 1 the catalogue has findings,
2 trouble with the command line or with files.`,
		Example: `  busgen generate
  busgen generate events/events.yaml
  busgen generate api/events.yaml --out internal/events`,
		Args: atMostOne("catalogue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			round := func(args []string) (string, error) {
				report, err := generate(args, out)
				if quiet {
					report = ""
				}
				return form.of(report, err)
			}
			if !watching {
				return verb(round)(cmd, args)
			}
			again := func() (string, error) { return round(args) }
			return watch(cmd.Context(), cataloguePath(args), again, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	outFlag(cmd, &out)
	formatFlag(cmd, &form)
	cmd.Flags().BoolVarP(&watching, "watch", "w", false, "generate again whenever the catalogue changes")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing unless something is wrong")
	return cmd
}

func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "`folder` of the generated code (default: the catalogue's)")
	cmd.MarkFlagDirname("out")
	cmd.ValidArgsFunction = completeCatalogue
}

func generate(args []string, out string) (report string, err error) {
	c, plan, err := compare(args, out)
	var found *findingsError
	if errors.As(err, &found) {
		return "", &negative{fmt.Errorf("%w; nothing was written", err)}
	}
	if err != nil {
		return "", err
	}
	if err := plan.Apply(); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s: %s, %s\n", c.Package.V, counted(len(c.Events), "event"), summary(plan)), nil
}

// compare holds the code of a catalogue against the output folder.
func compare(args []string, out string) (*catalog.Catalogue, *emit.Plan, error) {
	if out == "" {
		out = filepath.Dir(cataloguePath(args))
	}
	c, err := catalogueAt(args)
	if err != nil {
		return nil, nil, err
	}
	if err := locate(c.Imports); err != nil {
		return nil, nil, err
	}
	files, err := templates.Files(c, target(out))
	if err != nil {
		return nil, nil, err
	}
	plan, err := emit.Compare(out, files)
	return c, plan, err
}

// locate finds out how Go imports the packages of other catalogues, if nothing says it: the code
// of each is beside it.
func locate(imports []*catalog.Package) error {
	for _, p := range imports {
		if p.Path != "" {
			continue
		}
		var err error
		if p.Path, err = gomod.ImportPath(filepath.Dir(p.File)); err != nil {
			return fmt.Errorf("%s: import %s: %w", p.Name.Pos, p.Name.V, err)
		}
	}
	return nil
}

// target tells generated code about the folder where it will be. Outside of a
// module that has no import path, which is an error only if the code needs one.
func target(out string) templates.Target {
	path, err := gomod.ImportPath(out)
	return templates.Target{ImportPath: path, Unknown: err}
}

// summary says what became of the files: 4 files (1 changed, 3 unchanged).
func summary(plan *emit.Plan) string {
	var parts []string
	for _, part := range []struct {
		state emit.State
		word  string
	}{
		{emit.Missing, "new"}, {emit.Changed, "changed"}, {emit.Same, "unchanged"}, {emit.Orphaned, "removed"},
	} {
		if n := plan.Count(part.state); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, part.word))
		}
	}
	files := plan.Count(emit.Missing, emit.Changed, emit.Same)
	return fmt.Sprintf("%s (%s)", counted(files, "file"), strings.Join(parts, ", "))
}
