package busfile

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newEventsTryNow(on cli.Engines) *cobra.Command {
	var selection inspect.Selection
	var all bool
	cmd := onFile(on, &cobra.Command{
		Use:   "try-now FILE (ID[/SUBSCRIPTION] ... | conditions | --all)",
		Short: "Try deliveries now that wait for a retry",
		Long: `Try-now ends the wait of deliveries that have failed and wait for their retry,
and of those that a handler has snoozed: they are due now, and their count of
attempts goes on. Choose them by events, by conditions, or with --all. Delayed
events, and what waits for a limit or behind others, are left alone. A pause and
an open circuit breaker still hold what is due; standard error names them. For
dead letters use "busgen dlq retry".

--rate limits how many are due per second, and --dry-run only counts.

It prints how many deliveries matched, how many are due now, and how many were
skipped because they no longer waited. With --json: matched, moved, skipped.

Exit status: 0 done, 1 the file has no such subscription or event type, 2
trouble, 3 nothing matches, or there is no such event.`,
		Example: `  busgen events try-now shop.db --subscription charge-card --dry-run
  busgen events try-now shop.db --subscription charge-card --text "connection refused" --rate 50
  busgen events try-now shop.db 018f4f2e-1c3a-7b21/charge-card`,
	}, fileVerb{takes: anyEvents, changes: true, quotes: true, do: func(c *call) (string, error) {
		return tryNow(c, selection, all)
	}})
	flags := cmd.Flags()
	flags.StringSliceVar(&selection.Filter.Subscriptions, "subscription", nil, "only those of these subscriptions, by `name`")
	flags.StringSliceVar(&selection.Filter.Types, "type", nil, "only events whose type matches one of these `globs`")
	flags.StringVar(&selection.Filter.Text, "text", "", "only those with this `text` in the payload or in an error")
	flags.Float64Var(&selection.Rate, "rate", 0, "at most this `many` per second (default: no limit)")
	flags.BoolVar(&selection.DryRun, "dry-run", false, "change nothing, only count")
	flags.BoolVar(&all, "all", false, "all that wait for a retry")
	completeFlag(on, cmd, "subscription", subscriptionNames)
	completeFlag(on, cmd, "type", typeNames)
	return cmd
}

func tryNow(c *call, s inspect.Selection, all bool) (string, error) {
	if !c.chooses(s.Filter, all) {
		return "", errors.New("say which deliveries: by event, with --subscription or another condition, or with --all and nothing else")
	}
	filter, err := c.known(s.Filter)
	if err != nil {
		return "", err
	}
	named, err := c.events()
	if err != nil {
		return "", err
	}
	chosen := []event.Filter{filter}
	if len(named) > 0 {
		chosen = nil
	}
	for _, one := range named {
		f := filter
		f.Events = append(f.Events, one.EventID)
		if one.Subscription != "" {
			f.Subscriptions = []string{one.Subscription}
		}
		chosen = append(chosen, f)
	}
	var sum inspect.Counts
	for _, s.Filter = range chosen {
		if err := c.tellWaysOf(s.Filter.Subscriptions); err != nil {
			return "", err
		}
		counts, err := c.sweep(c.file.TryNow, s, "due now", "deliveries")
		sum.Matched, sum.Moved, sum.Skipped = sum.Matched+counts.Matched, sum.Moved+counts.Moved, sum.Skipped+counts.Skipped
		if err != nil {
			return c.letterCounts(sum, "due now", err)
		}
	}
	report, err := c.letterCounts(sum, "due now", nil)
	if err == nil && sum.Matched == 0 {
		err = cli.NotFound(errors.New("no delivery matches that waits for a retry"))
	}
	return report, err
}
