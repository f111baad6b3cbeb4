package busfile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/busgen/busgen/internal/cli"
	"github.com/busgen/busgen/internal/cli/terminal"
	"github.com/busgen/busgen/runtime/event"
)

func newEventsDiscard(on cli.Engines) *cobra.Command {
	var action int64
	cmd := onFile(on, &cobra.Command{
		Use:   "discard FILE (ID[/SUBSCRIPTION] ... | --undo --action NUMBER)",
		Short: "Settle open events that need not be handled, or undo that",
		Long: `Discard settles events that are open (pending, running, waiting or held) without
handling them: for one subscription, or for all. It keeps the text of --because
with them. For dead letters use "busgen dlq discard".

A running program settles them within 200 ms, or when a pause of the
subscription ends; otherwise they are settled at the next start. Until then they
count as backlog. A handler that is at work is not interrupted: if it succeeds,
the event is handled; if it fails, it is not retried.

--undo undoes discards, by an operator or by a handler, also those of "busgen
events cancel" and "busgen dlq discard": dead letters are dead letters again, as
they were, and other deliveries are due now. Name events, or with --action the
number of an action from "busgen audit list". A dead letter that was edited into
another event stays settled.

With --json: one line for each event, with id and subscriptions; with --undo:
dead (how many are dead letters again), due (how many are tried again), left
(how many were left alone).

Exit status: 0 done, 1 the answer was no, or the event has no open delivery, 2
trouble, 3 there is no such event or subscription, or no discard that could be
undone: then nothing is done. Of several events each is tried, also if the
answer about another one was no.`,
		Example: `  busgen events discard shop.db 018f4f2e-1c3a-7b21 --because "a test order" --yes
  busgen events discard shop.db 018f4f2e-1c3a-7b21/send-receipt --because "mailed by hand" --yes
  busgen events discard shop.db --undo 018f4f2e-1c3a-7b21
  busgen events discard shop.db --undo --action 17`,
	}, fileVerb{takes: anyEvents, changes: true, asks: true, reasons: true, undoes: true, do: func(c *call) (string, error) {
		switch {
		case c.undo:
			return undiscard(c, action)
		case action != 0:
			return "", errors.New("--action names what is undone: say --undo, too")
		case len(c.args) == 0:
			return "", errors.New("say which events, by their ids")
		}
		return discardEvents(c)
	}})
	cmd.Flags().Int64Var(&action, "action", 0, "with --undo: everything that the action with this `number` has discarded")
	return cmd
}

// events finds what the arguments name.
func (c *call) events() (all []event.Key, err error) {
	for _, arg := range c.args {
		one, err := c.named(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func discardEvents(c *call) (string, error) {
	all, err := c.events()
	if err != nil {
		return "", err
	}
	if err := c.confirm(fmt.Sprintf("Really discard %s?", terminal.Counted(len(all), "event"))); err != nil {
		return "", err
	}
	return c.each(all, func(one event.Key) (string, error) {
		subscriptions, err := c.file.DiscardEvent(c.context(), one.EventID, one.Subscription, c.because)
		if err != nil {
			return "", err
		}
		if c.json {
			return cli.Line(struct {
				ID            uuid.UUID `json:"id"`
				Subscriptions []string  `json:"subscriptions"`
			}{one.EventID, subscriptions})
		}
		return fmt.Sprintf("discarded event %s for %s\n", one.EventID, terminal.Clean(strings.Join(subscriptions, ", "))), nil
	})
}

func undiscard(c *call, action int64) (string, error) {
	if (len(c.args) == 0) == (action == 0) {
		return "", errors.New("name events by their ids, or an action with --action, and not both")
	}
	all, err := c.events()
	if err != nil {
		return "", err
	}
	undo := []event.Undo{{Action: action}}
	if action == 0 {
		undo = nil
		for _, one := range all {
			undo = append(undo, event.Undo{Event: one.EventID, Subscription: one.Subscription})
		}
	}
	var sum event.Undone
	for _, u := range undo {
		undone, err := c.file.Undiscard(c.context(), u)
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

func newEventsCancel(on cli.Engines) *cobra.Command {
	return onFile(on, &cobra.Command{
		Use:   "cancel FILE ID[/SUBSCRIPTION] ...",
		Short: "Cancel events before they are handled",
		Long: `Cancel keeps events from being handled: by one subscription, or by all. When it
has said "cancelled", no handler is called for the event any more. It asks the
program that dispatches, which answers within 200 ms; if none dispatches, the
next one knows. "busgen events discard" takes a reason, and does not wait.

If a handler is at work at this moment, it goes on, and is not tried again if it
fails; cancel names its subscription. "busgen events discard --undo" undoes it.

With --json: one line for each event, with id, cancelled and running (names of
subscriptions).

Exit status: 0 done, 1 the answer was no, a handler runs, or the event has no
open delivery, 2 trouble (also a program that does not answer within 5 s), 3
there is no such event or subscription: then nothing is done. Of several events
each is tried, also if the answer about another one was no.`,
		Example: `  busgen events cancel shop.db 018f4f2e-1c3a-7b21 --yes
  busgen events cancel shop.db 018f4f2e-1c3a-7b21/send-receipt --yes`,
	}, fileVerb{takes: someEvents, changes: true, asks: true, do: cancelEvents})
}

func cancelEvents(c *call) (string, error) {
	all, err := c.events()
	if err != nil {
		return "", err
	}
	if err := c.confirm(fmt.Sprintf("Really cancel %s?", terminal.Counted(len(all), "event"))); err != nil {
		return "", err
	}
	return c.each(all, func(one event.Key) (string, error) {
		cancelled, err := c.file.CancelEvent(c.context(), one.EventID, one.Subscription)
		var begun *event.BegunError
		if err != nil && !errors.As(err, &begun) {
			return "", err
		}
		line := struct {
			ID        uuid.UUID `json:"id"`
			Cancelled []string  `json:"cancelled"`
			Running   []string  `json:"running"`
		}{one.EventID, append([]string{}, cancelled...), []string{}}
		if begun != nil {
			line.Running = begun.Running
			err = cli.No(err)
		}
		text := ""
		if len(cancelled) > 0 {
			text = fmt.Sprintf("cancelled event %s for %s\n", one.EventID, terminal.Clean(strings.Join(cancelled, ", ")))
		}
		if c.json {
			var lineErr error
			if text, lineErr = cli.Line(line); lineErr != nil {
				return "", lineErr
			}
		}
		return text, err
	})
}
