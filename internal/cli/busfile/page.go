package busfile

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/event"
)

// timeFlags adds --since and --until; what begins their help.
func timeFlags(cmd *cobra.Command, since, until *time.Time, what string) {
	cmd.Flags().Var((*cli.Moment)(since), "since",
		what+" at this `time` or later: 2026-03-14T12:30, 03:00, or 2h for two hours ago")
	cmd.Flags().Var((*cli.Moment)(until), "until", what+" before this `time`")
}

// someLimit refuses a page of no lines.
func someLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("--limit is %d: it must be at least 1", limit)
	}
	return nil
}

// pageFlags adds --limit and --after, which choose a page of a list.
func pageFlags(cmd *cobra.Command, page *event.Page) {
	page.Limit = event.DefaultLimit
	cmd.Flags().VarP((*cli.Number)(&page.Limit), "limit", "n", "at most this `many`")
	cmd.Flags().StringVar(&page.After, "after", "", "start after the page that ended with this `mark`")
}

// pageOf returns a line of JSON for each value and, if there are more values, one
// with the mark of the next page.
func pageOf[T any](values []T, next string) (string, error) {
	report, err := cli.Lines(values)
	if err != nil || next == "" {
		return report, err
	}
	last, err := cli.Line(map[string]string{"next": next})
	return report + last, err
}

// more says how to see the next page, if there is one.
func more(next string) string {
	if next == "" {
		return ""
	}
	return "There are more: go on with --after " + next + "\n"
}
