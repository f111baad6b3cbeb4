package busfile

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/runtime/inspect"
)

func newDLQDiscard(on cli.Engines) *cobra.Command {
	var selection inspect.Selection
	var all bool
	cmd := onFile(on, &cobra.Command{
		Use:   "discard FILE [ID[/SUBSCRIPTION] ...]",
		Short: "Settle dead letters that need not be handled",
		Long: `Discard settles dead letters without handling them. The reason given with
--because and their attempts are kept as long as their events: "busgen events
show" shows them. Choose dead letters by id, by conditions, or with --all.

It prints how many dead letters matched, how many were discarded, and how many
were skipped because they were no longer dead. With --json: matched, moved,
skipped.

Exit status: 0 done, 1 the answer was no, or the file has no such subscription,
event type or group, 2 trouble, 3 nothing matches.`,
		Example: `  busgen dlq discard shop.db 018f4f2e-1c3a-7b21 --because "a test order" --yes
  busgen dlq discard shop.db --group 5b9de41c02ff --because "refunded by hand" --dry-run`,
	}, fileVerb{takes: anyLetters, changes: true, asks: true, quotes: true, reasons: true,
		do: func(c *call) (report string, err error) {
			if selection.Filter, err = c.letters(selection.Filter, all); err != nil {
				return "", err
			}
			discard := func(ctx context.Context, s inspect.Selection) (inspect.Counts, error) {
				return c.file.DiscardDeadLetters(ctx, s, c.because)
			}
			if err := c.confirmSweep(discard, selection, lettersQuestion("discard", selection.Filter)); err != nil {
				return "", err
			}
			return c.sweepLetters(discard, selection, "discarded")
		}})
	letterFlags(on, cmd, &selection.Filter)
	sweepFlags(cmd, &selection)
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters of the file")
	return cmd
}

func newDLQPurge(on cli.Engines) *cobra.Command {
	var selection inspect.Selection
	cmd := onFile(on, &cobra.Command{
		Use:   "purge FILE --until TIME",
		Short: "Delete old dead letters",
		Long: `Purge deletes the dead letters that died at the time of --until or before, such
as 30d for thirty days ago, with their attempts. Their events stay until they
are pruned. Other conditions narrow the choice. To keep a record, discard
instead, or export before.

It prints how many dead letters matched, how many were purged, and how many were
skipped because they were no longer dead. With --json: matched, moved, skipped.

Exit status: 0 done, also if there was nothing to purge, 1 the answer was no, or
the file has no such subscription, event type or group, 2 trouble.`,
		Example: `  busgen dlq purge shop.db --until 30d --dry-run
  busgen dlq purge shop.db --until 30d --type 'payment.*' --yes`,
	}, fileVerb{changes: true, asks: true, quotes: true, do: func(c *call) (string, error) {
		return purgeLetters(c, selection)
	}})
	letterFlags(on, cmd, &selection.Filter)
	sweepFlags(cmd, &selection)
	return cmd
}

func purgeLetters(c *call, s inspect.Selection) (string, error) {
	if s.Filter.Until.IsZero() {
		return "", errors.New("say until when they died with --until, as in --until 30d for thirty days ago")
	}
	var err error
	if s.Filter, err = c.known(s.Filter); err != nil {
		return "", err
	}
	if err := c.confirmSweep(c.file.Purge, s, lettersQuestion("purge", s.Filter)); err != nil {
		return "", err
	}
	report, err := c.sweepLetters(c.file.Purge, s, "purged")
	if cli.StatusOf(err) == cli.StatusNotFound {
		err = nil
	}
	return report, err
}
