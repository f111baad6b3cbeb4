package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Run executes a command line and returns the exit status. It prints the error
// of the verb to stderr. When ctx ends, the verb stops at the next occasion.
func Run(ctx context.Context, root *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	err := root.ExecuteContext(ctx)
	Explain(stderr, err)
	return StatusOf(err)
}

// Explain prints an error, below the findings that it has. It prints nothing
// for nil.
func Explain(stderr io.Writer, err error) {
	if err == nil {
		return
	}
	if found, ok := errors.AsType[*FindingsError](err); ok && !found.Reported {
		found.Render(stderr)
	}
	fmt.Fprintln(stderr, "busgen:", err)
}

// Report adapts a function that returns its report to cobra. The report is
// printed even if there is an error too.
func Report(do func(args []string) (report string, err error)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		report, err := do(args)
		if _, printErr := io.WriteString(cmd.OutOrStdout(), report); printErr != nil {
			return errors.Join(err, fmt.Errorf("cannot print the report: %w", printErr))
		}
		return err
	}
}
