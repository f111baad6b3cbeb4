package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// AtMostOne accepts one argument, or none. The word names it in the error.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fmt.Errorf("%s takes one %s, not %d: run it once for each", cmd.CommandPath(), what, len(args))
		}
		return nil
	}
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no argument, but got %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// Family completes a command that only has verbs below it. Alone it prints its
// manual.
func Family(cmd *cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownVerbOf(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}
