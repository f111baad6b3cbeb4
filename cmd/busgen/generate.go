package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
	"github.com/busgen/busgen/internal/frozen"
	"github.com/busgen/busgen/internal/gomod"
	"github.com/busgen/busgen/internal/input"
	"github.com/busgen/busgen/internal/lint"
	"github.com/busgen/busgen/templates"
)

func newGenerate() *cobra.Command {
	var out string
	var quiet, watching, accept bool
	var form format
	cmd := &cobra.Command{
		Use:   "generate [events.yaml]",
		Short: "Generate Go code from a catalogue",
		Long: `Generate writes the Go code of a catalogue, which is ./events.yaml unless named,
into the folder of the catalogue unless --out names another one.

A file that is right already is not touched. A generated file that is no longer
needed is removed. A file that was not generated is never changed. If anything
is wrong with the catalogue, all of it is reported and nothing is written.

Beside the code it keeps wire.golden, with payloads as they are stored. A change
of the catalogue after which such payloads could not be decoded is refused, from
the moment they are checked in with git (outside of git, at once). --accept-wire
takes it all the same, for events of which nothing is stored. What is written
differently, and still decodes, is reported.

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
				report, err := generate(cmd.Context(), args, out, accept)
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
	cmd.Flags().BoolVar(&accept, "accept-wire", false, "take changes that stored events would not fit")
	cmd.Flags().BoolVarP(&watching, "watch", "w", false, "generate again whenever the catalogue changes")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing unless something is wrong")
	return cmd
}

func outFlag(cmd *cobra.Command, out *string) {
	cmd.Flags().StringVarP(out, "out", "o", "", "`folder` of the generated code (default: the catalogue's)")
	cmd.MarkFlagDirname("out")
	cmd.ValidArgsFunction = completeCatalogue
}

func generate(ctx context.Context, args []string, out string, accept bool) (report string, err error) {
	done, err := compare(ctx, args, out, accept)
	var found *findingsError
	if errors.As(err, &found) {
		return "", &negative{fmt.Errorf("%w; nothing was written", err)}
	}
	if err != nil {
		return "", err
	}
	if err := done.plan.Apply(); err != nil {
		return "", err
	}
	report = fmt.Sprintf("%s: %s, %s\n", done.Package.V, counted(len(done.Events), "event"), summary(done.plan))
	for _, f := range done.accepted {
		report += "accepted: " + f.Message + "\n"
	}
	for _, change := range done.wire {
		report += change.String() + "\n"
	}
	return report, nil
}

// A comparison is the code of a catalogue, held against the output folder.
type comparison struct {
	*catalog.Catalogue
	plan *emit.Plan
	wire []frozen.Change // in the JSON of events
	// accepted are the findings that somebody wants to pass.
	accepted catalog.Findings
}

// compare makes the code of a catalogue. Unless they are accepted, changes that
// stored events do not fit are findings.
func compare(ctx context.Context, args []string, out string, accept bool) (*comparison, error) {
	if out == "" {
		out = filepath.Dir(cataloguePath(args))
	}
	if err := emit.CheckFolder(out); err != nil {
		return nil, err
	}
	c, err := catalogueAt(args)
	if err != nil {
		return nil, err
	}
	if err := locate(c.Imports); err != nil {
		return nil, err
	}
	files, err := templates.Files(c, target(out))
	if err != nil {
		return nil, err
	}
	wire, err := wireForms(ctx, c, out)
	if err != nil {
		return nil, err
	}
	if len(wire.Findings) > 0 && !accept {
		return nil, &negative{&findingsError{c.File, wire.Findings}}
	}
	plan, err := emit.Compare(out, append(files, wire.File))
	return &comparison{c, plan, wire.Changes, wire.Findings}, err
}

// wireForms holds the payloads that are kept in the output folder against a catalogue.
func wireForms(ctx context.Context, c *catalog.Catalogue, out string) (frozen.Result, error) {
	path := filepath.Join(out, frozen.FileName)
	text, err := input.ReadFile(path, input.Unlimited)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return frozen.Result{}, fmt.Errorf("cannot compare the JSON of events with what it was: %w", err)
	}
	source := lint.NewSource(catalog.Disk{}.ReadFile)
	result := frozen.Compare(c, frozen.State{
		Path: path, Text: text, Place: source.Place,
		CheckedIn: func() ([]byte, bool) { return checkedIn(ctx, path) },
	})
	return result, source.Err()
}

// locate finds out how Go imports the packages of other catalogues, if nothing says it: the code
// of each is beside it.
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
