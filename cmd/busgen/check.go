package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
	"github.com/busgen/busgen/internal/emit"
	"github.com/busgen/busgen/internal/frozen"
	"github.com/busgen/busgen/internal/lint"
)

func newCheck() *cobra.Command {
	var out string
	var form format
	cmd := &cobra.Command{
		Use:   "check [events.yaml]",
		Short: "Tell whether the generated code is up to date",
		Long: `Check does everything that generate does except writing. It lists the files that
generate would create (missing), replace (changed) or remove (orphaned), and the
events whose JSON is not what wire.golden says. Changes that generate would
refuse, because stored events could not be decoded, are findings.

` + formatHelp + `
A file that is not up to date is a finding of the rule out-of-date.

Exit status: 0 up to date, 1 not up to date, 2 trouble: with the command line,
with files, or findings in the catalogue.`,
		Example: `  busgen check
  busgen check events/events.yaml
  busgen check events/events.yaml --format github`,
		Args: atMostOne("catalogue"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return verb(func(args []string) (string, error) { return form.of(check(cmd.Context(), args, out)) })(cmd, args)
		},
	}
	outFlag(cmd, &out)
	formatFlag(cmd, &form)
	return cmd
}

func check(ctx context.Context, args []string, out string) (report string, err error) {
	now, err := compare(ctx, args, out, false)
	if err != nil {
		return "", err
	}
	if now.plan.UpToDate() {
		return "", nil
	}
	advice := "busgen generate " + now.File
	if out != "" {
		advice += " --out " + out
	}
	stale := &staleError{now.plan, now.wire, advice}
	return stale.report(), &negative{stale}
}

// staleError says that generated code is not up to date.
type staleError struct {
	plan   *emit.Plan
	wire   []frozen.Change
	advice string // the command that helps
}

func (e *staleError) Error() string {
	return "the generated code is not up to date: run \"" + e.advice + "\""
}

func (e *staleError) report() string {
	var lines strings.Builder
	for _, step := range e.stale() {
		fmt.Fprintf(&lines, "%-8s  %s\n", step.State, filepath.Join(e.plan.Dir, step.File.Name))
	}
	for _, change := range e.wire {
		fmt.Fprintf(&lines, "%s\n", change)
	}
	return lines.String()
}

func (e *staleError) stale() []emit.Step {
	return slices.DeleteFunc(slices.Clone(e.plan.Steps), func(s emit.Step) bool { return s.State == emit.Same })
}

// list makes a finding of each file, for the formats that are for programs.
func (e *staleError) list() []lint.Finding {
	var all []lint.Finding
	for _, step := range e.stale() {
		path := filepath.Join(e.plan.Dir, step.File.Name)
		message := fmt.Sprintf("%s is %s", path, step.State)
		if step.File.Name == frozen.FileName {
			for _, change := range e.wire {
				message += "; " + change.String()
			}
		}
		all = append(all, lint.Finding{Severity: lint.Error, Finding: &catalog.Finding{
			Place:   catalog.Place{Pos: catalog.Position{File: path, Line: 1, Column: 1}},
			Rule:    "out-of-date",
			Message: message,
			Hint:    "run \"" + e.advice + "\"",
		}})
	}
	return all
}
