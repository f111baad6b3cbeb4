package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/catalog"
)

// The exit statuses. What 1 means depends on the verb; each says so in its help.
const (
	statusNo      = 1 // a clear "no": findings in the catalogue, code out of date
	statusTrouble = 2 // the verb could not do its work: usage, files
	statusNothing = 3 // what was asked for is not there: no such event, no dead letter that matches; nothing to import
	statusKeys    = 4 // an import would change keys of the JSON
)

// run executes the command line and returns the exit status. Errors are
// printed here, and by a verb that goes on after them. When ctx ends, a verb stops at the next occasion.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	explain(stderr, err)

	var no *negative
	var nothing *nothing
	var keys *keysError
	switch {
	case errors.As(err, &no):
		return statusNo
	case errors.As(err, &nothing):
		return statusNothing
	case errors.As(err, &keys):
		return statusKeys
	}
	return statusTrouble
}

// explain prints an error, if there is one, with the findings that it is about.
func explain(stderr io.Writer, err error) {
	if err == nil {
		return
	}
	var found *findingsError
	var refused *refusedError
	var done *printed
	switch {
	case errors.As(err, &done):
	case errors.As(err, &found):
		found.findings.Render(stderr)
	case errors.As(err, &refused):
		io.WriteString(stderr, rendered(refused.findings))
	}
	fmt.Fprintln(stderr, "busgen:", err)
}

// verb adapts a function that returns its report to cobra. The report is
// printed even if there is an error too.
func verb(do func(args []string) (report string, err error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		report, err := do(args)
		if _, printErr := io.WriteString(cmd.OutOrStdout(), report); printErr != nil {
			return errors.Join(err, fmt.Errorf("cannot print the report: %w", printErr))
		}
		return err
	}
}

// negative marks an error that is the answer "no", as opposed to trouble.
type negative struct{ error }

func (n *negative) Unwrap() error { return n.error }

// nothing marks an error that says that there is no such thing.
type nothing struct{ error }

func (n *nothing) Unwrap() error { return n.error }

// findingsError stops a verb because its catalogue has findings.
type findingsError struct {
	file     string
	findings catalog.Findings
}

func (e *findingsError) Error() string {
	return counted(len(e.findings), "finding") + " in " + e.file
}

// counted formats a number of things: 1 file, 2 files.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// isCatalogue tells an argument that names a catalogue from a misspelt verb.
func isCatalogue(arg string) bool {
	return strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml") || strings.ContainsAny(arg, `/\`)
}
