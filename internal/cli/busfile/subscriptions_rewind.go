package busfile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
	"github.com/busgen/busgen/runtime/inspect"
)

func newSubscriptionsRewind(on cli.Engines) *cobra.Command {
	var selection inspect.Selection
	var to string
	takes := aSubscription
	takes.least = 1
	cmd := onFile(on, &cobra.Command{
		Use:   "rewind FILE NAME --to (beginning | TIME | ID)",
		Short: "Deliver again what a subscription has handled since then",
		Long: `Rewind delivers to a subscription again what it has handled, from a place in the
log on up to where it is now, the oldest first: from the oldest event of the
file, from the first event published at a time or later, or from an event, which
is delivered, too. Other subscriptions do not notice. Events that the
subscription has not handled yet, that are dead letters or were discarded, and
those from before it began stay as they are. Handlers see Event.Replayed.

--limit ends the rewind after that many, --rate limits how many are delivered
per second, and --dry-run only counts. If rewind is interrupted, the report says
how many were rewound.

It prints how many events matched, and how many are rewound. With --json:
matched, moved.

Exit status: 0 done, 1 the answer was no, 2 trouble, 3 it has handled nothing
since then, or there is no such subscription or event.`,
		Example: `  busgen subscriptions rewind shop.db ledger --to 018f4f2e-1c3a-7b21 --yes
  busgen subscriptions rewind shop.db ledger --to 2h --dry-run
  busgen subscriptions rewind shop.db ledger --to beginning --rate 50 --yes`,
	}, fileVerb{takes: takes, changes: true, asks: true, do: func(c *call) (string, error) { return rewindSubscription(c, selection, to) }})
	cmd.Flags().StringVar(&to, "to", "", "`beginning`, a time (2h, 7d, 03:00, 2026-03-14), or the id of an event")
	sweepFlags(cmd, &selection)
	return cmd
}

func rewindSubscription(c *call, s inspect.Selection, to string) (string, error) {
	name := c.args[0]
	if to == "" {
		return "", errors.New("say where to with --to: beginning, a time, or the id of an event")
	}
	place, err := beforehand.PlaceIn(c.context(), c.file, to, func(text string) (at time.Time, err error) {
		err = (*cli.Moment)(&at).Set(text)
		return at, err
	})
	if err != nil {
		return "", err
	}
	rewind := func(ctx context.Context, s inspect.Selection) (inspect.Counts, error) {
		s.Filter = event.Filter{}
		return c.file.Rewind(ctx, name, place, s)
	}
	question := func(n int) string { return beforehand.RewindQuestion(name, place, n) }
	if err := c.confirmSweep(rewind, s, question); err != nil {
		return "", err
	}
	counts, err := c.sweep(rewind, s, "rewound")
	if err != nil && counts == (inspect.Counts{}) {
		return "", err
	}
	report := fmt.Sprintf("matched %s, rewound %s\n", terminal.Number(counts.Matched), terminal.Number(counts.Moved))
	if c.json {
		report, err = replayed(counts, err)
	}
	if err == nil && counts.Matched == 0 {
		err = cli.NotFound(errors.New(beforehand.NothingToRewind(name, place)))
	}
	return report, err
}

// replayed is the JSON of a replay or a rewind, with the error that ended it.
func replayed(counts inspect.Counts, err error) (string, error) {
	report, encodeErr := cli.Document(struct {
		Matched int `json:"matched"`
		Moved   int `json:"moved"`
	}{counts.Matched, counts.Moved})
	return report, errors.Join(err, encodeErr)
}
