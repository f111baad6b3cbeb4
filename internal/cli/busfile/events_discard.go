package busfile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/inspect"
)

func newEventsDiscard() *cobra.Command {
	var because string
	takes := arguments{least: 1, most: -1, what: "the id of an event", candidates: newestEvents}
	cmd := onFile(&cobra.Command{
		Use:   "discard FILE ID[/SUBSCRIPTION] ...",
		Short: "Settle open events that need not be handled",
		Long: `Discard settles events that are open (pending, running, waiting or held) without
handling them: for one subscription, or for all. It keeps the text of --because
with them. For dead letters use "busgen dlq discard".

A running program settles them within 200 ms, or when a pause of the
subscription ends; otherwise they are settled at the next start. Until then they
count as backlog. A handler that is at work is not interrupted: if it succeeds,
the event is handled; if it fails, it is not retried. "busgen events undiscard"
undoes a discard.

With --json: one line for each event, with id and subscriptions.

Exit status: 0 done, 1 the answer was no, or the event has no open delivery, 2
trouble, 3 there is no such event or subscription.`,
		Example: `  busgen events discard shop.db 018f4f2e-1c3a-7b21 --because "a test order" --yes
  busgen events discard shop.db 018f4f2e-1c3a-7b21/send-receipt --because "mailed by hand" --yes`,
	}, fileVerb{takes: takes, changes: true, asks: true, do: func(c *call) (string, error) { return discardEvents(c, because) }})
	cmd.Flags().StringVar(&because, "because", "", "the `reason`, in a few words")
	return cmd
}

// eventAt is an event, and one of its subscriptions if the argument names one.
type eventAt struct {
	id           uuid.UUID
	subscription string // empty for all
}

// events finds what the arguments name.
func (c *call) events(file *inspect.File) (all []eventAt, err error) {
	names, err := file.Names(c.context())
	if err != nil {
		return nil, err
	}
	for _, arg := range c.args {
		prefix, subscription, named := strings.Cut(arg, "/")
		if named {
			if err := knowSubscription(subscription, names); err != nil {
				return nil, cli.NotFound(err)
			}
		}
		id, err := file.FindEvent(c.context(), prefix)
		if err != nil {
			return nil, err
		}
		all = append(all, eventAt{id, subscription})
	}
	return all, nil
}

func discardEvents(c *call, because string) (string, error) {
	if because == "" {
		return "", errors.New("say why with --because, in a few words: it is kept with the events")
	}
	file, err := c.open()
	if err != nil {
		return "", err
	}
	all, err := c.events(file)
	if err != nil {
		return "", err
	}
	if err := c.confirm(fmt.Sprintf("Really discard %s?", terminal.Counted(len(all), "event"))); err != nil {
		return "", err
	}
	var report strings.Builder
	for _, one := range all {
		subscriptions, err := file.DiscardEvent(c.context(), one.id, one.subscription, because)
		if err != nil {
			return report.String(), err
		}
		text := fmt.Sprintf("discarded event %s for %s\n", one.id, terminal.Clean(strings.Join(subscriptions, ", ")))
		if c.json {
			discarded := struct {
				ID            uuid.UUID `json:"id"`
				Subscriptions []string  `json:"subscriptions"`
			}{one.id, subscriptions}
			if text, err = cli.Line(discarded); err != nil {
				return report.String(), err
			}
		}
		report.WriteString(text)
	}
	return report.String(), nil
}

func newEventsUndiscard() *cobra.Command {
	var action int64
	takes := arguments{most: -1, what: "the ids of events", candidates: newestEvents}
	cmd := onFile(&cobra.Command{
		Use:   "undiscard FILE (ID[/SUBSCRIPTION] ... | --action NUMBER)",
		Short: "Undo a discard",
		Long: `Undiscard undoes discards, by an operator or by a handler: dead letters are dead
letters again, as they were, and other deliveries are due now. Name events, or
with --action the number of an action from "busgen audit". A dead letter that
was edited into another event stays settled.

With --json: dead (how many are dead letters again), due (how many are tried
again), left (how many were left alone).

Exit status: 0 done, 2 trouble, 3 there is no discard that could be undone.`,
		Example: `  busgen events undiscard shop.db 018f4f2e-1c3a-7b21
  busgen events undiscard shop.db --action 17`,
	}, fileVerb{takes: takes, changes: true, do: func(c *call) (string, error) { return undiscard(c, action) }})
	cmd.Flags().Int64Var(&action, "action", 0, "everything that the action with this `number` has discarded")
	return cmd
}

func undiscard(c *call, action int64) (string, error) {
	if (len(c.args) == 0) == (action == 0) {
		return "", errors.New("name events by their ids, or an action with --action, and not both")
	}
	file, err := c.open()
	if err != nil {
		return "", err
	}
	all, err := c.events(file)
	if err != nil {
		return "", err
	}
	undo := []inspect.Undo{{Action: action}}
	if action == 0 {
		undo = nil
		for _, one := range all {
			undo = append(undo, inspect.Undo{Event: one.id, Subscription: one.subscription})
		}
	}
	var sum inspect.Undone
	for _, u := range undo {
		undone, err := file.Undiscard(c.context(), u)
		if err != nil {
			return "", err
		}
		sum.Dead, sum.Due, sum.Left = sum.Dead+undone.Dead, sum.Due+undone.Due, sum.Left+undone.Left
	}
	report := fmt.Sprintf("undone: %s again, %s due, %s left alone\n", terminal.Counted(sum.Dead, "dead letter"),
		terminal.Number(sum.Due), terminal.Number(sum.Left))
	if c.json {
		report, err = cli.Document(sum)
	}
	if err == nil && sum.Dead+sum.Due == 0 {
		err = cli.NotFound(errors.New("there is no discard that could be undone"))
	}
	return report, err
}

func newEventsReplay() *cobra.Command {
	var filter eventFilter
	var subscription string
	var selection inspect.Selection
	takes := arguments{most: -1, what: "the ids of events", candidates: newestEvents}
	cmd := onFile(&cobra.Command{
		Use:   "replay FILE --subscription NAME (ID ... | conditions | --all)",
		Short: "Deliver handled events to one subscription again",
		Long: `Replay delivers handled events to one subscription again, the oldest first:
because its handler had a bug, or because its results were lost. Choose events
by id, by conditions, or with --all. Other subscriptions do not notice. Events
that the subscription has not handled yet, that are dead letters or were
discarded, and those from before it began are not replayed.

--limit ends the replay after that many, --rate limits how many are replayed per
second, and --dry-run only counts. If replay is interrupted, the report says how
many were replayed.

It prints how many events matched, and how many are replayed. With --json:
matched, moved.

Exit status: 0 done, 1 the answer was no, or the file has no such event type, 2
trouble, 3 nothing matches, or there is no such subscription.`,
		Example: `  busgen events replay shop.db --subscription ledger 018f4f2e-1c3a-7b21 --yes
  busgen events replay shop.db --subscription ledger --type 'order.*' --since 1d --dry-run
  busgen events replay shop.db --subscription ledger --since 02:45 --rate 50 --limit 500 --yes`,
	}, fileVerb{takes: takes, changes: true, asks: true, do: func(c *call) (string, error) { return replayEvents(c, filter, subscription, selection) }})
	flags := cmd.Flags()
	flags.StringVar(&subscription, "subscription", "", "the `name` of the subscription")
	filter.conditions(cmd)
	flags.BoolVar(&filter.all, "all", false, "all events that it has handled")
	flags.VarP((*cli.Number)(&selection.Limit), "limit", "n", "at most this `many`, the oldest (default: all)")
	flags.Float64Var(&selection.Rate, "rate", 0, "at most this `many` per second (default: no limit)")
	flags.BoolVar(&selection.DryRun, "dry-run", false, "change nothing, only count")
	completeFlag(cmd, "subscription", subscriptionNames)
	return cmd
}

func replayEvents(c *call, f eventFilter, subscription string, s inspect.Selection) (string, error) {
	if subscription == "" {
		return "", errors.New("say to which subscription with --subscription")
	}
	f.Since, f.Until = f.since.Time, f.until.Time
	s.Filter = f.Filter
	if f.all == (len(c.args) > 0 || s.Filter.String() != (inspect.Filter{}).String()) {
		return "", errors.New("say which events: by id, with --since or another condition, or with --all and nothing else")
	}
	if err := c.knowTypes(s.Filter.Types); err != nil {
		return "", err
	}
	file, err := c.open()
	if err != nil {
		return "", err
	}
	all, err := c.events(file)
	if err != nil {
		return "", err
	}
	for _, one := range all {
		s.Filter.Events = append(s.Filter.Events, one.id)
	}
	if !s.DryRun && !c.yes {
		if err := c.confirmReplay(file, subscription, s); err != nil {
			return "", err
		}
	}
	progress := terminal.NewProgress(c.cmd.ErrOrStderr())
	s.Progress = func(n inspect.Counts) {
		progress.Say(fmt.Sprintf("replayed %s of %s", terminal.Number(n.Moved), terminal.Number(n.Matched)))
	}
	counts, err := file.Replay(c.context(), subscription, s)
	progress.Done()
	if err != nil && counts == (inspect.Counts{}) {
		return "", err
	}
	report := fmt.Sprintf("matched %s, replayed %s\n", terminal.Number(counts.Matched), terminal.Number(counts.Moved))
	if c.json {
		var encodeErr error
		report, encodeErr = cli.Document(struct {
			Matched int `json:"matched"`
			Moved   int `json:"moved"`
		}{counts.Matched, counts.Moved})
		err = errors.Join(err, encodeErr)
	}
	if err == nil && counts.Matched == 0 {
		err = cli.NotFound(fmt.Errorf("no event matches that %s has handled", subscription))
	}
	return report, err
}

func (c *call) confirmReplay(file *inspect.File, subscription string, s inspect.Selection) error {
	s.DryRun = true
	counts, err := file.Replay(context.WithoutCancel(c.context()), subscription, s)
	n := counts.Matched
	if s.Limit > 0 {
		n = min(n, s.Limit)
	}
	if err != nil || n == 0 {
		return err
	}
	return c.confirm(fmt.Sprintf("Really have %s handle %s again (%s)?", subscription, terminal.Counted(n, "event"), s.Filter))
}
