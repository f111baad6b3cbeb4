package busfile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// arguments says which arguments a verb takes after FILE.
type arguments struct {
	least, most int // most is -1 for any number
	what        string
	candidates  candidates
}

// The events that a verb takes: exactly one, one or more, and any number.
var (
	oneEvent   = arguments{least: 1, most: 1, what: "the id of an event", candidates: newestEvents}
	someEvents = arguments{least: 1, most: -1, what: "the id of an event", candidates: newestEvents}
	anyEvents  = arguments{most: -1, what: "the ids of events", candidates: newestEvents}
)

// candidates lists what may stand on the command line, for the completion of shells.
type candidates func(context.Context, *inspect.File) ([]string, error)

func (a arguments) check(cmd *cobra.Command, args []string) error {
	behind := len(args) - 1
	switch {
	case behind < 0:
		return fmt.Errorf("%s needs the file of a bus, as in \"%s shop.db\"", cmd.CommandPath(), cmd.CommandPath())
	case behind < a.least:
		return fmt.Errorf("%s needs %s behind the file: see \"%s --help\"", cmd.CommandPath(), a.what, cmd.CommandPath())
	case a.most == 0 && behind > 0:
		return fmt.Errorf("%s takes one file, but got %q too", cmd.CommandPath(), args[1])
	case a.most > 0 && behind > a.most:
		return fmt.Errorf("%s takes %s, but got %q too", cmd.CommandPath(), a.what, args[a.most+1])
	}
	return nil
}

// completer returns what completes the arguments.
func (a arguments) completer(on cli.Engines) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return []string{"db"}, cobra.ShellCompDirectiveFilterFileExt
		}
		if a.candidates == nil || a.most >= 0 && len(args) > a.most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fromFile(cmd.Context(), on, args[0], a.candidates), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFlag makes shells offer values from the file for a flag.
func completeFlag(on cli.Engines, cmd *cobra.Command, flag string, candidates candidates) {
	cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return fromFile(cmd.Context(), on, args[0], candidates), cobra.ShellCompDirectiveNoFileComp
		})
}

// fromFile returns candidates from a file, or none if it cannot be read.
func fromFile(ctx context.Context, on cli.Engines, target string, candidates candidates) []string {
	file, err := on.Open(ctx, target)
	if err != nil {
		return nil
	}
	defer file.Close()
	found, err := candidates(ctx, file.Hiding())
	if err != nil {
		return nil
	}
	return found
}

// typeNames lists the event types of a file, except the bus's own.
func typeNames(ctx context.Context, file *inspect.File) (types []string, err error) {
	names, err := file.Names(ctx)
	for _, name := range names.Types {
		if !strings.HasPrefix(name, "$") {
			types = append(types, name)
		}
	}
	return types, err
}

// known returns the filter with the full name of its group. A name that the file does not have is the
// answer no.
func (c *call) known(f event.Filter) (event.Filter, error) {
	f, err := beforehand.Filter(c.context(), c.file, f)
	return f, unknownIsNo(err)
}

// unknownIsNo makes the error of a name that the file does not have the answer no.
func unknownIsNo(err error) error {
	if _, unknown := errors.AsType[*beforehand.UnknownError](err); unknown {
		return cli.No(err)
	}
	return err
}

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
