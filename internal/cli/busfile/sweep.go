package busfile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

// A sweep changes many deliveries, as [inspect.File.Retry] does.
type sweep func(context.Context, inspect.Selection) (inspect.Counts, error)

// sweepFlags adds the flags of verbs that change many deliveries.
func sweepFlags(cmd *cobra.Command, s *inspect.Selection) {
	cmd.Flags().VarP((*cli.Number)(&s.Limit), "limit", "n", "at most this `many`, the oldest (default: all)")
	cmd.Flags().Float64Var(&s.Rate, "rate", 0, "at most this `many` per second (default: no limit)")
	cmd.Flags().BoolVar(&s.DryRun, "dry-run", false, "change nothing, only count")
}

// confirmSweep asks a question with the number of things that would change, unless nothing would.
func (c *call) confirmSweep(do sweep, s inspect.Selection, question func(n int) string) error {
	if s.DryRun || c.yes {
		return nil
	}
	s.DryRun = true
	counts, err := do(c.context(), s)
	n := counts.Matched
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	if err != nil || n == 0 {
		return err
	}
	return c.confirm(question(n))
}

// lettersQuestion asks before dead letters are changed.
func lettersQuestion(do string, of event.Filter) func(n int) string {
	return func(n int) string {
		return fmt.Sprintf("Really %s %s (%s)?", do, terminal.Counted(n, "dead letter"), of)
	}
}

// sweep changes deliveries with a line of progress; done is the word for what
// happens to them, such as "retried", and what is what they are.
func (c *call) sweep(do sweep, s inspect.Selection, done, what string) (inspect.Counts, error) {
	progress := c.progress()
	defer progress.Done()
	s.Progress = func(n inspect.Counts) {
		whole := n.Matched
		if s.Limit > 0 {
			whole = min(whole, s.Limit)
		}
		progress.At(done, n.Moved, whole, what)
	}
	return do(c.context(), s)
}

// sweepLetters changes dead letters, and reports how many. After an error it still
// reports what was done before.
func (c *call) sweepLetters(do sweep, s inspect.Selection, done string) (string, error) {
	counts, err := c.sweep(do, s, done, "dead letters")
	switch {
	case err != nil && c.context().Err() != nil && counts != (inspect.Counts{}):
		err = fmt.Errorf("interrupted: %w; call it again to go on", err)
	case err == nil && counts.Matched == 0:
		report, _ := c.letterCounts(counts, done, nil)
		return report, cli.NotFound(errors.New("no dead letter matches"))
	}
	return c.letterCounts(counts, done, err)
}

// letterCounts reports how many dead letters were changed, or nothing if there was
// an error before any.
func (c *call) letterCounts(counts inspect.Counts, done string, err error) (string, error) {
	switch {
	case err != nil && counts == (inspect.Counts{}):
		return "", err
	case c.json:
		report, encodeErr := cli.Document(counts)
		return report, errors.Join(err, encodeErr)
	}
	return fmt.Sprintf("matched %s, %s %s, skipped %s\n", terminal.Number(counts.Matched), done,
		terminal.Number(counts.Moved), terminal.Number(counts.Skipped)), err
}

// each does something with each event that the command line names, whatever the others say,
// and joins the reports and the errors. Of several exit statuses the result has trouble
// before no, and no before not found. A failure that stops all of them, such as a file that
// cannot be read, is not tried again.
func (c *call) each(all []event.Key, do func(one event.Key) (text string, err error)) (string, error) {
	var report strings.Builder
	var refused []error
	status := 0
	for _, one := range all {
		text, err := do(one)
		report.WriteString(text)
		if err == nil {
			continue
		}
		if len(all) == 1 {
			return report.String(), err
		}
		err = classified(err)
		refused = append(refused, errors.New(err.Error())) // without its type, which asks for a status of its own
		if got := cli.StatusOf(err); status == 0 || got == cli.StatusTrouble ||
			got == cli.StatusNo && status == cli.StatusNotFound {
			status = got
		}
		if _, unanswered := errors.AsType[*event.UnansweredError](err); status == cli.StatusTrouble && !unanswered ||
			c.context().Err() != nil {
			break
		}
	}
	if len(refused) > 0 {
		return report.String(), cli.WithStatus(status, errors.Join(refused...))
	}
	return report.String(), nil
}
