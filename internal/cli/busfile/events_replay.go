package busfile

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/beforehand"
	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
)

func newEventsReplay(on cli.Engines) *cobra.Command {
	var selection inspect.Selection
	var subscription, from string
	var all bool
	cmd := onFile(on, &cobra.Command{
		Use:   "replay FILE --subscription NAME (ID ... | conditions | --all)",
		Short: "Deliver handled events to one subscription again",
		Long: `Replay delivers handled events to one subscription again, the oldest first:
because its handler had a bug, or because its results were lost. Choose events
by id, by conditions, or with --all; --from chooses an event and those behind it
in the log. Other subscriptions do not notice. Events that the subscription has
not handled yet, that are dead letters or were discarded, and those from before
it began are not replayed. Handlers see Event.Replayed.

--limit ends the replay after that many, --rate limits how many are replayed per
second, and --dry-run only counts. If replay is interrupted, the report says how
many were replayed.

It prints how many events matched, and how many are replayed. With --json:
matched, moved.

Exit status: 0 done, 1 the answer was no, or the file has no such event type, 2
trouble, 3 nothing matches, or there is no such subscription or event.`,
		Example: `  busgen events replay shop.db --subscription ledger 018f4f2e-1c3a-7b21 --yes
  busgen events replay shop.db --subscription ledger --type 'order.*' --since 1d --dry-run
  busgen events replay shop.db --subscription ledger --from 018f4f2e-1c3a-7b21 --dry-run
  busgen events replay shop.db --subscription ledger --since 02:45 --rate 50 --limit 500 --yes`,
	}, fileVerb{takes: anyEvents, changes: true, asks: true, quotes: true, do: func(c *call) (string, error) {
		return replayEvents(c, selection, subscription, from, all)
	}})
	cmd.Flags().StringVar(&subscription, "subscription", "", "the `name` of the subscription")
	eventFlags(on, cmd, &selection.Filter)
	sweepFlags(cmd, &selection)
	cmd.Flags().StringVar(&from, "from", "", "only the event with this `id`, and those behind it in the log")
	cmd.Flags().BoolVar(&all, "all", false, "all events that it has handled")
	completeFlag(on, cmd, "subscription", subscriptionNames)
	return cmd
}

func replayEvents(c *call, s inspect.Selection, subscription, from string, all bool) (string, error) {
	if subscription == "" {
		return "", errors.New("say to which subscription with --subscription")
	}
	if from == "" && !c.chooses(s.Filter, all) || from != "" && all {
		return "", errors.New("say which events: by id, with --since or another condition, or with --all and nothing else")
	}
	if _, err := beforehand.Types(c.context(), c.file, s.Filter.Types); err != nil {
		return "", unknownIsNo(err)
	}
	events, err := c.events()
	if err != nil {
		return "", err
	}
	for _, one := range events {
		s.Filter.Events = append(s.Filter.Events, one.EventID)
	}
	if from != "" {
		if s.From, err = c.file.FindEvent(c.context(), from); err != nil {
			return "", err
		}
	}
	replay := func(ctx context.Context, s inspect.Selection) (inspect.Counts, error) {
		return c.file.Replay(ctx, subscription, s)
	}
	if err := c.confirmSweep(replay, s, func(n int) string {
		return beforehand.ReplayQuestion(subscription, s.String(), n)
	}); err != nil {
		return "", err
	}
	counts, err := c.sweep(replay, s, "replayed", "events")
	if err != nil && counts == (inspect.Counts{}) {
		return "", err
	}
	report := fmt.Sprintf("matched %s, replayed %s\n", terminal.Number(counts.Matched), terminal.Number(counts.Moved))
	if c.json {
		report, err = replayed(counts, err)
	}
	if err == nil && counts.Matched == 0 {
		err = cli.NotFound(fmt.Errorf("no event matches that %s has handled", subscription))
	}
	return report, err
}

// replayed is the JSON of a replay, with the error that ended it.
func replayed(counts inspect.Counts, err error) (string, error) {
	report, encodeErr := cli.Document(struct {
		Matched int `json:"matched"`
		Moved   int `json:"moved"`
	}{counts.Matched, counts.Moved})
	return report, errors.Join(err, encodeErr)
}
