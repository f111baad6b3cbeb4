package catalogue

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/commandline"
	"github.com/busgen/busgen/internal/diag"
	"github.com/busgen/busgen/internal/diag/rules"
	"github.com/busgen/busgen/internal/output"
	"github.com/busgen/busgen/internal/record"
)

func newCheck() *cobra.Command {
	var out string
	var form format
	cmd := &cobra.Command{
		Use:   "check [events.yaml]",
		Short: "Tell whether the generated code is up to date",
		Long: `Check does all that generate does, except for writing. It lists the files that
generate would create (missing), replace (changed) or remove (orphaned), and the
lines of wire.golden that differ. Changes that generate would refuse, because
old events would be lost or read as something else, are findings.

` + formatHelp + `
A file that is not up to date is a finding of the rule out-of-date. Findings
about stored events have a direction and a key, too.

Exit status: 0 up to date, 1 not up to date or a change that is refused,
2 trouble: with the command line, with files, or findings in the catalogue.`,
		Example: `  busgen check
  busgen check events/events.yaml
  busgen check events/events.yaml --format github`,
		Args: cli.AtMostOne("catalogue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cli.Report(func(args []string) (string, error) {
				report, noted, err := check(cmd.Context(), args, out)
				return form.of(report, noted, err)
			})(cmd, args)
		},
	}
	outFlag(cmd, &out)
	formatFlag(cmd, &form)
	return cmd
}

func check(ctx context.Context, args []string, out string) (report string, noted diag.Findings, err error) {
	now, err := compare(ctx, args, out, false)
	var refused *refusedError
	switch {
	case errors.As(err, &refused):
		return "", refused.noted, cli.No(fmt.Errorf("%w%s", err, refused.advice()))
	case err != nil:
		return "", nil, err
	case now.plan.UpToDate():
		return inLines(now.noted), now.noted, nil
	}
	advice := "busgen generate " + commandline.Quoted(now.File)
	if out != "" {
		advice += " --out " + commandline.Quoted(out)
	}
	stale := &staleError{now.plan, now.wire, advice}
	return stale.report() + inLines(now.noted), now.noted, cli.No(stale)
}

// staleError says that generated code is not up to date.
type staleError struct {
	plan   *output.Plan
	wire   []string // changed lines of the record
	advice string   // the command to run
}

func (e *staleError) Error() string {
	return "the generated code is not up to date: run \"" + e.advice + "\""
}

func (e *staleError) report() string {
	var lines strings.Builder
	for _, step := range e.stale() {
		fmt.Fprintf(&lines, "%-8s  %s\n", step.State, filepath.Join(e.plan.Dir, step.File.Name))
	}
	for _, line := range e.changes() {
		fmt.Fprintf(&lines, "  %s\n", line)
	}
	return lines.String()
}

// changes lists changed lines of the record, at most ten.
func (e *staleError) changes() []string {
	const most = 10
	if len(e.wire) <= most {
		return e.wire
	}
	return append(slices.Clone(e.wire[:most]), fmt.Sprintf("and %d more lines", len(e.wire)-most))
}

func (e *staleError) stale() []output.Step {
	return slices.DeleteFunc(slices.Clone(e.plan.Steps), func(s output.Step) bool { return s.State == output.Same })
}

// findings makes a finding of each file, for programs.
func (e *staleError) findings() diag.Findings {
	var all diag.Findings
	for _, step := range e.stale() {
		path := filepath.Join(e.plan.Dir, step.File.Name)
		message := fmt.Sprintf("%s is %s", path, step.State)
		if step.File.Name == record.FileName {
			for _, line := range e.changes() {
				message += "; " + line
			}
		}
		f := rules.OutOfDate.At(diag.Place{Pos: diag.Position{File: path, Line: 1, Column: 1}}, "%s", message)
		f.Hint = "run \"" + e.advice + "\""
		all = append(all, f)
	}
	return all
}
