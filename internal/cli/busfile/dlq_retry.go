package busfile

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
)

func newDLQRetry() *cobra.Command {
	var choice letterChoice
	var selection inspect.Selection
	cmd := onFile(&cobra.Command{
		Use:   "retry FILE [ID[/SUBSCRIPTION] ...]",
		Short: "Retry dead letters, all or some",
		Long: `Retry makes dead letters due now, the oldest first, with a count of attempts
that starts again. The old attempts stay on record. Choose dead letters by id,
by conditions, or with --all. Retry when the cause is repaired: a dead letter
that fails again goes through all its attempts and comes back.

--canary 5 retries five, waits until they are settled, and goes on only if all
were handled. A dead letter whose last attempt ended the process is not among
the five, unless --reason crash asks for it; whenever it is retried, no other
handler runs beside it. --limit ends the retry after that many, --rate limits
how many are retried per second, and --dry-run only counts.

Dead letters are moved in small transactions, so publishers do not wait. If
retry is interrupted, by Ctrl-C or by a crash, every dead letter is either
retried or still dead: call it again to continue.

It prints how many letters matched, how many were retried, and how many were
skipped because they were no longer dead. With --json: matched, moved, skipped.

Exit status: 0 done, 1 the canary failed, or the file has no such subscription,
event type or group, 2 trouble, 3 nothing matches.`,
		Example: `  busgen dlq retry shop.db 018f4f2e-1c3a-7b21
  busgen dlq retry shop.db --group 5b9de41c02ff --dry-run
  busgen dlq retry shop.db --group 5b9de41c02ff --canary 5 --limit 500
  busgen dlq retry shop.db --type 'payment.*' --since 2h --rate 50
  busgen dlq retry shop.db --all`,
	}, fileVerb{takes: ofLetters, changes: true, do: func(c *call) (string, error) { return retryLetters(c, choice, selection) }})
	choice.flags(cmd)
	bulkFlags(cmd, &selection)
	cmd.Flags().Var((*cli.Number)(&selection.Canary), "canary", "retry this `many` first, and go on only if all were handled")
	return cmd
}

// bulkFlags adds the flags of verbs that change many dead letters.
func bulkFlags(cmd *cobra.Command, s *inspect.Selection) {
	cmd.Flags().VarP((*cli.Number)(&s.Limit), "limit", "n", "at most this `many`, the oldest (default: all)")
	cmd.Flags().Float64Var(&s.Rate, "rate", 0, "at most this `many` per second (default: no limit)")
	cmd.Flags().BoolVar(&s.DryRun, "dry-run", false, "change nothing, only count")
}

// letterChoice is a letterFilter for verbs that change something. Without a
// condition they need --all.
type letterChoice struct {
	letterFilter
	all bool
}

func (f *letterChoice) flags(cmd *cobra.Command) {
	f.letterFilter.flags(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "all dead letters of the file")
}

// chosen returns the filter that arguments and flags specify.
func (f *letterChoice) chosen(c *call) (inspect.Filter, error) {
	if f.all == (len(c.args) > 0 || f.some()) {
		return inspect.Filter{}, errors.New("say which dead letters: by id, with --group or another condition, or with --all and nothing else")
	}
	keys, err := c.keys()
	if err != nil {
		return inspect.Filter{}, err
	}
	return f.filter(c, keys)
}

func retryLetters(c *call, choice letterChoice, s inspect.Selection) (string, error) {
	var err error
	if s.Filter, err = choice.chosen(c); err != nil {
		return "", err
	}
	file, err := c.open()
	if err != nil {
		return "", err
	}
	return c.sweep(s, "retried", func(s inspect.Selection) (inspect.Counts, error) { return file.Retry(c.context(), s) })
}

// sweep changes many dead letters with a line of progress, and reports how many.
// After an error it still reports what was done before.
func (c *call) sweep(s inspect.Selection, what string, change func(inspect.Selection) (inspect.Counts, error)) (string, error) {
	progress := terminal.NewProgress(c.cmd.ErrOrStderr())
	s.Progress = func(n inspect.Counts) {
		progress.Say(fmt.Sprintf("%s %s of %s", what, terminal.Number(n.Moved), terminal.Number(n.Matched)))
	}
	counts, err := change(s)
	progress.Done()
	if err != nil && counts == (inspect.Counts{}) {
		return "", err
	}
	report, encodeErr := c.sweepReport(counts, what)
	switch {
	case err != nil && c.context().Err() != nil:
		err = fmt.Errorf("interrupted: %w; call it again to go on", err)
	case err == nil && counts.Matched == 0:
		err = cli.NotFound(errors.New("no dead letter matches"))
	}
	return report, errors.Join(err, encodeErr)
}
