package busfile

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/inspect"
)

// timeFlags are --since and --until; what says of what.
func timeFlags(cmd *cobra.Command, since, until *cli.Moment, what string) {
	cmd.Flags().Var(since, "since", what+" at this `time` or later: 2026-03-14T12:30, 03:00, or 2h for two hours ago")
	cmd.Flags().Var(until, "until", what+" before this `time`")
}

// someLimit refuses a page with nothing on it.
func someLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("--limit is %d: it must be at least 1", limit)
	}
	return nil
}

// pageFlags choose a page of a list.
func pageFlags(cmd *cobra.Command, limit *int, after *string) {
	*limit = inspect.DefaultLimit
	cmd.Flags().VarP((*cli.Number)(limit), "limit", "n", "at most so `many`")
	cmd.Flags().StringVar(after, "after", "", "go on behind the page that ended with this `mark`")
}

// pageOf is a line for each value and, if there are more, one with the mark of
// the next page.
func pageOf[T any](values []T, next string) (string, error) {
	report, err := cli.Lines(values)
	if err != nil || next == "" {
		return report, err
	}
	last, err := cli.Line(map[string]string{"next": next})
	return report + last, err
}

// more ends a page for people that is not the last one.
func more(next string) string {
	if next == "" {
		return ""
	}
	return "There are more: go on with --after " + next + "\n"
}
