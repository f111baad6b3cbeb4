package busfile

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/internal/standing"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newDLQRetry(on cli.Engines) *cobra.Command {
	var selection inspect.Selection
	var all bool
	cmd := onFile(on, &cobra.Command{
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

A handler that works in steps goes on behind the last one that it has stored.
--forget STEP has one step done again, and --from STEP that step with all that
were stored after it; dead letters without the step do not match. --from-start
has everything done again. That is the only way to retry one whose steps are
undone. "busgen events show" shows them.

Dead letters are moved in small transactions, so publishers do not wait. If
retry is interrupted, by Ctrl-C or by a crash, every dead letter is either
retried or still dead: call it again to continue.

Standard error says what stands in the way of their subscriptions: a pause, no
process, an open circuit breaker. It prints how many dead letters matched, how
many were retried, and how many were skipped because they were no longer dead.
With --json: matched, moved, skipped. Work of more than a second then has a line
a second on standard error: done, of, per_second, seconds_left.

Exit status: 0 done, 1 the canary failed, or the file has no such subscription,
event type or group, 2 trouble, 3 nothing matches.`,
		Example: `  busgen dlq retry shop.db 018f4f2e-1c3a-7b21
  busgen dlq retry shop.db --group 5b9de41c02ff --dry-run
  busgen dlq retry shop.db --group 5b9de41c02ff --canary 5 --limit 500
  busgen dlq retry shop.db --type 'payment.*' --since 2h --rate 50
  busgen dlq retry shop.db 018f4f2e-1c3a-7b21 --forget charge
  busgen dlq retry shop.db --all`,
	}, fileVerb{takes: anyLetters, changes: true, quotes: true, do: func(c *call) (report string, err error) {
		if selection.Filter, err = c.letters(selection.Filter, all); err != nil {
			return "", err
		}
		if err := c.tellInWay(selection.Filter); err != nil {
			return "", err
		}
		return c.sweepLetters(c.file.Retry, selection, "retried")
	}})
	letterFlags(on, cmd, &selection.Filter)
	sweepFlags(cmd, &selection)
	cmd.Flags().StringVar(&selection.Forget, "forget", "", "have this `step` of the handler done again")
	cmd.Flags().StringVar(&selection.FromStep, "from", "", "have this `step` and all after it done again")
	cmd.Flags().BoolVar(&selection.FromStart, "from-start", false, "have all steps done again")
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters of the file")
	cmd.Flags().Var((*cli.Number)(&selection.Canary), "canary",
		"retry this `many` first, and go on only if all were handled")
	return cmd
}

// tellInWay says what would keep dead letters from being handled that are retried. It goes on all the same, as a program may
// just be starting.
func (c *call) tellInWay(letters event.Filter) error {
	groups, err := c.file.FailureGroups(c.context(), letters)
	if err != nil {
		return err
	}
	var names []string
	for _, g := range groups {
		names = append(names, g.Subscriptions...)
	}
	return c.tellWaysOf(names)
}

// tellWaysOf says what keeps subscriptions from handling what they are given, once for each.
func (c *call) tellWaysOf(names []string) error {
	if len(names) == 0 {
		return nil
	}
	status, err := c.file.Status(c.context())
	for n, name := range names {
		if slices.Contains(names[:n], name) {
			continue
		}
		for _, r := range standing.InWay(status, name) {
			c.tell("In the way of %s: %s", terminal.Clean(name), terminal.Clean(r.Text))
		}
	}
	return err
}
