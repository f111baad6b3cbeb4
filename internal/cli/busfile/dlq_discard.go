package busfile

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
)

func newDLQDiscard() *cobra.Command {
	var choice letterChoice
	var selection inspect.Selection
	var because string
	cmd := onFile(&cobra.Command{
		Use:   "discard FILE [ID[/SUBSCRIPTION] ...]",
		Short: "Settle dead letters that need not be handled",
		Long: `Discard settles dead letters without handling them. The reason given with
--because and their attempts are kept as long as their events: "busgen events
show" shows them. Choose dead letters by id, by conditions, or with --all.

It prints how many letters matched, how many were discarded, and how many were
skipped because they were no longer dead. With --json: matched, moved, skipped.

Exit status: 0 done, 1 the answer was no, or the file has no such subscription,
event type or group, 2 trouble, 3 nothing matches.`,
		Example: `  busgen dlq discard shop.db 018f4f2e-1c3a-7b21 --because "a test order" --yes
  busgen dlq discard shop.db --group 5b9de41c02ff --because "refunded by hand" --dry-run`,
	}, fileVerb{takes: ofLetters, changes: true, asks: true, do: func(c *call) (string, error) {
		return discardLetters(c, choice, selection, because)
	}})
	choice.flags(cmd)
	bulkFlags(cmd, &selection)
	cmd.Flags().StringVar(&because, "because", "", "the `reason`, in a few words")
	return cmd
}

func discardLetters(c *call, choice letterChoice, s inspect.Selection, because string) (string, error) {
	if because == "" {
		return "", errors.New("say why with --because, in a few words: it is kept with the events")
	}
	var err error
	if s.Filter, err = choice.chosen(c); err != nil {
		return "", err
	}
	file, err := c.open()
	if err != nil {
		return "", err
	}
	discard := func(s inspect.Selection) (inspect.Counts, error) {
		return file.DiscardDeadLetters(c.context(), s, because)
	}
	return c.confirmedSweep(s, "discard", "discarded", discard)
}

func newDLQPurge() *cobra.Command {
	var filter letterFilter
	var selection inspect.Selection
	var age cli.Span
	cmd := onFile(&cobra.Command{
		Use:   "purge FILE --older-than AGE",
		Short: "Delete old dead letters",
		Long: `Purge deletes the dead letters that died at least as long ago as --older-than
says, with their attempts. Their events stay until they are pruned. Other
conditions narrow the choice. To keep a record, discard instead, or export
before.

It prints how many letters matched, how many were purged, and how many were
skipped because they were no longer dead. With --json: matched, moved, skipped.

Exit status: 0 done, also if there was nothing to purge, 1 the answer was no, or
the file has no such subscription, event type or group, 2 trouble.`,
		Example: `  busgen dlq purge shop.db --older-than 30d --dry-run
  busgen dlq purge shop.db --older-than 30d --type 'payment.*' --yes`,
	}, fileVerb{changes: true, asks: true, do: func(c *call) (string, error) {
		if age.Duration == 0 && filter.until.IsZero() {
			return "", errors.New("say how old with --older-than, as in --older-than 30d, or until when with --until")
		}
		return purgeLetters(c, filter, selection, age.Duration)
	}})
	filter.flags(cmd)
	bulkFlags(cmd, &selection)
	cmd.Flags().Var(&age, "older-than", "those that died at least this `long` ago: 12h, 30d")
	return cmd
}

func purgeLetters(c *call, filter letterFilter, s inspect.Selection, age time.Duration) (string, error) {
	if cutoff := c.now.Add(-age); age > 0 && (filter.until.IsZero() || cutoff.Before(filter.until.Time)) {
		filter.until.Time = cutoff
	}
	var err error
	if s.Filter, err = filter.filter(c, nil); err != nil {
		return "", err
	}
	file, err := c.open()
	if err != nil {
		return "", err
	}
	report, err := c.confirmedSweep(s, "purge", "purged", func(s inspect.Selection) (inspect.Counts, error) { return file.Purge(c.context(), s) })
	if cli.StatusOf(err) == cli.StatusNotFound {
		err = nil
	}
	return report, err
}

// confirmedSweep counts, asks, and changes.
func (c *call) confirmedSweep(s inspect.Selection, do, done string, change func(inspect.Selection) (inspect.Counts, error)) (string, error) {
	if !s.DryRun && !c.yes {
		dry := s
		dry.DryRun = true
		counts, err := change(dry)
		if err != nil {
			return "", err
		}
		n := counts.Matched
		if s.Limit > 0 {
			n = min(n, s.Limit)
		}
		if n > 0 {
			if err := c.confirm(fmt.Sprintf("Really %s %s (%s)?", do, terminal.Counted(n, "dead letter"), s.Filter)); err != nil {
				return "", err
			}
		}
	}
	return c.sweep(s, done, change)
}
